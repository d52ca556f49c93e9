// all(a, b, …): several awaitables at once; ends when every one has. race(a, b, …): ends with the first.
//
// They begin in the order of the arguments, on the caller's strand. A stop or deadline of the caller reaches all.
#pragma once

#include <array>
#include <cstddef>
#include <exception>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <variant>

#include <ferry/base/running.hpp>

namespace ferry {

namespace detail {

template <class T>
NotVoid<T> take_value(RunningState<T>& state) {
  if constexpr (std::is_void_v<T>) {
    state.take();
    return {};
  } else {
    return state.take();
  }
}

// The value, or the exception unless an earlier one is there.
template <class T>
void settle(RunningState<T>& state, std::optional<NotVoid<T>>& value, std::exception_ptr& first) {
  try {
    value.emplace(take_value(state));
  } catch (...) {
    if (!first) {
      first = std::current_exception();
    }
  }
}

template <class... T, std::size_t... I>
Task<std::tuple<NotVoid<T>...>> all_of(std::tuple<Task<T>...> tasks, std::index_sequence<I...>) {
  std::tuple<Running<T>...> started{Running<T>(std::move(std::get<I>(tasks)))...};  // braces: left to right
  const std::array<RunningBase*, sizeof...(T)> states{&std::get<I>(started).state()...};
  for (RunningBase* state : states) {
    EndAwaiter ended(*state);
    co_await ended;
  }
  std::tuple<std::optional<NotVoid<T>>...> values;
  std::exception_ptr first;
  (settle(std::get<I>(started).state(), std::get<I>(values), first), ...);
  if (first) {
    std::rethrow_exception(first);
  }
  co_return std::tuple<NotVoid<T>...>(std::move(*std::get<I>(values))...);
}

// True: it has ended at once.
template <class T>
bool start_racer(std::optional<Running<T>>& racer, Task<T>& task, RunningBase*& state) {
  racer.emplace(std::move(task));
  state = &racer->state();
  return state->is_done();
}

template <class... T, std::size_t... I>
Task<std::variant<NotVoid<T>...>> race_of(std::tuple<Task<T>...> tasks, std::index_sequence<I...>) {
  std::tuple<std::optional<Running<T>>...> racers;
  std::array<RunningBase*, sizeof...(T)> states{};
  std::size_t count = 0;
  if (!((++count, start_racer(std::get<I>(racers), std::get<I>(tasks), states[I])) || ...)) {
    FirstEndAwaiter first(states);
    co_await first;
  }
  const std::span<RunningBase* const> started(states.data(), count);
  std::size_t winner = 0;
  while (!started[winner]->is_done()) {
    ++winner;
  }
  for (RunningBase* loser : started) {
    loser->cancel();
  }
  for (RunningBase* loser : started) {
    EndAwaiter ended(*loser);
    co_await ended;
  }
  std::optional<std::variant<NotVoid<T>...>> outcome;
  static_cast<void>(
      ((I == winner && (outcome.emplace(std::in_place_index<I>, take_value(std::get<I>(racers)->state())), true)) ||
       ...));
  co_return std::move(*outcome);
}

}  // namespace detail

// The values as a tuple (monostate for void). If some fail: the exception of the first in argument order, after all
// have ended.
template <Awaitable... A>
auto all(A... awaitables) {
  return detail::all_of(std::tuple<Task<await_result_t<A>>...>{detail::as_task(std::move(awaitables))...},
                        std::index_sequence_for<A...>{});
}

// The outcome of the first that ends: its value as a variant, in which index() says which it was (monostate for void),
// or its exception. The others are cancelled and awaited, and their outcomes dropped; those that stand behind one that
// ends at once are not begun.
template <Awaitable... A>
requires(sizeof...(A) > 0) auto race(A... awaitables) {
  return detail::race_of(std::tuple<Task<await_result_t<A>>...>{detail::as_task(std::move(awaitables))...},
                         std::index_sequence_for<A...>{});
}

}  // namespace ferry
