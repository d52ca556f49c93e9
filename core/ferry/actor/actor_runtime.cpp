#include <ferry/actor/actor_runtime.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <ferry/base/check.hpp>
#include <ferry/base/limits.hpp>
#include <ferry/transport/node_core.hpp>

namespace ferry {
namespace {

constexpr std::size_t kRememberedEnds = 1024;

// Waits on the caller's strand for something that happens once on another.
class Signal final : private Waiter {
 public:
  ~Signal() { end(); }
  using Waiter::wake;
  bool await_ready() const noexcept { return is_woken(); }
  bool await_suspend(std::coroutine_handle<> handle) {
    begin(handle, {});
    return commit();
  }
  void await_resume() noexcept { end(); }

 private:
  void give_up(errc) noexcept override {}  // what it waits for is short and cannot be taken back
};

}  // namespace

ActorRuntime::ActorRuntime(NodeCore& node, std::vector<ActorClass> classes)
    : node_(node), classes_(std::move(classes)) {
  node_.set_sink(*this);
  node_.set_actors(*this);
  node_.peers().set_events(*this);
}

ActorRuntime::~ActorRuntime() {
  FERRY_CHECK(live_cells_.load() == 0);
}

std::shared_ptr<ActorCell> ActorRuntime::new_cell(const ActorClass& actor_class, ActorId id, const std::string& name) {
  live_cells_.fetch_add(1, std::memory_order_relaxed);
  return {new ActorCell(*this, actor_class, id, name), [this](ActorCell* cell) { retire(cell); }};
}

void ActorRuntime::install_node_actor(const ActorClass& node_actor_class, std::unique_ptr<Actor> actor) {
  auto cell = new_cell(node_actor_class, kNodeActor, "node");
  cell->adopt(std::move(actor));
  const std::lock_guard lock(mutex_);
  cells_.emplace(kNodeActor, std::move(cell));
}

Result<std::shared_ptr<ActorCell>> ActorRuntime::make_cell(const ActorSpec& spec) {
  const auto known = std::find_if(classes_.begin(), classes_.end(),
                                  [&](const ActorClass& candidate) { return candidate.name == spec.class_name; });
  if (known == classes_.end()) {
    return Failure(
        errc::no_such_actor_class,
        fmt::format("{} does not list the actor class {}; add it to ferry::actors<…>", node_.name(), spec.class_name));
  }
  if (known->fingerprint != spec.fingerprint) {
    return Failure(errc::version_mismatch,
                   fmt::format("{} was built from another declaration of {}; build both from the same", node_.name(),
                               spec.class_name));
  }
  const std::lock_guard lock(mutex_);
  if (!spec.name.empty() && names_.contains(spec.name)) {
    return Failure(errc::name_in_use, fmt::format("{} has an actor named \"{}\" already; choose another name, or stop "
                                                  "that one first",
                                                  node_.name(), spec.name));
  }
  const ActorId id(next_actor_++);
  auto cell = new_cell(*known, id, spec.name);
  cells_.emplace(id, cell);
  if (!spec.name.empty()) {
    names_.emplace(spec.name, id);
  }
  return cell;
}

Task<ActorId> ActorRuntime::spawn(ActorSpec spec) {
  auto made = make_cell(spec);
  if (!made) {
    throw Error(made.error().during("spawn"));
  }
  struct Construction : Job {
    Construction(ActorCell& target, const ActorSpec& from) : Job(&Construction::run_it), cell(target), spec(from) {}
    static void run_it(Job& job) noexcept {
      auto& self = static_cast<Construction&>(job);
      std::vector<wire::ByteView> views(self.spec.arguments.begin(), self.spec.arguments.end());
      self.failure = self.cell.construct(views);
      self.done.wake();
    }
    ActorCell& cell;
    const ActorSpec& spec;
    Failure failure{};
    Signal done;
  };
  const std::shared_ptr<ActorCell> cell = std::move(*made);
  Construction construction(*cell, spec);
  cell->strand().post(construction);
  co_await construction.done;
  if (construction.failure) {
    forget(cell->id(), Failure(errc::actor_stopped, construction.failure.detail()));
    throw Error(construction.failure.during("spawn"));
  }
  co_return cell->id();
}

void ActorRuntime::forget(ActorId id, const Failure& why) {
  std::shared_ptr<ActorCell> last;
  const std::lock_guard lock(mutex_);
  const auto found = cells_.find(id);
  if (found == cells_.end()) {
    return;
  }
  last = std::move(found->second);
  cells_.erase(found);
  if (const auto named = names_.find(last->name()); named != names_.end() && named->second == id) {
    names_.erase(named);
  }
  ends_.emplace(id, why);
  ends_order_.push_back(id);
  if (ends_order_.size() > kRememberedEnds) {
    ends_.erase(ends_order_.front());
    ends_order_.erase(ends_order_.begin());
  }
}

Task<void> ActorRuntime::stop(ActorId id, Failure why) {
  const std::shared_ptr<ActorCell> cell = find(id);
  if (cell == nullptr) {
    co_return;
  }
  Signal stopped;
  cell->stop(
      cell, why, [](void* user) noexcept { static_cast<Signal*>(user)->wake(); }, &stopped);
  co_await stopped;
  forget(id, why);
}

std::shared_ptr<ActorCell> ActorRuntime::find(ActorId id) const noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = cells_.find(id);
  return found == cells_.end() ? nullptr : found->second;
}

