// Decoding each kind of kinds.hpp: the bodies of codec.hpp's decode, which includes this last; nothing else does.
#pragma once

#include <algorithm>

#include <ferry/wire/codec.hpp>

namespace ferry::wire {
namespace codec {

template <class T>
consteval std::size_t min_size();

template <class Tuple>
inline constexpr std::size_t kMinSizeOfAll = 0;
template <class... Members>
inline constexpr std::size_t kMinSizeOfAll<std::tuple<Members...>> = (std::size_t{0} + ... + min_size<Members>());
template <class First, class Second>
inline constexpr std::size_t kMinSizeOfAll<std::pair<First, Second>> = min_size<First>() + min_size<Second>();

// A lower bound of the bytes that any value of T takes; what Decoder::claim is told.
template <class T>
consteval std::size_t min_size() {
  if constexpr (kKindOf<T> == Kind::coded) {
    if constexpr (requires { Codec<T>::kMinSize; }) {
      static_assert(Codec<T>::kMinSize > 0, "a value on the wire takes at least one byte");
      return Codec<T>::kMinSize;
    } else {
      return 1;
    }
  } else if constexpr (kKindOf<T> == Kind::real) {
    return 5;
  } else if constexpr (kKindOf<T> == Kind::variant) {
    return 3;
  } else if constexpr (kinds::is_array<T>) {
    return kKindOf<T> == Kind::binary ? 2 + std::tuple_size_v<T>
                                      : 1 + std::tuple_size_v<T> * min_size<typename T::value_type>();
  } else if constexpr (kKindOf<T> == Kind::tuple) {
    return 1 + kMinSizeOfAll<T>;
  } else if constexpr (kKindOf<T> == Kind::aggregate) {
    return 1 + kMinSizeOfAll<typename aggregate::MemberTypes<T>::type>;
  } else {
    return 1;
  }
}

template <class Tuple>
bool decode_members(Decoder& decoder, Tuple&& members) {
  constexpr std::size_t kCount = std::tuple_size_v<std::remove_reference_t<Tuple>>;
  if (!decoder.begin_array_of(kCount) ||
      !std::apply([&decoder](auto&... member) { return (wire::decode_into(decoder, member) && ...); }, members)) {
    return false;
  }
  decoder.end();
  return true;
}

template <class T>
bool decode_fixed(Decoder& decoder, T& out) {
  if (!decoder.begin_array_of(std::tuple_size_v<T>)) {
    return false;
  }
  for (auto& element : out) {
    if (!wire::decode_into(decoder, element)) {
      return false;
    }
  }
  decoder.end();
  return true;
}

template <class T>
bool decode_list(Decoder& decoder, T& out) {
  using Element = typename T::value_type;
  constexpr std::size_t kMinimum = min_size<Element>();
  out.clear();
  std::uint32_t count = 0;
  if (!decoder.begin_array(count) || !decoder.claim(count, kMinimum)) {
    return false;
  }
  out.reserve(count);
  for (; count > 0; --count) {
    decoder.release(kMinimum);
    if constexpr (kKindOf<Element> == Kind::coded || std::is_same_v<Element, bool>) {
      Result<Element> element = wire::decode<Element>(decoder);
      if (!element) {
        return false;
      }
      out.push_back(std::move(*element));
    } else if (!wire::decode_into(decoder, out.emplace_back())) {
      return false;
    }
  }
  decoder.end();
  return true;
}

template <class T>
bool decode_set(Decoder& decoder, T& out) {
  using Key = typename T::key_type;
  constexpr std::size_t kMinimum = min_size<Key>();
  out.clear();
  std::uint32_t count = 0;
  if (!decoder.begin_array(count) || !decoder.claim(count, kMinimum)) {
    return false;
  }
  for (; count > 0; --count) {
    decoder.release(kMinimum);
    Result<Key> key = wire::decode<Key>(decoder);
    if (!key) {
      return false;
    }
    if (!out.insert(std::move(*key)).second) {
      return decoder.fail("a set holds a value twice");
    }
  }
  decoder.end();
  return true;
}

template <class T>
bool decode_map(Decoder& decoder, T& out) {
  using Key = typename T::key_type;
  using Mapped = typename T::mapped_type;
  constexpr std::size_t kMinimum = min_size<Key>() + min_size<Mapped>();
  out.clear();
  std::uint32_t pairs = 0;
  if (!decoder.begin_map(pairs) || !decoder.claim(pairs, kMinimum)) {
    return false;
  }
  for (; pairs > 0; --pairs) {
    decoder.release(kMinimum);
    Result<Key> key = wire::decode<Key>(decoder);
    if (!key) {
      return false;
    }
    Result<Mapped> value = wire::decode<Mapped>(decoder);
    if (!value) {
      return false;
    }
    if (!out.emplace(std::move(*key), std::move(*value)).second) {
      return decoder.fail("a map holds a key twice");
    }
  }
  decoder.end();
  return true;
}

template <std::size_t Index, class T>
bool decode_alternative(Decoder& decoder, T& out) {
  using Alternative = std::variant_alternative_t<Index, T>;
  if constexpr (kKindOf<Alternative> == Kind::coded) {
    Result<Alternative> value = wire::decode<Alternative>(decoder);
    if (value) {
      out.template emplace<Index>(std::move(*value));
    }
    return value.has_value();
  } else {
    return wire::decode_into(decoder, out.template emplace<Index>());
  }
}

template <class T>
bool decode_variant(Decoder& decoder, T& out) {
  constexpr std::size_t kCount = std::variant_size_v<T>;
  std::uint32_t index = 0;
  if (!decoder.begin_array_of(2) || !decoder.read_integer(index)) {
    return false;
  }
  if (index >= kCount) {
    return decoder.fail("the index of a variant is beyond its alternatives");
  }
  const bool complete = [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    return ((index == Index && decode_alternative<Index>(decoder, out)) || ...);
  }
  (std::make_index_sequence<kCount>{});
  decoder.end();
  return complete;
}

template <class T>
bool decode_optional(Decoder& decoder, T& out) {
  using Value = typename T::value_type;
  if (decoder.next_is_nil()) {
    out.reset();
    return decoder.read_nil();
  }
  if constexpr (kKindOf<Value> == Kind::coded) {
    Result<Value> value = wire::decode<Value>(decoder);
    if (value) {
      out.emplace(std::move(*value));
    }
    return value.has_value();
  } else {
    return wire::decode_into(decoder, out.emplace());
  }
}

template <class T>
bool decode_binary(Decoder& decoder, T& out) {
  ByteView bytes;
  if (!decoder.read_binary(bytes)) {
    return false;
  }
  if constexpr (kinds::is_array<T>) {
    if (bytes.size() != out.size()) {
      return decoder.fail("binary of another length than the array of bytes that it is for");
    }
    std::copy(bytes.begin(), bytes.end(), out.begin());
  } else {
    out.assign(bytes.data(), bytes.data() + bytes.size());
  }
  return true;
}

template <class T>
bool decode_real(Decoder& decoder, T& out) {
  if constexpr (std::is_same_v<T, float>) {
    return decoder.read_float32(out);
  } else {
    return decoder.read_float64(out);
  }
}

template <class Value, class T, class Make>
bool decode_through(Decoder& decoder, T& out, Make make) {
  Value value{};
  if (!wire::decode_into(decoder, value)) {
    return false;
  }
  out = make(value);
  return true;
}

}  // namespace codec

template <class T>
bool decode_into(Decoder& decoder, T& out) {
  constexpr Kind kThis = kKindOf<T>;
  static_assert(!kinds::TextView<T>, "ferry cannot receive a view of text: use std::string.");
  static_assert(!kinds::is_byte_span<T>, "ferry cannot receive a view of bytes: use std::vector<std::byte>.");
  if constexpr (!kIsSupported<T> || kinds::TextView<T> || kinds::is_byte_span<T>) {
    return false;
  } else if constexpr (kThis == Kind::coded) {
    Result<T> value = Codec<T>::decode(decoder);
    if (!value) {
      return decoder.fail(value.error());
    }
    out = std::move(*value);
    return true;
  } else if constexpr (kThis == Kind::nil) {
    return decoder.read_nil();
  } else if constexpr (kThis == Kind::boolean) {
    return decoder.read_boolean(out);
  } else if constexpr (kThis == Kind::integer) {
    WireInteger<T> number = 0;
    const bool fits = decoder.read_integer(number);
    out = static_cast<T>(number);
    return fits;
  } else if constexpr (kThis == Kind::real) {
    return codec::decode_real(decoder, out);
  } else if constexpr (kThis == Kind::enumeration) {
    return codec::decode_through<std::underlying_type_t<T>>(decoder, out, [](auto value) { return T{value}; });
  } else if constexpr (kThis == Kind::id) {
    return codec::decode_through<typename T::representation>(decoder, out, [](auto value) { return T(value); });
  } else if constexpr (kThis == Kind::duration) {
    return codec::decode_through<typename T::rep>(decoder, out, [](auto value) { return T(value); });
  } else if constexpr (kThis == Kind::text) {
    std::string_view text;
    if (!decoder.read_string(text)) {
      return false;
    }
    out.assign(text);
    return true;
  } else if constexpr (kThis == Kind::binary) {
    return codec::decode_binary(decoder, out);
  } else if constexpr (kThis == Kind::list) {
    return codec::decode_list(decoder, out);
  } else if constexpr (kThis == Kind::fixed) {
    return codec::decode_fixed(decoder, out);
  } else if constexpr (kThis == Kind::set) {
    return codec::decode_set(decoder, out);
  } else if constexpr (kThis == Kind::map) {
    return codec::decode_map(decoder, out);
  } else if constexpr (kThis == Kind::tuple) {
    return codec::decode_members(decoder, out);
  } else if constexpr (kThis == Kind::optional) {
    return codec::decode_optional(decoder, out);
  } else if constexpr (kThis == Kind::variant) {
    return codec::decode_variant(decoder, out);
  } else if constexpr (kThis == Kind::aggregate) {
    if constexpr (aggregate::Check<T>::kGood) {
      return codec::decode_members(decoder, aggregate::members_of(out));
    } else {
      return false;
    }
  }
}

template <class T>
Result<T> decode(Decoder& decoder) {
  if constexpr (Coded<T>) {
    Result<T> value = Codec<T>::decode(decoder);
    if (!value) {
      decoder.fail(value.error());
    }
    return value;
  } else {
    static_assert(std::is_default_constructible_v<T>,
                  "ferry decodes in place: give the type a default constructor, or specialise ferry::wire::Codec.");
    if constexpr (std::is_default_constructible_v<T>) {
      T value{};
      if (wire::decode_into(decoder, value)) {
        return Result<T>(std::move(value));
      }
    }
    return decoder.failure();
  }
}

}  // namespace ferry::wire
