// Aggregates: the members of a plain struct as a tuple of references, by Boost.PFR.
//
// Boost.PFR counts a member `int a[3]` as three, and a base class as a member; both fail a static_assert here.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <boost/pfr/core.hpp>
#include <boost/pfr/tuple_size.hpp>

namespace ferry::wire::aggregate {

// Stands for a value of any type in an unevaluated braced list.
template <std::size_t>
struct Anything {
  template <class T>
  operator T&() const& noexcept;
  template <class T>
  operator T&&() const&& noexcept;
};

template <class T>
struct AnyBaseOf {
  template <class Base>
  requires(std::is_base_of_v<Base, T> && !std::is_same_v<Base, T>) constexpr operator Base() const noexcept;
};

template <class T>
consteval bool has_base() {
  return requires {
    T{AnyBaseOf<T>{}};
  };
}

// A list in which `{}` stands for member `Index`, followed by as many members as would be left if that were one of
// `Count`. It takes all elements of a C array, so that those that follow are then too many.
template <class T, std::size_t Count, std::size_t Index>
consteval bool is_c_array() {
  return
      []<std::size_t... Before, std::size_t... After>(std::index_sequence<Before...>, std::index_sequence<After...>) {
    return requires {
      T{Anything<Before>{}..., {}};
    }
    &&!requires {
      T{Anything<Before>{}..., {}, Anything<After>{}...};
    };
  }
  (std::make_index_sequence<Index>{}, std::make_index_sequence<Count - Index - 1>{});
}

template <class T>
consteval bool has_c_array() {
  constexpr std::size_t kCount = boost::pfr::tuple_size_v<T>;
  return []<std::size_t... Index>(std::index_sequence<Index...>) {
    return (is_c_array<T, kCount, Index>() || ...);
  }
  (std::make_index_sequence<kCount>{});
}

template <class T>
struct Check {
  static_assert(!has_base<T>(), "ferry cannot send a struct with a base class: make the base its first member.");
  static_assert(has_base<T>() || !has_c_array<T>(), "ferry cannot send a struct with a C array in it: use std::array.");
  static constexpr bool kGood = !has_base<T>() && !has_c_array<T>();
};

// A tuple of references to the members, in order.
template <class T>
constexpr auto members_of(T& value) noexcept {
  if constexpr (std::is_empty_v<T>) {
    return std::tuple<>{};
  } else {
    return boost::pfr::structure_tie(value);
  }
}

// std::tuple<Member…>
template <class T>
struct MemberTypes {
  template <class... Member>
  static std::tuple<std::remove_cvref_t<Member>...> plain(std::tuple<Member...>);
  using type = decltype(plain(members_of(std::declval<T&>())));
};

}  // namespace ferry::wire::aggregate
