// Codec: values of C++ types as MessagePack, straight into and out of typed objects.
//
//   encode(bytes, value)       appends               decode<T>(bytes)    the only value in there
//   encode(encoder, value)     one value of several  decode<T>(decoder)  the next value of several
//
// kinds.hpp lists the types. A type with an encoding of its own specialises Codec, beside its definition:
//
//   template <>
//   struct ferry::wire::Codec<Mass> {
//     static constexpr std::string_view kName = "mass";  // in type names; other programs check it
//     static constexpr std::size_t kMinSize = 5;         // optional: least bytes of one value, 1 if absent
//     static void encode(Encoder& encoder, const Mass& mass);        // exactly one value
//     static Result<Mass> decode(Decoder& decoder);                  // that value again
//   };
//
// Received bytes may be anything: a failure is errc::malformed with what was expected, what was found and where. Memory
// taken while decoding is at most the size of the input times the worst ratio, among the types in T, of a value's size
// in memory to its least size on the wire. The same value always gives the same bytes: unordered containers are sorted
// by their encoded keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <ferry/base/result.hpp>
#include <ferry/wire/aggregate.hpp>
#include <ferry/wire/bytes.hpp>
#include <ferry/wire/decoder.hpp>
#include <ferry/wire/encoder.hpp>
#include <ferry/wire/kinds.hpp>
#include <ferry/wire/sorted_entries.hpp>

namespace ferry::wire {

template <class T>
void encode(Encoder& encoder, const T& value);

// The next value. A type without a Codec of its own must be default-constructible: it is decoded in place.
template <class T>
Result<T> decode(Decoder& decoder);

// The same into an object that exists; its old value is lost also on failure, which decoder.failure() explains.
template <class T>
bool decode_into(Decoder& decoder, T& out);

template <class T>
void encode(Bytes& out, const T& value) {
  Encoder encoder(out);
  wire::encode(encoder, value);
}

template <class T>
Result<T> decode(ByteView bytes, void* context = nullptr) {
  Decoder decoder(bytes, context);
  Result<T> value = wire::decode<T>(decoder);
  if (value && !decoder.finish()) {
    return decoder.failure();
  }
  return value;
}

}  // namespace ferry::wire

#include <ferry/wire/codec_decode.hpp>
#include <ferry/wire/codec_encode.hpp>
