// Kinds: how each C++ type stands on the wire, decided once for the codec and for type names.
//
// Containers are recognised by their shape where including their header would cost every user of ferry.
// Types that ferry cannot send fail a static_assert in SupportedType that says what to use instead.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <ferry/base/strong_id.hpp>

namespace ferry::wire {

// Specialised by types with an encoding of their own; codec.hpp says how.
template <class T>
struct Codec;

template <class T>
concept Coded = requires {
  sizeof(Codec<T>);
};

enum class Kind : std::uint8_t {
  coded,        // Codec<T> decides
  nil,          // std::monostate
  boolean,      // true, false
  integer,      // smallest form
  real,         // float, double
  enumeration,  // its underlying integer
  id,           // StrongId: its representation
  duration,     // its count
  text,         // str
  binary,       // bin
  list,         // std::vector: array
  fixed,        // std::array: array of exactly that many
  set,          // array, no value twice
  map,          // map, no key twice
  tuple,        // std::pair, std::tuple: array of exactly that many
  optional,     // nil or the value
  variant,      // array [index, value]
  aggregate,    // array of its members in order
  unsupported,
};

namespace kinds {

template <class T, template <class...> class Template>
inline constexpr bool is_instance = false;
template <template <class...> class Template, class... Arguments>
inline constexpr bool is_instance<Template<Arguments...>, Template> = true;

template <class T>
inline constexpr bool is_array = false;
template <class T, std::size_t N>
inline constexpr bool is_array<std::array<T, N>> = true;

template <class T>
inline constexpr bool is_id = false;
template <class Tag, class Representation>
inline constexpr bool is_id<StrongId<Tag, Representation>> = true;

template <class T>
inline constexpr bool is_byte_span = false;
template <class T, std::size_t N>
inline constexpr bool is_byte_span<std::span<T, N>> = std::is_same_v<std::remove_const_t<T>, std::byte>;

template <class T>
concept ByteContainer = std::same_as<typename T::value_type, std::byte> && requires(T& bytes, const std::byte* at) {
  bytes.assign(at, at);
  { bytes.data() } -> std::same_as<std::byte*>;
};

template <class T>
concept OwnedText = is_instance<T, std::basic_string> && std::same_as<typename T::value_type, char>;

// Views and pointers to characters: they can be sent as text but not received.
template <class T>
concept TextView = std::same_as<T, std::string_view> || std::same_as < std::decay_t<T>,
char* > || std::same_as<std::decay_t<T>, const char*>;

template <class T>
concept Duration = requires(const T& duration) {
  typename T::period;
  T::period::num;
  T::period::den;
  { duration.count() } -> std::same_as<typename T::rep>;
}
&&std::constructible_from<T, typename T::rep>;

template <class T>
concept Set = std::same_as<typename T::key_type, typename T::value_type> && requires(T& set, typename T::key_type key) {
  set.insert(std::move(key)).second;
};

template <class T>
concept Map = requires(T& map, typename T::key_type key, typename T::mapped_type value) {
  map.emplace(std::move(key), std::move(value)).second;
  map.begin()->second;
};

template <class T>
concept Unordered = requires {
  typename T::hasher;
};

// int and its family, and the characters of a fixed width; not bool, wchar_t, __int128.
template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, wchar_t> && sizeof(T) <= 8;

// Without a fixed underlying type, a received value could be one that the enumeration cannot hold.
template <class T>
concept FixedEnumeration = std::is_enum_v<T> && requires {
  T{0};
};

// Characters are unsigned numbers on every platform.
template <class T>
concept Character =
    std::same_as<T, char> || std::same_as<T, char8_t> || std::same_as<T, char16_t> || std::same_as<T, char32_t>;

template <class T>
inline constexpr bool can_be_nil = std::is_same_v<T, std::monostate> || is_instance<T, std::optional>;

}  // namespace kinds

template <class T>
consteval Kind kind_of() {
  if constexpr (Coded<T>) {
    return Kind::coded;
  } else if constexpr (std::same_as<T, bool>) {
    return Kind::boolean;
  } else if constexpr (kinds::Integer<T>) {
    return Kind::integer;
  } else if constexpr (std::same_as<T, float> || std::same_as<T, double>) {
    return Kind::real;
  } else if constexpr (kinds::FixedEnumeration<T>) {
    return Kind::enumeration;
  } else if constexpr (kinds::is_id<T>) {
    return Kind::id;
  } else if constexpr (kinds::OwnedText<T> || kinds::TextView<T>) {
    return Kind::text;
  } else if constexpr (kinds::ByteContainer<T> || kinds::is_byte_span<T>) {
    return Kind::binary;
  } else if constexpr (kinds::is_instance<T, std::vector>) {
    return Kind::list;
  } else if constexpr (kinds::is_array<T>) {
    return std::same_as<typename T::value_type, std::byte> ? Kind::binary : Kind::fixed;
  } else if constexpr (kinds::is_instance<T, std::pair> || kinds::is_instance<T, std::tuple>) {
    return Kind::tuple;
  } else if constexpr (kinds::is_instance<T, std::optional>) {
    return Kind::optional;
  } else if constexpr (kinds::is_instance<T, std::variant>) {
    return Kind::variant;
  } else if constexpr (std::same_as<T, std::monostate>) {
    return Kind::nil;
  } else if constexpr (kinds::Duration<T>) {
    return Kind::duration;
  } else if constexpr (kinds::Map<T>) {
    return Kind::map;
  } else if constexpr (kinds::Set<T>) {
    return Kind::set;
  } else if constexpr (std::is_class_v<T> && std::is_aggregate_v<T>) {
    return Kind::aggregate;
  } else {
    return Kind::unsupported;
  }
}

template <class T>
inline constexpr Kind kKindOf = kind_of<T>();

// The integer that stands for T on the wire.
template <kinds::Integer T>
using WireInteger =
    typename std::conditional_t<kinds::Character<T>, std::make_unsigned<T>, std::type_identity<T>>::type;

// Instantiated for every type that is encoded, decoded or named.
template <class T>
struct SupportedType {
  static constexpr bool kSupported = kind_of<T>() != Kind::unsupported;
  static_assert(!std::is_reference_v<T>, "ferry sends values: a reference means nothing in another process.");
  static_assert(!std::is_const_v<T> && !std::is_volatile_v<T>, "ferry cannot receive into a const or volatile object.");
  static_assert(kSupported || !std::is_pointer_v<T>,
                "ferry does not send pointers: send the value, an index, or a BufferRef to registered memory.");
  static_assert(kSupported || !std::is_enum_v<T>,
                "ferry sends enumerations with a fixed underlying type only: write `enum class E : std::uint8_t`.");
  static_assert(kSupported || !std::is_array_v<T>, "ferry does not send C arrays: use std::array.");
  static_assert(
      kSupported || !std::is_arithmetic_v<T>,
      "ferry sends integers of at most 64 bits, float and double: long double and wchar_t differ by platform.");
  static_assert(
      kSupported || std::is_pointer_v<T> || std::is_enum_v<T> || std::is_array_v<T> || std::is_arithmetic_v<T>,
      "ferry cannot send this type: make it an aggregate (public members, no constructors, no bases) of types "
      "that it can send, or specialise ferry::wire::Codec for it.");
};

template <class T>
struct SupportedType<std::optional<T>> {
  static_assert(!kinds::can_be_nil<T>, "ferry cannot tell an empty optional from one that holds an empty one.");
  static constexpr bool kSupported = true;
};

// Whether T can be sent. Where it cannot, the compiler has said why by then, and whoever asks adds nothing to that.
template <class T>
inline constexpr bool kIsSupported = SupportedType<T>::kSupported&& std::is_same_v<T, std::remove_cvref_t<T>>;

}  // namespace ferry::wire
