// Awaitable: whatever a task can co_await; as_task() makes a Task of it that owns it.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>
#include <variant>

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

// A value of T in containers: monostate stands for void.
template <class T>
using NotVoid = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

// Parameters by value: the frame outlives the caller's expression.
template <Awaitable A>
Task<await_result_t<A>> as_task(A awaitable) {
  co_return co_await awaitable;
}
template <class T>
Task<T> as_task(Task<T> task) {
  return task;
}

}  // namespace detail

}  // namespace ferry
