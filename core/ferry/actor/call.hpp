// Call<R>: a call of an endpoint as an awaitable; Send: a message without a reply. What ActorRef's functions return.
//
// Nothing is sent before the await; sends leave in the order of their start. A dropped call is cancelled. A call ends
// by a reply, by the failure of the actor or its process, or by its own limits; it has no limit unless given (or
// inherited: a deadline passes on to calls made inside the endpoint). Cancelling returns at once; the endpoint's
// effects are then unknown, unless the message had not left this process: then it never will.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <ferry/actor/call_table.hpp>
#include <ferry/actor/message.hpp>
#include <ferry/actor/window.hpp>
#include <ferry/base/result.hpp>
#include <ferry/base/waiter.hpp>
#include <ferry/wire/codec.hpp>
#include <ferry/wire/type_name.hpp>

namespace ferry {

class ActorRuntime;
class NodeCore;
class Peer;

namespace detail {

// What is called, for error texts.
struct CallTarget {
  Peer* peer = nullptr;
  ActorId actor{};
  std::uint16_t endpoint = 0;
  std::uint32_t fingerprint = 0;
  std::string_view class_name;
  std::string_view endpoint_name;

  std::string what() const;   // "Store::get"
  std::string where() const;  // "actor 7 of process 1f3/00c0ffee (worker/2)"; of one with a peer
};

// Whether a message goes to the very actor that sends it.
enum class SelfCall : unsigned char {
  no,
  itself,           // it must not wait for room that only the actor itself can make
  waits_for_itself  // the endpoint cannot start before the running one ends
};

// The message with room for its header.
inline wire::Bytes new_request() {
  wire::Bytes message;
  wire::extend(message, RequestHeader::kSize);
  return message;
}

class MessageAwaiter : protected Waiter, protected WindowWaiter, protected PendingCall {
 public:
  MessageAwaiter(const CallTarget& target, wire::Bytes message, const Limits& limits)
      : Waiter(&asked_to_give_up),
        WindowWaiter(&room_came),
        PendingCall(&reply_came, &no_reply_came),
        target_(target),
        message_(std::move(message)),
        limits_(limits) {}
  MessageAwaiter(const MessageAwaiter& other) : MessageAwaiter(other.target_, other.message_, other.limits_) {}
  MessageAwaiter(MessageAwaiter&& other) noexcept
      : MessageAwaiter(other.target_, std::move(other.message_), other.limits_) {}

  Peer* peer() const noexcept { return target_.peer; }

 protected:
  ~MessageAwaiter() { leave(); }

  // Starts; true: suspended.
  bool start(std::coroutine_handle<> handle, MessageKind kind);
  // Ends the await; afterwards failure_, or reply_ of a call.
  void finish() noexcept;
  Failure explained() const;
  wire::ByteView value() const noexcept;
  void refuse_value(std::string_view type, const Failure& why);
  NodeCore* node() const noexcept;  // that decodes the reply

  CallTarget target_;
  wire::Bytes message_;
  Limits limits_;
  Failure failure_{};
  wire::Bytes reply_;

 private:
  void leave() noexcept;
  bool take_back() noexcept;
  bool call_off(CallId id) noexcept;
  void send_now() noexcept;
  bool refuse(Failure why) noexcept;
  void give_up(errc reason) noexcept;
  static void asked_to_give_up(Waiter& self, errc reason) noexcept;
  static void room_came(WindowWaiter& self) noexcept;
  static void reply_came(PendingCall& self, wire::Bytes&& message) noexcept;
  static void no_reply_came(PendingCall& self, const Failure& why) noexcept;

  enum class Stage : unsigned char { unsent, waiting_for_room, sent };

  ActorRuntime* runtime_ = nullptr;
  std::shared_ptr<Window> window_;
  CallId id_{};  // calls: while in the table
  MessageKind kind_ = MessageKind::call;
  std::atomic<Stage> stage_{Stage::unsent};
};

}  // namespace detail

template <class R>
class [[nodiscard]] Call final : public detail::MessageAwaiter {
 public:
  using value_type = R;
  using MessageAwaiter::MessageAwaiter;

  Call with(const Limits& limits) && {
    limits_ = limits;
    return std::move(*this);
  }

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> handle) { return start(handle, MessageKind::call); }

  // Throws Error: endpoint_failed with the exception's type and text; actor_stopped, no_such_actor, peer_lost, …
  R await_resume() {
    Result<R> result = await_result();
    if (!result) {
      throw Error(result.error());
    }
    if constexpr (!std::is_void_v<R>) {
      return std::move(*result);
    }
  }

  Result<R> await_result() {
    finish();
    if (failure_) {
      return explained();
    }
    if constexpr (std::is_void_v<R>) {
      return {};
    } else {
      Result<R> decoded = wire::decode<R>(value(), node());
      if (!decoded) {
        refuse_value(wire::type_name<R>(), decoded.error());
        return explained();
      }
      return decoded;
    }
  }
};

// Ends when the message is on its way (room was there); not when it has arrived.
class [[nodiscard]] Send final : public detail::MessageAwaiter {
 public:
  using value_type = void;
  using MessageAwaiter::MessageAwaiter;

  Send with(const Limits& limits) && {
    limits_ = limits;
    return std::move(*this);
  }
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> handle) { return start(handle, MessageKind::send); }
  void await_resume() {
    if (Result<void> result = await_result(); !result) {
      throw Error(result.error());
    }
  }
  Result<void> await_result() {
    finish();
    return failure_ ? Result<void>(explained()) : Result<void>();
  }
};

}  // namespace ferry
