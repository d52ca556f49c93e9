// offload(f): runs a function where it may block, and gives back what it returns.
//
// On a real node f runs on another thread (so it must not touch what the actor's own steps touch meanwhile); in the
// simulator in place, in no virtual time. It cannot be cancelled: a stop or deadline waits for its end, and dropping
// the await blocks until then. Exceptions of f pass. Name the callable, then await (g++ 12).
#pragma once

#include <concepts>
#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include <ferry/base/waiter.hpp>

namespace ferry {

template <std::invocable F>
class [[nodiscard]] Offload final : private Waiter {
 public:
  using value_type = std::invoke_result_t<F&>;

  explicit Offload(F function) : Waiter(&cannot_give_up), function_(std::move(function)) {}
  Offload(const Offload& other) requires std::copy_constructible<F>
  = default;
  Offload(Offload&& other) noexcept : Waiter(other), function_(std::move(other.function_)) {}
  ~Offload() {
    end();
    if (started_) {
      ended_.block();
    }
  }

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> handle) {
    begin(handle, {});
    job_.owner = this;
    started_ = true;
    TaskScope::current()->strand->executor().offload(job_);
    return commit();
  }
  value_type await_resume() {
    end();
    if (exception_) {
      std::rethrow_exception(exception_);
    }
    if constexpr (!std::is_void_v<value_type>) {
      return std::move(*value_);
    }
  }

 private:
  struct Work : ferry::Job {
    Work() noexcept : ferry::Job(&Work::run_it) {}
    static void run_it(ferry::Job& job) noexcept { static_cast<Work&>(job).owner->work(); }
    Offload* owner = nullptr;
  };

  void work() noexcept {
    try {
      if constexpr (std::is_void_v<value_type>) {
        function_();
      } else {
        value_.emplace(function_());
      }
    } catch (...) {
      exception_ = std::current_exception();
    }
    wake_and_end();
  }

  // The frame may be dropped as soon as ended_ is set; so wake first.
  void wake_and_end() noexcept {
    wake();
    ended_.set();
  }

  F function_;
  Work job_;
  Latch ended_;
  bool started_ = false;
  std::optional<std::conditional_t<std::is_void_v<value_type>, std::monostate, value_type>> value_;
  std::exception_ptr exception_;
};

template <std::invocable F>
Offload<F> offload(F function) {
  return Offload<F>(std::move(function));
}

}  // namespace ferry
