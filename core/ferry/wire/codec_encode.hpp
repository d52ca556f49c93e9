// Encoding each kind of kinds.hpp: the bodies of codec.hpp's encode, which includes this last; nothing else does.
#pragma once

#include <ferry/wire/codec.hpp>

namespace ferry::wire {
namespace codec {

template <class Tuple>
void encode_members(Encoder& encoder, const Tuple& members) {
  encoder.begin_array(std::tuple_size_v<Tuple>);
  std::apply([&encoder](const auto&... member) { (wire::encode(encoder, member), ...); }, members);
}

inline std::string_view text_of(std::string_view text) noexcept {
  return text;
}
// A null pointer is the empty text.
inline std::string_view text_of(const char* text) noexcept {
  return text == nullptr ? "" : std::string_view(text);
}

template <class T>
void encode_range(Encoder& encoder, const T& range) {
  encoder.begin_array(range.size());
  for (const auto& element : range) {
    wire::encode<typename T::value_type>(encoder, element);
  }
}

template <class T>
void encode_set(Encoder& encoder, const T& set) {
  if constexpr (kinds::Unordered<T>) {
    encoder.begin_array(set.size());
    SortedEntries entries;
    for (const auto& key : set) {
      entries.begin();
      wire::encode(entries.encoder(), key);
      entries.key_done();
    }
    entries.move_to(encoder);
  } else {
    encode_range(encoder, set);
  }
}

template <class T>
void encode_map(Encoder& encoder, const T& map) {
  encoder.begin_map(map.size());
  if constexpr (kinds::Unordered<T>) {
    SortedEntries entries;
    for (const auto& [key, value] : map) {
      entries.begin();
      wire::encode(entries.encoder(), key);
      entries.key_done();
      wire::encode(entries.encoder(), value);
    }
    entries.move_to(encoder);
  } else {
    for (const auto& [key, value] : map) {
      wire::encode(encoder, key);
      wire::encode(encoder, value);
    }
  }
}

}  // namespace codec

template <class T>
void encode(Encoder& encoder, const T& value) {
  constexpr Kind kThis = kKindOf<T>;
  if constexpr (!kIsSupported<T>) {
    return;
  } else if constexpr (kThis == Kind::coded) {
    Codec<T>::encode(encoder, value);
  } else if constexpr (kThis == Kind::nil) {
    encoder.nil();
  } else if constexpr (kThis == Kind::boolean) {
    encoder.boolean(value);
  } else if constexpr (kThis == Kind::integer) {
    const auto number = static_cast<WireInteger<T>>(value);
    if constexpr (std::is_signed_v<WireInteger<T>>) {
      encoder.signed_integer(number);
    } else {
      encoder.unsigned_integer(number);
    }
  } else if constexpr (kThis == Kind::real) {
    if constexpr (std::is_same_v<T, float>) {
      encoder.float32(value);
    } else {
      encoder.float64(value);
    }
  } else if constexpr (kThis == Kind::enumeration) {
    wire::encode(encoder, static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (kThis == Kind::id) {
    wire::encode(encoder, value.value());
  } else if constexpr (kThis == Kind::duration) {
    wire::encode(encoder, value.count());
  } else if constexpr (kThis == Kind::text) {
    encoder.string(codec::text_of(value));
  } else if constexpr (kThis == Kind::binary) {
    encoder.binary(ByteView(value.data(), value.size()));
  } else if constexpr (kThis == Kind::list || kThis == Kind::fixed) {
    codec::encode_range(encoder, value);
  } else if constexpr (kThis == Kind::set) {
    codec::encode_set(encoder, value);
  } else if constexpr (kThis == Kind::map) {
    codec::encode_map(encoder, value);
  } else if constexpr (kThis == Kind::tuple) {
    codec::encode_members(encoder, value);
  } else if constexpr (kThis == Kind::optional) {
    if (value) {
      wire::encode(encoder, *value);
    } else {
      encoder.nil();
    }
  } else if constexpr (kThis == Kind::variant) {
    encoder.begin_array(2);
    encoder.unsigned_integer(value.index());
    std::visit([&encoder](const auto& alternative) { wire::encode(encoder, alternative); }, value);
  } else if constexpr (kThis == Kind::aggregate) {
    if constexpr (aggregate::Check<T>::kGood) {
      codec::encode_members(encoder, aggregate::members_of(value));
    }
  }
}

}  // namespace ferry::wire
