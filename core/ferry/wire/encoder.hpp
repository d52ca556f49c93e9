// Encoder: appends MessagePack values to a Bytes, each in its smallest form. Types are codec.hpp's business, not its
// own.
//
// An array or map is a count followed by that many values (pairs of values); nothing checks that they follow.
// Does not own the buffer; one thread at a time; allocates only to grow the buffer.
// Encoding cannot fail: a count or length above 2^32-1 needs more bytes than a frame can have, so that the frame's
// limit rejects it before it is sent.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include <ferry/wire/bytes.hpp>
#include <ferry/wire/messagepack.hpp>

namespace ferry::wire {

class Encoder {
 public:
  explicit Encoder(Bytes& out) noexcept : out_(out) {}
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  void nil() { byte(marker::kNil); }
  void boolean(bool value) { byte(value ? marker::kTrue : marker::kFalse); }
  void unsigned_integer(std::uint64_t value) {
    if (value <= marker::kPositiveLast) {
      byte(static_cast<std::uint8_t>(value));
    } else {
      large_unsigned(value);
    }
  }
  void signed_integer(std::int64_t value) {
    if (value >= 0) {
      unsigned_integer(static_cast<std::uint64_t>(value));
    } else {
      negative(value);
    }
  }
  void float32(float value);
  void float64(double value);
  void string(std::string_view text);
  void binary(ByteView bytes);
  // type: 0…31 are ferry's own, 32…127 are free for users, negative ones are MessagePack's.
  void ext(std::int8_t type, ByteView bytes);
  void begin_array(std::size_t count);
  void begin_map(std::size_t pairs);
  // Bytes that are already encoded values; not a view of the buffer itself.
  void encoded(ByteView values);

 private:
  void byte(std::uint8_t value) { out_.push_back(std::byte{value}); }
  void large_unsigned(std::uint64_t value);
  void negative(std::int64_t value);
  template <class T>
  void marked(std::uint8_t mark, T value);
  // A length with the markers of 8 (if there is one), 16 and 32 bits, which stand in a row.
  void length(std::size_t count, std::uint8_t mark16, bool has8);

  Bytes& out_;
};

}  // namespace ferry::wire
