// Running<T>: a task that start() has begun: awaited for its value, or dropped.
//
// Structured: whoever holds it owns the task. Dropping it cancels what the task waits for and blocks until that is
// quiet. It shares strand, deadline and call of the task that started it, and its stop token; cancel() stops it alone.
// Everything happens on that strand: interleaved at awaits, never parallel. Awaited once, by one task at a time.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <ferry/base/awaitable.hpp>
#include <ferry/base/result.hpp>

namespace ferry {

namespace detail {

template <class Source>
struct StopForward {
  Source* source;
  void operator()() const noexcept { source->request_stop(); }
};

class RunningBase;

// Told when a started task has ended, inside its last step.
class EndListener {
 public:
  virtual void on_end(RunningBase& task) noexcept = 0;

 protected:
  ~EndListener() = default;
};

// While a first step runs inside of its starter's.
class StarterWaits {
 public:
  StarterWaits() noexcept { ++thread_step.starts; }
  ~StarterWaits() { --thread_step.starts; }
  StarterWaits(const StarterWaits&) = delete;
  StarterWaits& operator=(const StarterWaits&) = delete;
};

// What is known of a started task whatever its type: its scope, and who waits for its end.
class RunningBase : protected TaskObserver {
 public:
  RunningBase(const RunningBase&) = delete;
  RunningBase& operator=(const RunningBase&) = delete;

  bool is_done() const noexcept { return done_; }
  // Any thread.
  void cancel() noexcept { source_.request_stop(); }

  // Wakes the waiter at the end. Throws Error (invalid_argument) where another one waits.
  void set_waiter(Waiter& waiter);
  void clear_waiter() noexcept { waiter_ = nullptr; }

 protected:
  // Throws Error (invalid_argument) outside a task.
  explicit RunningBase(EndListener* listener);
  ~RunningBase() { outer_stop_.reset(); }

  template <class P>
  void run_first_step(std::coroutine_handle<P> task) {
    const ScopeGuard guard(&scope_);
    const StarterWaits starter_waits;
    done_ = PromiseBase::run_first_step(task, {}, this);
  }
  void check_untaken();

 private:
  void on_task_done() noexcept override;

  StopSource source_;
  std::optional<std::stop_callback<StopForward<StopSource>>> outer_stop_;
  TaskScope scope_{};
  EndListener* listener_;
  Waiter* waiter_ = nullptr;
  bool done_ = false;
  bool taken_ = false;
};

template <class T>
class RunningState final : public RunningBase {
 public:
  // The listener is not told of a task that ends in its first step.
  explicit RunningState(Task<T> task, EndListener* listener = nullptr) : RunningBase(listener), task_(std::move(task)) {
    run_first_step(task_.handle());
  }

  // Once, when done: the value, or the task's exception.
  T take() {
    check_untaken();
    return task_.handle().promise().take();
  }

 private:
  Task<T> task_;  // after the base, to which its frames refer
};

// Waits for the end of a started task. A stop or deadline of the waiting task cancels the started one.
class EndAwaiter : protected Waiter {
 public:
  explicit EndAwaiter(RunningBase& task) noexcept : Waiter(&give_up), task_(task) {}
  ~EndAwaiter() { leave(); }

  bool await_ready() const noexcept { return task_.is_done(); }
  bool await_suspend(std::coroutine_handle<> handle);
  void await_resume() noexcept { leave(); }

 protected:
  bool has_timed_out() const noexcept { return timed_out_.load(std::memory_order_relaxed); }
  void leave() noexcept;

 private:
  static void give_up(Waiter& waiter, errc reason) noexcept;

  RunningBase& task_;
  bool waits_ = false;
  std::atomic<bool> timed_out_{false};
};

// Waits until one of several started tasks has ended.
class FirstEndAwaiter final : private Waiter {
 public:
  explicit FirstEndAwaiter(std::span<RunningBase* const> tasks) noexcept : Waiter(&give_up), tasks_(tasks) {}
  ~FirstEndAwaiter() { leave(); }

  bool await_ready() const noexcept;
  bool await_suspend(std::coroutine_handle<> handle);
  void await_resume() noexcept { leave(); }

 private:
  void leave() noexcept;
  static void give_up(Waiter& waiter, errc reason) noexcept;

  std::span<RunningBase* const> tasks_;
  std::size_t waits_ = 0;  // for that many
};

// The exception in flight; where it is a cancellation that a passed deadline of the waiting task has caused, timed_out.
[[noreturn]] void rethrow_as_timed_out();

template <class T>
class RunningAwaiter final : public EndAwaiter {
 public:
  explicit RunningAwaiter(RunningState<T>& state) noexcept : EndAwaiter(state), state_(state) {}

  T await_resume() {
    leave();
    if (!has_timed_out()) [[likely]] {
      return state_.take();
    }
    try {
      return state_.take();
    } catch (const Error&) {
      rethrow_as_timed_out();
    }
  }

 private:
  RunningState<T>& state_;
};

}  // namespace detail

template <class T>
class [[nodiscard]] Running {
 public:
  using value_type = T;

  explicit Running(Task<T> task) : state_(std::make_unique<detail::RunningState<T>>(std::move(task))) {}

  bool is_done() const noexcept { return state_->is_done(); }
  // Asks it to stop; it ends when what it waits for has. Any thread.
  void cancel() noexcept { state_->cancel(); }
  detail::RunningAwaiter<T> operator co_await() noexcept { return detail::RunningAwaiter<T>(*state_); }

  // For all() and race().
  detail::RunningState<T>& state() noexcept { return *state_; }

 private:
  std::unique_ptr<detail::RunningState<T>> state_;
};

}  // namespace ferry
