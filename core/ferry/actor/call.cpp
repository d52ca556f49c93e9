#include <ferry/actor/call.hpp>

#include <fmt/format.h>

#include <ferry/actor/actor_runtime.hpp>
#include <ferry/transport/node_core.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry::detail {

bool MessageAwaiter::refuse(Failure why) noexcept {
  failure_ = std::move(why);
  return false;
}

bool MessageAwaiter::start(std::coroutine_handle<> handle, MessageKind kind) {
  kind_ = kind;
  if (target_.peer == nullptr) {
    return refuse(Failure(errc::invalid_argument, "the actor reference is empty (default-constructed)"));
  }
  NodeCore& node = target_.peer->node();
  runtime_ = node.actors();
  if (message_.size() > node.limits().frame_bytes) {
    return refuse(Failure(errc::too_large,
                          fmt::format("the message has {} bytes, a frame at most {} (NodeLimits::frame_bytes); pass a "
                                      "reference to registered memory in place of large data",
                                      message_.size(), node.limits().frame_bytes)));
  }
  if (kind == MessageKind::call && runtime_->would_wait_for_itself(target_)) {
    return refuse(Failure(errc::would_deadlock,
                          "the actor calls an endpoint of its own that cannot start before the "
                          "present one ends; call the member function, or list it concurrent"));
  }
  bind(handle, limits_);
  RequestHeader header{kind, target_.endpoint, target_.fingerprint, {}, target_.actor, 0};
  if (kind == MessageKind::call) {
    call_peer = target_.peer;
    id_ = runtime_->calls().add(*this);
    header.call = id_;
    if (deadline() != kNever) {
      const Duration left = deadline() - node.executor().now();
      header.time_left = static_cast<std::uint64_t>(std::max<std::int64_t>(1, left.count()));
    }
  }
  store_request(message_.data(), header);
  window_bytes = message_.size();
  window_ = &runtime_->window(*target_.peer, target_.actor);
  stage_.store(Stage::waiting_for_room, std::memory_order_relaxed);
  if (window_->take_or_wait(*this)) {
    stage_.store(Stage::sent, std::memory_order_relaxed);
    window_served.store(true, std::memory_order_relaxed);
    send_now(std::move(message_));
    if (kind == MessageKind::send) {
      wake();
    }
  }
  if (!is_woken()) {
    watch(limits_);
  }
  return commit();
}

// Touches nothing of the awaiter after the message has left.
void MessageAwaiter::send_now(wire::Bytes&& message) noexcept {
  ActorRuntime& runtime = *runtime_;
  const CallId id = id_;
  const Failure fate = runtime.send_request(*target_.peer, std::move(message));
  if (fate && id) {
    runtime.calls().fail(id, fate);
  } else if (fate) {
    failure_ = fate;  // a send: its frame waits for the wake() that follows
  }
}

void MessageAwaiter::on_room() noexcept {
  stage_.store(Stage::sent, std::memory_order_release);
  wire::Bytes message = std::move(message_);
  if (kind_ == MessageKind::send) {
    send_now(std::move(message));
    window_served.store(true, std::memory_order_release);
    wake();
    return;
  }
  ActorRuntime& runtime = *runtime_;
  Peer& peer = *target_.peer;
  const CallId id = id_;
  window_served.store(true, std::memory_order_release);
  if (const Failure fate = runtime.send_request(peer, std::move(message))) {
    runtime.calls().fail(id, fate);
  }
}

void MessageAwaiter::on_reply(wire::Bytes&& message) noexcept {
  reply_ = std::move(message);
  wake();
}

void MessageAwaiter::on_no_reply(const Failure& why) noexcept {
  failure_ = why;
  wake();
}

// Takes the message out of the window's queue, or waits until it has been handed over.
void MessageAwaiter::leave() noexcept {
  end();
  if (id_) {
    runtime_->calls().remove(std::exchange(id_, CallId{}));
  }
  if (stage_.load(std::memory_order_acquire) == Stage::unsent || window_ == nullptr) {
    return;
  }
  if (!window_->leave(*this)) {
    while (!window_served.load(std::memory_order_acquire)) {
    }
  }
}

void MessageAwaiter::give_up(errc reason) noexcept {
  const CallId id = id_;
  if (kind_ == MessageKind::call && !runtime_->calls().remove(id)) {
    return;  // its end has come already
  }
  const bool unsent = window_ == nullptr || window_->leave(*this);
  if (kind_ == MessageKind::send && !unsent) {
    return;  // it is being sent
  }
  if (!unsent) {
    while (!window_served.load(std::memory_order_acquire)) {
    }
    runtime_->cancel_call(*target_.peer, {id, target_.actor});
  }
  failure_ = Failure(reason, reason == errc::timed_out ? "no reply came within the limit" : "a stop was requested")
                 .with_effect(unsent ? Effect::none : Effect::unknown);
  wake();
}

void MessageAwaiter::finish() noexcept {
  leave();
  if (failure_ || kind_ == MessageKind::send) {
    return;
  }
  auto header = load_reply({reply_.data(), reply_.size()});
  if (!header) {
    failure_ = header.error();
  } else if (header->code != 0) {
    failure_ =
        Failure(static_cast<errc>(header->code), std::string(wire::as_text(value()))).with_effect(header->effect);
  }
}

wire::ByteView MessageAwaiter::value() const noexcept {
  return wire::ByteView(reply_.data(), reply_.size()).subspan(std::min(reply_.size(), ReplyHeader::kSize));
}

Failure MessageAwaiter::explained() const {
  const Failure named = failure_.during(fmt::format("{} of {}::{}", kind_ == MessageKind::call ? "call" : "send",
                                                    target_.class_name, target_.endpoint_name));
  return target_.peer == nullptr || !named.peer().empty()
             ? named
             : named.with_peer(fmt::format("actor {} of {}", target_.actor.value(), target_.peer->describe()));
}

}  // namespace ferry::detail
