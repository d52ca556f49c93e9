// The constants of MessagePack (https://github.com/msgpack/msgpack/blob/master/spec.md), and the head of one value.
//
// A value is a marker byte, then for some markers a big-endian number (the value itself, or a length), then for
// strings, binary and ext the content. Encoder writes it, parse_head reads it; nothing else in ferry knows these
// numbers.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ferry::wire {

// Values nest at most this deep. A peer's bytes must not decide how much stack decoding takes.
inline constexpr std::uint32_t kDepthLimit = 64;

namespace marker {

inline constexpr std::uint8_t kPositiveLast = 0x7f;  // 0x00…0x7f: the integer itself
inline constexpr std::uint8_t kFixMap = 0x80;        // … 0x8f: map of 0…15 entries
inline constexpr std::uint8_t kFixArray = 0x90;      // … 0x9f: array of 0…15 values
inline constexpr std::uint8_t kFixStr = 0xa0;        // … 0xbf: string of 0…31 bytes
inline constexpr std::uint8_t kNil = 0xc0;
inline constexpr std::uint8_t kNeverUsed = 0xc1;
inline constexpr std::uint8_t kFalse = 0xc2;
inline constexpr std::uint8_t kTrue = 0xc3;
inline constexpr std::uint8_t kBin8 = 0xc4;  // then 16, 32
inline constexpr std::uint8_t kExt8 = 0xc7;  // then 16, 32
inline constexpr std::uint8_t kFloat32 = 0xca;
inline constexpr std::uint8_t kFloat64 = 0xcb;
inline constexpr std::uint8_t kUint8 = 0xcc;          // then 16, 32, 64
inline constexpr std::uint8_t kInt8 = 0xd0;           // then 16, 32, 64
inline constexpr std::uint8_t kFixExt1 = 0xd4;        // then 2, 4, 8, 16
inline constexpr std::uint8_t kStr8 = 0xd9;           // then 16, 32
inline constexpr std::uint8_t kArray16 = 0xdc;        // then 32
inline constexpr std::uint8_t kMap16 = 0xde;          // then 32
inline constexpr std::uint8_t kNegativeFirst = 0xe0;  // … 0xff: the integer -32…-1

}  // namespace marker

struct Head {
  enum class Kind : std::uint8_t {
    nil,
    boolean,   // number is 0 or 1
    positive,  // number is the value
    negative,  // number is the value as two's complement
    float32,   // number has the bits
    float64,
    string,  // number is the length in bytes, as for binary and ext
    binary,
    ext,
    array,    // number is the count
    map,      // number is the count of pairs
    invalid,  // the marker that is never used
    cut,      // the bytes end inside the head, or before it
  };

  Kind kind = Kind::cut;
  std::uint8_t size = 0;  // bytes of the head itself
  std::int8_t ext_type = 0;
  std::uint64_t number = 0;
};

// The head of the value that starts at `from`. Looks at no byte outside [from, end).
Head parse_head(const std::byte* from, const std::byte* end) noexcept;

// The wire's names of integers: "u8" … "i64".
template <std::integral T>
constexpr std::string_view integer_name() noexcept {
  constexpr bool kSigned = T(-1) < T(0);
  constexpr std::string_view kNames[] = {"u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64"};
  constexpr std::size_t kIndex = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
  return kNames[kIndex + (kSigned ? 4 : 0)];
}

}  // namespace ferry::wire
