// Task<T>: a lazy coroutine. Nothing runs before it is awaited (or started); the awaiting frame owns it.
//
// Thread: a task runs on the strand of the task that awaits it, so its frames need no locks. A child that ends without
// suspending returns to its parent on the parent's own stack (a done flag, not a transfer), so a loop of a million
// awaits needs no stack. Cancellation, deadline and call identity are inherited through TaskScope.
// A task is awaited once: awaiting an empty one, or one a second time, throws Error (invalid_argument).
// Dropping a suspended task, on its strand, destroys its frames; whatever they wait for is cancelled and awaited first.
#pragma once

#include <algorithm>
#include <concepts>
#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include <ferry/base/scope.hpp>
#include <ferry/base/waiter.hpp>

namespace ferry {

template <class T>
class Task;

namespace detail {

// Told when a task that no coroutine awaits has ended. Runs on the strand, inside the task's last step.
class TaskObserver {
 public:
  virtual void on_task_done() noexcept = 0;

 protected:
  ~TaskObserver() = default;
};

class PromiseBase {
 public:
  std::suspend_always initial_suspend() const noexcept { return {}; }

  struct FinalAwaiter {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> handle) const noexcept {
      PromiseBase& promise = handle.promise();
      if (promise.inline_) {
        return std::noop_coroutine();  // the parent is below on the stack and sees done()
      }
      if (promise.observer_ != nullptr) {
        promise.observer_->on_task_done();
        return std::noop_coroutine();
      }
      return promise.continuation_;
    }
    void await_resume() const noexcept {}
  };
  FinalAwaiter final_suspend() const noexcept { return {}; }

  // Runs the task's first step in place. True if it ended within it.
  template <class Promise>
  static bool run_first_step(std::coroutine_handle<Promise> task, std::coroutine_handle<> continuation,
                             TaskObserver* observer) {
    if (!task) [[unlikely]] {
      refuse_to_run();
    }
    PromiseBase& promise = task.promise();
    if (std::exchange(promise.started_, true)) [[unlikely]] {
      refuse_to_run();
    }
    promise.continuation_ = continuation;
    promise.observer_ = observer;
    promise.inline_ = true;
    task.resume();
    promise.inline_ = false;
    return task.done();
  }

 private:
  [[noreturn]] static void refuse_to_run();

  std::coroutine_handle<> continuation_;
  TaskObserver* observer_ = nullptr;
  bool inline_ = false;
  bool started_ = false;
};

template <class T>
class Promise final : public PromiseBase {
 public:
  Task<T> get_return_object() noexcept;
  void unhandled_exception() noexcept { outcome_.template emplace<2>(std::current_exception()); }

  template <class U = T>
  requires std::constructible_from<T, U&&>
  void return_value(U&& value) noexcept(std::is_nothrow_constructible_v<T, U&&>) {
    outcome_.template emplace<1>(std::forward<U>(value));
  }

  T take() {
    if (outcome_.index() == 2) {
      std::rethrow_exception(std::get<2>(std::move(outcome_)));
    }
    return std::get<1>(std::move(outcome_));
  }

 private:
  std::variant<std::monostate, T, std::exception_ptr> outcome_;
};

template <>
class Promise<void> final : public PromiseBase {
 public:
  Task<void> get_return_object() noexcept;
  void unhandled_exception() noexcept { exception_ = std::current_exception(); }
  void return_void() const noexcept {}

  void take() {
    if (exception_) {
      std::rethrow_exception(std::exchange(exception_, nullptr));
    }
  }

 private:
  std::exception_ptr exception_;
};

}  // namespace detail

template <class T>
class ScopedTask;

template <class T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;
  using value_type = T;

  Task() noexcept = default;
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      destroy();
      handle_ = std::exchange(other.handle_, {});
    }
    return *this;
  }
  ~Task() { destroy(); }

  explicit operator bool() const noexcept { return static_cast<bool>(handle_); }

  // The task with limits of its own, which add to those of the tasks around it (base/scope.hpp).
  ScopedTask<T> with(Limits limits) &&;

  class Awaiter {
   public:
    explicit Awaiter(std::coroutine_handle<promise_type> task) noexcept : task_(task) {}
    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> parent) {
      return !detail::PromiseBase::run_first_step(task_, parent, nullptr);
    }
    T await_resume() { return task_.promise().take(); }

   private:
    std::coroutine_handle<promise_type> task_;
  };

  Awaiter operator co_await() noexcept { return Awaiter(handle_); }

  // For the roots that run a task without a coroutine around it.
  std::coroutine_handle<promise_type> handle() const noexcept { return handle_; }

 private:
  friend promise_type;
  explicit Task(std::coroutine_handle<promise_type> handle) noexcept : handle_(handle) {}

  void destroy() noexcept {
    if (handle_) {
      std::exchange(handle_, {}).destroy();
    }
  }

  std::coroutine_handle<promise_type> handle_;
};

// A task under limits: opens a scope whose deadline and stop token its inner awaits inherit. May be moved until
// awaited.
template <class T>
class [[nodiscard]] ScopedTask {
 public:
  using value_type = T;

  ScopedTask(Task<T> task, Limits limits) noexcept : limits_(limits), task_(std::move(task)) {}
  ScopedTask(ScopedTask&& other) noexcept : limits_(other.limits_), task_(std::move(other.task_)) {}

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> parent) {
    TaskScope& outer = TaskScope::require("a task with limits");
    outer_ = &outer;
    scope_ = outer;
    if (limits_.timeout) {
      const TimePoint now = outer.strand->executor().now();
      scope_.deadline = std::min(outer.deadline, saturating_add(now, std::max(*limits_.timeout, Duration::zero())));
    }
    if (limits_.stop) {
      own_stop_.emplace(limits_.stop.token(), Forward{&source_.emplace()});
      outer_stop_.emplace(outer.stop, Forward{&*source_});
      scope_.stop = source_->get_token();
    }
    const ScopeGuard guard(&scope_);
    return !detail::PromiseBase::run_first_step(task_.handle(), parent, nullptr);
  }
  T await_resume() {
    detail::thread_step.scope = outer_;
    own_stop_.reset();
    outer_stop_.reset();
    return task_.handle().promise().take();
  }

 private:
  struct Forward {
    StopSource* source;
    void operator()() const noexcept { source->request_stop(); }
  };

  Limits limits_;
  TaskScope* outer_ = nullptr;
  TaskScope scope_{};
  std::optional<StopSource> source_;
  std::optional<std::stop_callback<Forward>> own_stop_;
  std::optional<std::stop_callback<Forward>> outer_stop_;
  Task<T> task_;  // last: its frames refer to the scope
};

template <class T>
ScopedTask<T> Task<T>::with(Limits limits) && {
  return ScopedTask<T>(std::move(*this), limits);
}

namespace detail {
template <class T>
Task<T> Promise<T>::get_return_object() noexcept {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}
inline Task<void> Promise<void>::get_return_object() noexcept {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}
}  // namespace detail

}  // namespace ferry
