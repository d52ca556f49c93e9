// The way of messages: windows toward other actors, delivery to this process's own, answers, the fate of peers.
#include <ferry/actor/actor_runtime.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <ferry/base/check.hpp>
#include <ferry/transport/node_core.hpp>

namespace ferry {

std::shared_ptr<Window> ActorRuntime::window(Peer& peer, ActorId actor) {
  const std::lock_guard lock(windows_mutex_);
  auto& window = windows_[WindowKey{&peer, actor}];
  if (window == nullptr) {
    window = std::make_shared<Window>();
  }
  return window;
}

std::shared_ptr<Window> ActorRuntime::find_window(const Peer& peer, ActorId actor) const noexcept {
  const std::lock_guard lock(windows_mutex_);
  const auto found = windows_.find(WindowKey{&peer, actor});
  return found == windows_.end() ? nullptr : found->second;
}

void ActorRuntime::forget_window(const Peer& peer, ActorId actor) noexcept {
  const std::lock_guard lock(windows_mutex_);
  windows_.erase(WindowKey{&peer, actor});
}

Failure ActorRuntime::send_request(Peer& peer, wire::Bytes&& message, std::atomic<ChannelNumber>& sent_under) noexcept {
  if (!peer.is_self()) {
    return peer.send(std::move(message), &sent_under);
  }
  sent_under.store(peer.channel(), std::memory_order_release);
  const auto delivered = deliver(nullptr, std::move(message));
  FERRY_CHECK(delivered.has_value());
  return {};
}

bool ActorRuntime::cancel_call(Peer& peer, const CancelHeader& header) noexcept {
  if (!peer.is_self()) {
    const auto is_the_call = [](wire::ByteView message, std::uint64_t call) {
      const auto request = load_request(message);
      return request && request->kind == MessageKind::call && request->call.value() == call;
    };
    if (peer.take_back(is_the_call, header.call.value())) {
      return true;
    }
    static_cast<void>(peer.send(make_cancel(header)));
  } else if (auto cell = find(header.actor)) {
    ActorCell& target = *cell;
    target.cancel(std::move(cell), nullptr, header.call);
  }
  return false;
}

detail::SelfCall ActorRuntime::self_call(const detail::CallTarget& target) const noexcept {
  if (Strand::current() == nullptr || !target.peer->is_self()) {
    return detail::SelfCall::no;
  }
  const auto cell = find(target.actor);
  if (cell == nullptr || !cell->strand().is_current()) {
    return detail::SelfCall::no;
  }
  return cell->is_waited_for_by_current(target.endpoint) ? detail::SelfCall::waits_for_itself
                                                         : detail::SelfCall::itself;
}

Result<void> ActorRuntime::deliver(const std::shared_ptr<Inbound>& from, wire::Bytes&& message) {
  auto header = load_request({message.data(), message.size()});
  if (!header) {
    return header.error();
  }
  ReplyTo reply_to{from, header->call};
  if (auto cell = find(header->actor)) {
    ActorCell& target = *cell;
    target.post(std::move(cell), Envelope{*header, std::move(reply_to), std::move(message)});
    return {};
  }
  // Nobody will take it from a mailbox: give the room back at once.
  if (from == nullptr) {
    if (const auto window = find_window(self_peer_, header->actor)) {
      window->give_back(1, message.size());
    }
  } else {
    from->send(make_credit({1, header->actor, message.size()}));
  }
  const Failure failure = absent(header->actor);
  if (header->call) {
    reply_failure(reply_to, failure);
  }
  return {};
}

void ActorRuntime::on_request(const std::shared_ptr<Inbound>& from, wire::Bytes&& message) noexcept {
  const auto kind = message_kind({message.data(), message.size()});
  if (!kind) {
    malformed(from.get(), kind.error());
    return;
  }
  switch (*kind) {
    case MessageKind::call:
    case MessageKind::send:
      if (auto delivered = deliver(from, std::move(message)); !delivered) {
        malformed(from.get(), delivered.error());
      }
      return;
    case MessageKind::cancel:
      if (const auto header = load_cancel({message.data(), message.size()})) {
        if (auto cell = find(header->actor)) {
          ActorCell& target = *cell;
          target.cancel(std::move(cell), from, header->call);
        }
        return;
      }
      break;
    case MessageKind::reply:
    case MessageKind::credit:
      break;
  }
  malformed(from.get(), Failure(errc::malformed, "a message that an initiator does not send"));
}

void ActorRuntime::malformed(const Inbound* from, const Failure& failure) noexcept {
  node_.log().write(LogLevel::warning, fmt::format("dropped a message of process {}: {}",
                                                   from == nullptr ? "?" : to_string(from->peer()), failure.detail()));
}

void ActorRuntime::on_inbound_closed(const std::shared_ptr<Inbound>&, const Failure&) noexcept {}

void ActorRuntime::on_reply(Peer& peer, wire::Bytes&& message) noexcept {
  const wire::ByteView view(message.data(), message.size());
  const auto kind = message_kind(view);
  if (kind && *kind == MessageKind::reply) {
    if (const auto header = load_reply(view)) {
      calls_.deliver(peer, header->call, std::move(message));
      return;
    }
  } else if (kind && *kind == MessageKind::credit) {
    if (const auto header = load_credit(view)) {
      if (const auto window = find_window(peer, header->actor)) {
        window->give_back(header->messages, header->bytes);
      }
      return;
    }
  }
  malformed(nullptr, Failure(errc::malformed, "an answer that is neither reply nor credit, from " + peer.describe()));
}

void ActorRuntime::on_unsent(Peer&, wire::ByteView message, const Failure& why) noexcept {
  const auto header = load_request(message);
  if (header && header->kind == MessageKind::call) {
    calls_.fail(header->call, why.with_effect(Effect::none));
  }
}

void ActorRuntime::on_peer_failed(Peer& peer, const Failure& why, PeerState state, ChannelNumber channel) noexcept {
  calls_.fail_all(peer, why.with_effect(Effect::unknown), channel);
  std::vector<std::pair<ActorId, std::shared_ptr<Window>>> windows;
  {
    const std::lock_guard lock(windows_mutex_);
    for (const auto& [key, window] : windows_) {  // lint: allow(unordered) sorted below
      if (key.peer == &peer) {
        windows.emplace_back(key.actor, window);
      }
    }
  }
  std::sort(windows.begin(), windows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [actor, window] : windows) {
    window->reset();
    if (state != PeerState::unknown) {
      forget_window(peer, actor);
    }
  }
}

std::vector<std::string> ActorRuntime::describe_waits() const {
  std::vector<std::string> phrases;
  calls_.for_each([&phrases](const PendingCall& call) {
    const detail::CallTarget& target = *call.call_target;
    phrases.push_back(target.actor == kNodeActor
                          ? fmt::format("{} at {}", target.endpoint_name, target.peer->describe())
                          : fmt::format("a call of {} at {}", target.what(), target.where()));
  });
  std::vector<std::pair<WindowKey, std::shared_ptr<Window>>> windows;
  for (const auto& [key, window] : windows_) {  // lint: allow(unordered) sorted below
    windows.emplace_back(key, window);
  }
  std::sort(windows.begin(), windows.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first.peer->id(), a.first.actor) < std::pair(b.first.peer->id(), b.first.actor);
  });
  for (const auto& [key, window] : windows) {
    if (const std::size_t count = window->waiting(); count > 0) {
      phrases.push_back(fmt::format("room in the mailbox of actor {} of {}, for {} message{}", key.actor.value(),
                                    key.peer->describe(), count, count == 1 ? "" : "s"));
    }
  }
  std::vector<std::shared_ptr<ActorCell>> cells;
  for (const auto& [id, cell] : cells_) {  // lint: allow(unordered) sorted below
    if (id != kNodeActor) {
      cells.push_back(cell);
    }
  }
  std::sort(cells.begin(), cells.end(), [](const auto& a, const auto& b) { return a->id() < b->id(); });
  for (const auto& cell : cells) {
    cell->describe_waits(phrases);
  }
  return phrases;
}

void ActorRuntime::reply(const ReplyTo& to, wire::Bytes&& message) noexcept {
  if (!to.call) {
    return;
  }
  if (to.channel == nullptr) {
    calls_.deliver(self_peer_, to.call, std::move(message));
  } else {
    node_.traffic().count_message(message.size());
    to.channel->send(std::move(message));
  }
}

void ActorRuntime::reply_failure(const ReplyTo& to, const Failure& failure) noexcept {
  reply(to, make_failure_reply(to.call, failure));
}

}  // namespace ferry
