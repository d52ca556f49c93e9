// as_result(x): the outcome of any awaitable as a value, Result<T>, in place of an exception.
//
// Only ferry::Error becomes a failure; other exceptions pass. Awaitables of the library that know their outcome (those
// with await_result()) neither throw nor need another frame for it.
#pragma once

#include <coroutine>
#include <optional>
#include <type_traits>
#include <utility>

#include <ferry/base/awaitable.hpp>
#include <ferry/base/result.hpp>

namespace ferry {

namespace detail {
template <class A>
concept KnowsOutcome = requires(A& awaitable) {
  awaitable.await_result();
};
}  // namespace detail

template <detail::KnowsOutcome A>
class [[nodiscard]] AsResult {
 public:
  explicit AsResult(A awaitable) noexcept : awaitable_(std::move(awaitable)) {}

  bool await_ready() noexcept(noexcept(awaitable_.await_ready())) { return awaitable_.await_ready(); }
  bool await_suspend(std::coroutine_handle<> handle) {
    try {
      return awaitable_.await_suspend(handle);
    } catch (const Error& error) {
      refused_ = error.failure();
      return false;
    }
  }
  auto await_resume() -> decltype(std::declval<A&>().await_result()) {
    if (refused_) [[unlikely]] {
      return refused_;
    }
    return awaitable_.await_result();
  }

 private:
  A awaitable_;
  Failure refused_{};  // why it could not be awaited at all
};

template <detail::KnowsOutcome A>
AsResult<A> as_result(A awaitable) {
  return AsResult<A>(std::move(awaitable));
}

template <Awaitable A>
requires(!detail::KnowsOutcome<A>) Task<Result<await_result_t<A>>> as_result(A awaitable) {
  std::optional<Failure> failure;
  try {
    if constexpr (std::is_void_v<await_result_t<A>>) {
      co_await awaitable;
      co_return Result<void>{};
    } else {
      co_return Result<await_result_t<A>>(co_await awaitable);
    }
  } catch (const Error& error) {
    failure.emplace(error.failure());
  }
  co_return *failure;
}

}  // namespace ferry
