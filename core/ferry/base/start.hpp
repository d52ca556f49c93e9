// Concurrency inside one strand: start(), all(), race(), TaskGroup, as_result().
//
// start(x) begins an awaitable at once and returns a Running<T>: await it for its value; dropping it cancels what it
// waits for and blocks until that is quiet. Everything runs on the caller's strand: interleaved, never parallel.
#pragma once

#include <exception>
#include <list>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <ferry/base/result.hpp>
#include <ferry/base/task.hpp>

namespace ferry {

namespace detail {

template <class A>
decltype(auto) get_awaiter(A&& awaitable) {
  if constexpr (requires { std::forward<A>(awaitable).operator co_await(); }) {
    return std::forward<A>(awaitable).operator co_await();
  } else {
    return std::forward<A>(awaitable);
  }
}

}  // namespace detail

// What co_await of A gives.
template <class A>
using await_result_t = decltype(detail::get_awaiter(std::declval<A&>()).await_resume());

template <class A>
concept Awaitable = requires(A& awaitable) {
  detail::get_awaiter(awaitable).await_resume();
};

namespace detail {

template <class T>
struct IsTask : std::false_type {};
template <class T>
struct IsTask<Task<T>> : std::true_type {};

// Any awaitable as a task that owns it. Parameters by value: the frame outlives the caller's expression.
template <class A>
Task<await_result_t<A>> as_task(A awaitable) {
  co_return co_await awaitable;
}
template <class T>
Task<T> as_task(Task<T> task) {
  return task;
}

template <class T>
struct StopForward {
  T* source;
  void operator()() const noexcept { source->request_stop(); }
};

// One started task: its frame, its scope and who waits for its end. Lives on the heap, owned by Running.
template <class T>
class RunningState final : private TaskObserver {
 public:
  explicit RunningState(Task<T> task) : task_(std::move(task)) {
    TaskScope& outer = TaskScope::require("start");
    scope_ = outer;
    if (outer.stop.stop_possible()) {
      outer_stop_.emplace(outer.stop, StopForward<StopSource>{&source_});
    }
    scope_.stop = source_.get_token();
    const ScopeGuard guard(&scope_);
    if (PromiseBase::run_first_step(task_.handle(), {}, this)) {
      done_ = true;
    }
  }
  ~RunningState() { outer_stop_.reset(); }

  bool is_done() const noexcept { return done_; }
  void cancel() noexcept { source_.request_stop(); }
  T take() { return task_.handle().promise().take(); }
  void set_waiter(Waiter* waiter) noexcept { waiter_ = waiter; }

 private:
  void on_task_done() noexcept override {
    done_ = true;
    if (waiter_ != nullptr) {
      std::exchange(waiter_, nullptr)->wake();
    }
  }

  StopSource source_;
  std::optional<std::stop_callback<StopForward<StopSource>>> outer_stop_;
  TaskScope scope_{};
  bool done_ = false;
  Waiter* waiter_ = nullptr;
  Task<T> task_;  // last: its frames refer to all of the above
};

// Waits for the end of a started task. A stop of the waiting task reaches the started one by itself.
template <class T>
class RunningAwaiter final : private Waiter {
 public:
  explicit RunningAwaiter(RunningState<T>& state) noexcept : state_(state) {}
  ~RunningAwaiter() {
    end();
    state_.set_waiter(nullptr);
  }

  bool await_ready() const noexcept { return state_.is_done(); }
  bool await_suspend(std::coroutine_handle<> handle) {
    begin(handle, {});
    state_.set_waiter(this);
    return commit();
  }
  T await_resume() {
    end();
    return state_.take();
  }
  // For those who wait for the end and take the outcome later.
  void resume_only() noexcept { end(); }

 private:
  void give_up(errc) noexcept override { state_.cancel(); }

  RunningState<T>& state_;
};

}  // namespace detail

template <class T>
class [[nodiscard]] Running {
 public:
  explicit Running(Task<T> task) : state_(std::make_unique<detail::RunningState<T>>(std::move(task))) {}

  bool is_done() const noexcept { return state_->is_done(); }
  void cancel() noexcept { state_->cancel(); }
  detail::RunningAwaiter<T> operator co_await() noexcept { return detail::RunningAwaiter<T>(*state_); }

 private:
  std::unique_ptr<detail::RunningState<T>> state_;
};

// Begins the awaitable now, on this strand. Throws Error (invalid_argument) outside a task.
template <Awaitable A>
auto start(A awaitable) {
  return Running<await_result_t<A>>(detail::as_task(std::move(awaitable)));
}

// The outcome as a value in place of an exception: Result<T>. Exceptions that are not ferry::Error pass.
template <class T>
Task<Result<T>> as_result(Task<T> task) {
  std::optional<Failure> failure;
  try {
    if constexpr (std::is_void_v<T>) {
      co_await task;
      co_return Result<T>{};
    } else {
      co_return Result<T>(co_await task);
    }
  } catch (const Error& error) {
    failure.emplace(error.failure());
  }
  co_return *failure;
}

namespace detail {

template <class T>
using NotVoid = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

template <class T>
Task<NotVoid<T>> value_of(Running<T>& started) {
  if constexpr (std::is_void_v<T>) {
    co_await started;
    co_return std::monostate{};
  } else {
    co_return co_await started;
  }
}

// Waits for the end of `started`, keeping its exception, if it has one and it is the first.
template <class T>
Task<void> settle(Running<T>& started, std::optional<NotVoid<T>>& value, std::exception_ptr& first) {
  try {
    value.emplace(co_await value_of(started));
  } catch (...) {
    if (!first) {
      first = std::current_exception();
    }
  }
}

template <class... T, std::size_t... I>
Task<std::tuple<NotVoid<T>...>> all_of(std::tuple<Task<T>...> tasks, std::index_sequence<I...>) {
  std::tuple<std::optional<NotVoid<T>>...> values;
  std::exception_ptr first;
  std::tuple<Running<T>...> started{Running<T>(std::move(std::get<I>(tasks)))...};  // in argument order
  (co_await settle(std::get<I>(started), std::get<I>(values), first), ...);
  if (first) {
    std::rethrow_exception(first);
  }
  co_return std::tuple<NotVoid<T>...>(std::move(*std::get<I>(values))...);
}

}  // namespace detail

// Starts all awaitables in argument order and waits for every one. The values as a tuple (monostate for void); if some
// fail, the failure of the first in argument order, after all have ended.
template <Awaitable... A>
auto all(A... awaitables) {
  return detail::all_of(std::tuple(detail::as_task(std::move(awaitables))...), std::index_sequence_for<A...>{});
}

}  // namespace ferry