Failure ActorRuntime::absent(ActorId id) const {
  const std::lock_guard lock(mutex_);
  if (const auto end = ends_.find(id); end != ends_.end()) {
    return end->second;
  }
  if (id.value() < next_actor_ && id) {
    return Failure(errc::actor_stopped, fmt::format("actor {} of {} has stopped", id.value(), node_.name()));
  }
  return Failure(errc::no_such_actor, fmt::format("{} never had an actor {}", node_.name(), id.value()));
}

Window& ActorRuntime::window(Peer& peer, ActorId actor) {
  const std::lock_guard lock(windows_mutex_);
  auto& window = windows_[WindowKey{&peer, actor}];
  if (window == nullptr) {
    window = std::make_unique<Window>();
  }
  return *window;
}

Window& ActorRuntime::window_of_self(ActorId actor) {
  return window(node_.peers().find_or_add(node_.self()), actor);
}

Failure ActorRuntime::send_request(Peer& peer, wire::Bytes&& message) noexcept {
  if (!peer.is_self()) {
    return peer.send(std::move(message));
  }
  const auto delivered = deliver(nullptr, std::move(message));
  FERRY_CHECK(delivered.has_value());
  return {};
}

void ActorRuntime::cancel_call(Peer& peer, const CancelHeader& header) noexcept {
  if (!peer.is_self()) {
    static_cast<void>(peer.send(make_cancel(header)));
  } else if (auto cell = find(header.actor)) {
    ActorCell& target = *cell;
    target.cancel(std::move(cell), nullptr, header.call);
  }
}

bool ActorRuntime::would_wait_for_itself(const detail::CallTarget& target) const noexcept {
  if (!target.peer->is_self()) {
    return false;
  }
  const auto cell = find(target.actor);
  return cell != nullptr && cell->is_waited_for_by_current(target.endpoint);
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
    window_of_self(header->actor).give_back(1, message.size());
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
      calls_.deliver(header->call, std::move(message));
      return;
    }
  } else if (kind && *kind == MessageKind::credit) {
    if (const auto header = load_credit(view)) {
      window(peer, header->actor).give_back(header->messages, header->bytes);
      return;
    }
  }
  malformed(nullptr, Failure(errc::malformed, "an answer that is neither reply nor credit, from " + peer.describe()));
}

void ActorRuntime::on_peer_failed(Peer& peer, const Failure& why, PeerState, ChannelNumber) noexcept {
  calls_.fail_all(peer, why.with_effect(Effect::unknown));
  std::vector<std::pair<ActorId, Window*>> windows;
  {
    const std::lock_guard lock(windows_mutex_);
    for (const auto& [key, window] : windows_) {  // lint: allow(unordered) sorted below
      if (key.peer == &peer) {
        windows.emplace_back(key.actor, window.get());
      }
    }
  }
  std::sort(windows.begin(), windows.end());
  for (const auto& [actor, window] : windows) {
    window->reset();
  }
}

void ActorRuntime::reply(const ReplyTo& to, wire::Bytes&& message) noexcept {
  if (!to.call) {
    return;
  }
  if (to.channel == nullptr) {
    calls_.deliver(to.call, std::move(message));
  } else {
    node_.traffic().count_message(message.size());
    to.channel->send(std::move(message));
  }
}

void ActorRuntime::reply_failure(const ReplyTo& to, const Failure& failure) noexcept {
  reply(to, make_failure_reply(to.call, failure));
}

void ActorRuntime::retire(ActorCell* cell) noexcept {
  const std::lock_guard lock(retired_mutex_);
  retired_.push_back(cell);
  if (retired_.size() == 1) {
    node_.executor().post(reaper_);
  }
}

bool ActorRuntime::delete_retired() noexcept {
  std::vector<ActorCell*> cells;
  {
    const std::lock_guard lock(retired_mutex_);
    cells.swap(retired_);
  }
  for (ActorCell* cell : cells) {
    delete cell;
    one_less();
  }
  return !cells.empty();
}

Task<void> ActorRuntime::stop_all() {
  std::vector<ActorId> ids;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, cell] : cells_) {  // lint: allow(unordered) sorted below
      if (id != kNodeActor) {
        ids.push_back(id);
      }
    }
  }
  std::sort(ids.rbegin(), ids.rend());
  for (const ActorId id : ids) {
    auto stopping = stop(id, Failure(errc::actor_stopped, "its process is shutting down"));
    co_await stopping;
  }
}

// The process was killed: nothing runs any more, only memory is given back.
void ActorRuntime::drop_everything(std::vector<std::shared_ptr<ActorCell>> cells) noexcept {
  for (const auto& cell : cells) {
    cell->strand().discard();
  }
  cells.clear();
  while (delete_retired()) {  // what a cell's tasks held retires with it
  }
  one_less();
}

void ActorRuntime::shut_down() noexcept {
  if (std::exchange(shut_down_, true)) {
    return;
  }
  std::vector<std::shared_ptr<ActorCell>> cells;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, cell] : cells_) {  // lint: allow(unordered) sorted below
      cells.push_back(cell);
    }
    cells_.clear();
    names_.clear();
  }
  std::sort(cells.begin(), cells.end(), [](const auto& a, const auto& b) { return a->id() > b->id(); });
  if (node_.executor().halted()) {
    drop_everything(std::move(cells));
    return;
  }
  for (auto& cell : cells) {
    Latch stopped;
    ActorCell& target = *cell;
    target.stop(
        cell, Failure(errc::actor_stopped, "its process is shutting down"),
        [](void* user) noexcept { static_cast<Latch*>(user)->set(); }, &stopped);
    node_.executor().wait(stopped);
    cell.reset();
  }
  one_less();
  node_.executor().wait(all_gone_);
}

void ActorRuntime::one_less() noexcept {
  if (live_cells_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    all_gone_.set();
  }
}

}  // namespace ferry
