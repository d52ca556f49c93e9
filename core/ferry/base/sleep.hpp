// sleep_for: waits on the executor's clock (virtual in the simulator); nothing is blocked meanwhile.
//
// Throws Error (cancelled) on a stop, (timed_out) where the enclosing deadline comes first.
#pragma once

#include <coroutine>

#include <ferry/base/result.hpp>
#include <ferry/base/waiter.hpp>

namespace ferry {

class [[nodiscard]] Sleep final : private Waiter {
 public:
  using value_type = void;

  explicit Sleep(Duration duration) noexcept : Waiter(&give_up), duration_(duration) {}
  Sleep(const Sleep& other) noexcept : Waiter(other), duration_(other.duration_) {}
  ~Sleep() { end(); }

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> handle) {
    const TaskScope& scope = TaskScope::require("sleep_for");
    const TimePoint now = scope.strand->executor().now();
    until_ = saturating_add(now, duration_);
    early_ = scope.deadline < until_;
    begin(handle, Limits{duration_, {}});
    return commit();
  }
  void await_resume() {
    if (Result<void> slept = await_result(); !slept) {
      throw Error(slept.error());
    }
  }
  Result<void> await_result() {
    end();
    if (reason_ == errc::timed_out && !early_) {
      return {};
    }
    return Failure(reason_, "the sleep was cut short").during("sleep_for");
  }

 private:
  static void give_up(Waiter& waiter, errc reason) noexcept {
    auto& self = static_cast<Sleep&>(waiter);
    if (!self.given_up_.exchange(true, std::memory_order_relaxed)) {
      self.reason_ = reason;
      self.wake();
    }
  }

  Duration duration_;
  TimePoint until_{};
  bool early_ = false;
  errc reason_ = errc::timed_out;
  std::atomic<bool> given_up_{false};
};

// lint: allow(sleep) this is the delay on the Executor
inline Sleep sleep_for(Duration duration) noexcept {
  return Sleep(duration);
}

}  // namespace ferry
