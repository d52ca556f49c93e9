#include <ferry/actor/call.hpp>

#include <fmt/format.h>

#include <ferry/actor/actor_runtime.hpp>
#include <ferry/transport/node_core.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry::detail {

std::string CallTarget::what() const {
  return fmt::format("{}::{}", class_name, endpoint_name);
}

std::string CallTarget::where() const {
  return fmt::format("actor {} of {}", actor.value(), peer->describe());
}

bool MessageAwaiter::refuse(Failure why) noexcept {
  failure_ = std::move(why);
  return false;
}

bool MessageAwaiter::start(std::coroutine_handle<> handle, MessageKind kind) {
  kind_ = kind;
  if (target_.peer == nullptr) {
    return refuse(empty_reference("actor reference"));
  }
  NodeCore& node = target_.peer->node();
  runtime_ = node.actors();
  if (runtime_ == nullptr) {
    return refuse(Failure(errc::unsupported, "this node has no actors, and so nobody who takes the answer"));
  }
  if (message_.size() > node.limits().frame_bytes) {
    return refuse(Failure(errc::too_large,
                          fmt::format("the message has {} bytes, a frame at most {} (NodeLimits::frame_bytes); pass a "
                                      "reference to registered memory in place of large data",
                                      message_.size(), node.limits().frame_bytes)));
  }
  const SelfCall self_call = runtime_->self_call(target_);
  if (kind == MessageKind::call && self_call == SelfCall::waits_for_itself) {
    return refuse(Failure(errc::would_deadlock,
                          "the actor calls an endpoint of its own that cannot start before the "
                          "present one ends; call the member function, or list it concurrent"));
  }
  bind(handle, limits_);
  RequestHeader header{kind, target_.endpoint, target_.fingerprint, {}, target_.actor, 0};
  call_peer = target_.peer;
  call_target = &target_;
  if (kind == MessageKind::call) {
    id_ = runtime_->calls().add(*this);
    header.call = id_;
    if (deadline() != kNever) {
      const Duration left = deadline() - node.executor().now();
      header.time_left = static_cast<std::uint64_t>(std::max<std::int64_t>(1, left.count()));
    }
  }
  store_request(message_.data(), header);
  window_bytes = message_.size();
  window_ = runtime_->window(*target_.peer, target_.actor);
  stage_.store(Stage::waiting_for_room, std::memory_order_relaxed);
  if (self_call != SelfCall::no) {
    window_->take_anyway(window_bytes);
    on_room();
  } else if (window_->take_or_wait(*this)) {
    on_room();
  }
  if (!is_woken()) {
    watch(limits_);
  }
  return commit();
}

// The message leaves. A call may have its reply before this returns; what ends it waits for window_served.
void MessageAwaiter::send_now() noexcept {
  ActorRuntime& runtime = *runtime_;
  const CallId id = id_;
  const Failure fate = runtime.send_request(*target_.peer, std::move(message_), call_sent_under);
  if (fate && id) {
    runtime.calls().fail(id, fate);
  } else if (fate) {
    failure_ = fate;  // a send: its frame waits for the wake() that follows
  }
}

void MessageAwaiter::room_came(WindowWaiter& waiter) noexcept {
  auto& self = static_cast<MessageAwaiter&>(waiter);
  self.stage_.store(Stage::sent, std::memory_order_release);
  self.send_now();
  if (self.kind_ == MessageKind::send) {
    self.wake();
  }
  self.window_served.store(true, std::memory_order_release);
}

void MessageAwaiter::reply_came(PendingCall& call, wire::Bytes&& message) noexcept {
  auto& self = static_cast<MessageAwaiter&>(call);
  self.reply_ = std::move(message);
  self.wake();
}

void MessageAwaiter::no_reply_came(PendingCall& call, const Failure& why) noexcept {
  auto& self = static_cast<MessageAwaiter&>(call);
  self.failure_ = why;
  self.wake();
}

// Takes the message out of the window's queue, or waits until it has been handed over. False: it was handed over.
bool MessageAwaiter::take_back() noexcept {
  if (stage_.load(std::memory_order_acquire) == Stage::unsent) {
    return true;
  }
  if (window_served.load(std::memory_order_acquire)) {
    return false;
  }
  if (window_->leave(*this)) {
    stage_.store(Stage::unsent, std::memory_order_release);
    return true;
  }
  while (!window_served.load(std::memory_order_acquire)) {
  }
  return false;
}

// Afterwards nobody touches this any more. A call that is dropped is cancelled.
void MessageAwaiter::leave() noexcept {
  end();
  const CallId id = std::exchange(id_, CallId{});
  const bool unanswered = id && runtime_->calls().remove(id);
  if (window_ == nullptr) {
    return;
  }
  const bool unsent = take_back();
  window_ = nullptr;
  if (unanswered && !unsent && !target_.peer->node().executor().halted()) {
    call_off(id);
  }
}

// Of a call that was handed over. True: it never left this process.
bool MessageAwaiter::call_off(CallId id) noexcept {
  const bool unsent = runtime_->cancel_call(*target_.peer, {id, target_.actor});
  if (unsent) {
    runtime_->window(*target_.peer, target_.actor)->give_back(1, window_bytes);
  }
  return unsent;
}

void MessageAwaiter::asked_to_give_up(Waiter& waiter, errc reason) noexcept {
  static_cast<MessageAwaiter&>(waiter).give_up(reason);
}

void MessageAwaiter::give_up(errc reason) noexcept {
  const CallId id = id_;
  if (kind_ == MessageKind::call && !runtime_->calls().remove(id)) {
    return;  // its end has come already
  }
  if (kind_ == MessageKind::send) {
    if (!window_->leave(*this)) {
      return;  // it is being sent
    }
    stage_.store(Stage::unsent, std::memory_order_release);
  }
  const bool unsent = take_back() || call_off(id);
  failure_ = given_up(reason, "no reply came within the limit").with_effect(unsent ? Effect::none : Effect::unknown);
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
    // The endpoint has the same deadline: cut short by it, it may tell so before this end's own timer runs.
    if (failure_.code() == errc::endpoint_failed && deadline() != kNever && node()->executor().now() >= deadline()) {
      failure_ =
          Failure(errc::timed_out, "no reply came within the limit, which the endpoint has too: " + failure_.detail())
              .with_effect(header->effect);
    }
    if (failure_.code() == errc::actor_stopped || failure_.code() == errc::no_such_actor) {
      runtime_->forget_window(*target_.peer, target_.actor);
    }
  }
}

wire::ByteView MessageAwaiter::value() const noexcept {
  return wire::ByteView(reply_.data(), reply_.size()).subspan(std::min(reply_.size(), ReplyHeader::kSize));
}

// The endpoint has run.
void MessageAwaiter::refuse_value(std::string_view type, const Failure& why) {
  failure_ = Failure(why.code(), fmt::format("the value that came back ({}) cannot be decoded: {}", type, why.detail()))
                 .with_effect(Effect::unknown);
}

NodeCore* MessageAwaiter::node() const noexcept {
  return &target_.peer->node();
}

Failure MessageAwaiter::explained() const {
  const Failure named =
      failure_.during(fmt::format("{} of {}", kind_ == MessageKind::call ? "call" : "send", target_.what()));
  return target_.peer == nullptr ? named : named.with_peer(target_.where());
}

}  // namespace ferry::detail
