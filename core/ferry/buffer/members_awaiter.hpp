// MembersAwaiter: starts a range of members and waits until every one has ended. Internal to Batch and Sequence.
//
// Lives in the awaiting frame. One timer and one stop registration for all; giving up cancels those still pending.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <span>

#include <ferry/base/waiter.hpp>
#include <ferry/buffer/members.hpp>

namespace ferry::detail {

class MembersAwaiter final : private Waiter {
 public:
  MembersAwaiter(std::span<Member> members, const Limits& limits) noexcept
      : Waiter(&give_up, &has_progressed), members_(members), limits_(limits) {}
  ~MembersAwaiter();

  bool await_ready() noexcept;
  bool await_suspend(std::coroutine_handle<> handle);
  void await_resume() noexcept;

 private:
  static void completed(Operation& operation) noexcept;
  void one_less() noexcept {
    if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      wake();
    }
  }
  std::uint64_t progress() const noexcept;
  static void give_up(Waiter& waiter, errc reason) noexcept;
  static bool has_progressed(Waiter& waiter) noexcept;

  std::span<Member> members_;
  Limits limits_;
  std::atomic<std::size_t> pending_{1};  // one for the starting itself
  std::uint64_t progress_seen_ = 0;
  bool is_started_ = false;    // some member did not end in place, and await_resume() has not come yet
  bool is_suspended_ = false;  // await_suspend() has begun
};

}  // namespace ferry::detail
