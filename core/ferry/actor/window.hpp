// Window: what this process has sent to one actor and the actor has not yet taken from its mailbox, in messages and
// bytes. Who finds it full waits, first come first served, also while those before are being served.
//
// Bounds the memory that this process can fill at the actor's: limits::kWindowMessages, and kWindowBytes or, where less
// than kCreditBytes are under way, one frame more. Owner: shared by the ActorRuntime and by who uses it. Any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>

#include <boost/intrusive/list.hpp>

namespace ferry {

// A message that waits for room. Owned by the awaiting frame. Not virtual, for the reason that PendingCall gives.
class WindowWaiter {
 public:
  boost::intrusive::list_member_hook<> window_hook;
  std::size_t window_bytes = 0;
  // Set by on_room() as the last thing that touches the waiter. Whoever wants to end a waiter that leave() did not find
  // queued waits for this: a few instructions.
  std::atomic<bool> window_served{false};

  // There is room and it is taken: send. Called without the window's lock.
  void on_room() noexcept { on_room_(*this); }

 protected:
  using OnRoom = void (*)(WindowWaiter&) noexcept;

  explicit WindowWaiter(OnRoom room) noexcept : on_room_(room) {}
  ~WindowWaiter() = default;

 private:
  const OnRoom on_room_;
};

class Window {
 public:
  // Takes room at once, if nobody waits and it is there.
  bool try_take(std::size_t bytes) noexcept;
  // Takes room whether it is there or not: for an actor that sends to itself, which must not wait for itself.
  void take_anyway(std::size_t bytes) noexcept;
  // As try_take, or queues the waiter. True: taken.
  bool take_or_wait(WindowWaiter& waiter) noexcept;
  // Leaves the queue. False: it was not queued (any more).
  bool leave(WindowWaiter& waiter) noexcept;
  // The actor has taken messages; wakes whoever fits now.
  void give_back(std::size_t messages, std::size_t bytes) noexcept;
  // Messages that wait for room.
  std::size_t waiting() noexcept;
  // The channel was lost: nothing is under way any more. Waiters get room.
  void reset() noexcept;

 private:
  bool has_room(std::size_t bytes) const noexcept;
  void take(std::size_t bytes) noexcept;
  void serve(std::unique_lock<std::mutex> lock) noexcept;

  using Queue = boost::intrusive::list<
      WindowWaiter,
      boost::intrusive::member_hook<WindowWaiter, boost::intrusive::list_member_hook<>, &WindowWaiter::window_hook>>;

  std::mutex mutex_;
  std::size_t messages_ = 0;
  std::size_t bytes_ = 0;
  bool is_serving_ = false;  // some thread hands out room
  Queue queue_;
};

}  // namespace ferry
