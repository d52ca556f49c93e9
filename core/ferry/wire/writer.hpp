// Writer: appends fixed-width little-endian fields to a Bytes; the other half of Reader.
//
// Does not own the buffer; one thread at a time. Allocates only when the buffer has to grow past what stands inside.
#pragma once

#include <cstdint>

#include <ferry/wire/bytes.hpp>
#include <ferry/wire/endian.hpp>

namespace ferry::wire {

class Writer {
 public:
  explicit Writer(Bytes& out) noexcept : out_(out) {}

  void u8(std::uint8_t value) { number(value); }
  void u16(std::uint16_t value) { number(value); }
  void u32(std::uint32_t value) { number(value); }
  void u64(std::uint64_t value) { number(value); }

  // `bytes` must not be a view of the buffer itself.
  void raw(ByteView bytes) { out_.append(bytes); }

 private:
  template <class T>
  void number(T value) {
    store_little(out_.extend(sizeof(T)), value);
  }

  Bytes& out_;
};

}  // namespace ferry::wire
