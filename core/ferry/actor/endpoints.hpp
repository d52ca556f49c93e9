// endpoints<…>: the list of an actor's callable member functions, and what is known about each at compile time.
//
//   static constexpr auto endpoints = ferry::endpoints<&Store::get, &Store::put, ferry::concurrent<&Store::watch>>;
//
// An endpoint takes values (anything wire/codec.hpp encodes) and returns a value, void, or a Task of either. A
// parameter of type StopToken is not sent: it stops when the caller cancels or the actor stops, and what the endpoint
// awaits stops with it; an endpoint without one goes on. Either has the deadline of its call: when that is over, its
// next await ends with timed_out. `concurrent` endpoints may start while another one awaits; they interleave at awaits
// only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include <ferry/base/stop_token.hpp>
#include <ferry/base/task.hpp>
#include <ferry/wire/fingerprint.hpp>
#include <ferry/wire/kinds.hpp>
#include <ferry/wire/symbol_name.hpp>
#include <ferry/wire/type_name.hpp>

namespace ferry {

template <auto Function>
struct ConcurrentEndpoint {};

template <auto Function>
inline constexpr ConcurrentEndpoint<Function> concurrent{};

namespace detail {

template <class T>
struct UnwrapTask {
  using type = T;
  static constexpr bool is_task = false;
};
template <class T>
struct UnwrapTask<Task<T>> {
  using type = T;
  static constexpr bool is_task = true;
};

// Parameter types as they travel: without StopToken, decayed.
template <class... Parameter>
struct WireTuple {
  using type = decltype(std::tuple_cat(
      std::declval<std::conditional_t<std::is_same_v<std::decay_t<Parameter>, StopToken>, std::tuple<>,
                                      std::tuple<std::decay_t<Parameter>>>>()...));
};

template <class T>
inline constexpr bool kTravels = std::is_void_v<T> || (std::is_move_constructible_v<T> &&
                                                       (wire::Coded<T> || std::is_default_constructible_v<T>));

template <class Class, class Return, class... Parameter>
struct EndpointShape {
  using Owner = Class;
  using Result = typename UnwrapTask<Return>::type;           // what the caller gets
  using Arguments = typename WireTuple<Parameter...>::type;   // what the caller sends
  using Parameters = std::tuple<std::decay_t<Parameter>...>;  // with StopTokens
  static constexpr bool is_task = UnwrapTask<Return>::is_task;
  static constexpr bool takes_stop = (... || std::is_same_v<std::decay_t<Parameter>, StopToken>);
  // Whether it can be decoded. Where not, actor_fingerprint() refuses it and the others keep quiet.
  static constexpr bool can_travel = kTravels<std::decay_t<Result>> && (... && kTravels<std::decay_t<Parameter>>);
  static_assert(!std::is_reference_v<Result>, "an endpoint returns a value: references cannot travel");
  static_assert((... &&
                 !(std::is_lvalue_reference_v<Parameter> && !std::is_const_v<std::remove_reference_t<Parameter>>)),
                "an endpoint takes values or const references: a caller elsewhere cannot lend an object");
};

// What the caller gets; nothing where the endpoint is refused.
template <class Called>
using ResultOf = std::conditional_t<Called::can_travel, typename Called::Result, void>;

template <class Function>
struct EndpointShapeOf;
template <class R, class C, class... P>
struct EndpointShapeOf<R (C::*)(P...)> : EndpointShape<C, R, P...> {};
template <class R, class C, class... P>
struct EndpointShapeOf<R (C::*)(P...) const> : EndpointShape<C, R, P...> {};
template <class R, class C, class... P>
struct EndpointShapeOf<R (C::*)(P...) noexcept> : EndpointShape<C, R, P...> {};
template <class R, class C, class... P>
struct EndpointShapeOf<R (C::*)(P...) const noexcept> : EndpointShape<C, R, P...> {};

// One entry of the list: a member function pointer, or one marked concurrent.
template <auto Entry>
struct EndpointEntry {
  static constexpr auto function = Entry;
  static constexpr bool is_concurrent = false;
};
template <auto Function, ConcurrentEndpoint<Function> Entry>
struct ConcurrentEntry {
  static constexpr auto function = Function;
  static constexpr bool is_concurrent = true;
};
template <auto Function>
constexpr auto entry_of(ConcurrentEndpoint<Function>) {
  return ConcurrentEntry<Function, ConcurrentEndpoint<Function>{}>{};
}
template <class F>
constexpr bool is_marked_concurrent(F) {
  return false;
}
template <auto Function>
constexpr bool is_marked_concurrent(ConcurrentEndpoint<Function>) {
  return true;
}
template <auto Entry>
constexpr auto make_entry() {
  if constexpr (is_marked_concurrent(Entry)) {
    return entry_of(Entry);
  } else {
    return EndpointEntry<Entry>{};
  }
}

template <auto A, auto B>
constexpr bool same_function() {
  if constexpr (std::is_same_v<decltype(A), decltype(B)>) {
    return A == B;
  } else {
    return false;
  }
}

template <class... T>
std::string wire_names(std::tuple<T...>*) {
  std::string text;
  ((text += wire::type_name<T>(), text += ','), ...);
  return text;
}

}  // namespace detail

template <class... Entry>
struct EndpointList {
  static constexpr std::size_t size = sizeof...(Entry);

  // Calls f.template operator()<Entry>() for each.
  template <class F>
  static constexpr void for_each(F&& f) {
    (f.template operator()<Entry>(), ...);
  }

  // The number of the endpoint; size if it is not listed.
  template <auto Function>
  static constexpr std::size_t index_of() {
    std::size_t index = 0;
    const bool found = ((detail::same_function<Entry::function, Function>() || (++index, false)) || ...);
    return found ? index : size;
  }
};

template <auto... Entry>
inline constexpr auto endpoints = EndpointList<decltype(detail::make_entry<Entry>())...>{};

// Made of the class's name, its endpoints' names and their wire types: equal on both sides, or a call is refused with
// version_mismatch. Other classes are not concerned, so they can be upgraded one after the other.
template <class T>
std::uint32_t actor_fingerprint() {
  static const std::uint32_t value = [] {
    std::string text(wire::class_name<T>());
    std::remove_cvref_t<decltype(T::endpoints)>::for_each([&text]<class Entry>() {
      using Called = detail::EndpointShapeOf<std::remove_cv_t<decltype(Entry::function)>>;
      static_assert(Called::can_travel,
                    "an endpoint takes and returns what can be moved and has a default constructor or a "
                    "ferry::wire::Codec");
      text += '|';
      text += wire::member_name<Entry::function>();
      text += '(';
      text += detail::wire_names(static_cast<typename Called::Arguments*>(nullptr));
      text += ")->";
      if constexpr (!std::is_void_v<typename Called::Result>) {
        text += wire::type_name<typename Called::Result>();
      }
    });
    return static_cast<std::uint32_t>(wire::fingerprint(text));
  }();
  return value;
}

}  // namespace ferry
