// Reader: fixed-width little-endian fields out of bytes that a peer may have chosen freely.
//
// Never reads outside of its bytes. Failure is sticky: the first read that does not fit, and every read after it,
// gives zero (or an empty view), so a header is read field by field and checked once at the end:
//
//   Reader reader(bytes);
//   header.length = reader.u32();
//   header.kind = reader.u8();
//   if (auto complete = reader.finish("frame header"); !complete) return complete.error();
//
// Does not own the bytes; one thread at a time. No allocation except for the text of a failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ferry/base/result.hpp>
#include <ferry/wire/bytes.hpp>
#include <ferry/wire/endian.hpp>

namespace ferry::wire {

class Reader {
 public:
  explicit Reader(ByteView bytes) noexcept : bytes_(bytes) {}

  std::uint8_t u8() noexcept { return number<std::uint8_t>(); }
  std::uint16_t u16() noexcept { return number<std::uint16_t>(); }
  std::uint32_t u32() noexcept { return number<std::uint32_t>(); }
  std::uint64_t u64() noexcept { return number<std::uint64_t>(); }

  // The next `count` bytes, a view into the input.
  ByteView raw(std::size_t count) noexcept {
    const std::byte* from = take(count);
    return from == nullptr ? ByteView{} : ByteView(from, count);
  }

  bool ok() const noexcept { return ok_; }
  std::size_t offset() const noexcept { return offset_; }  // bytes read so far; where the failing read began
  std::size_t remaining() const noexcept { return ok_ ? bytes_.size() - offset_ : 0; }

  // malformed, naming `what` and the numbers, if a read did not fit.
  Result<void> check(std::string_view what) const;
  // The same, and malformed also if bytes are left.
  Result<void> finish(std::string_view what) const;

 private:
  template <class T>
  T number() noexcept {
    const std::byte* from = take(sizeof(T));
    return from == nullptr ? T{} : load_little<T>(from);
  }

  const std::byte* take(std::size_t count) noexcept {
    if (!ok_ || count > bytes_.size() - offset_) {
      needed_ = ok_ ? count : needed_;
      ok_ = false;
      return nullptr;
    }
    const std::byte* from = bytes_.data() + offset_;
    offset_ += count;
    return from;
  }

  ByteView bytes_;
  std::size_t offset_ = 0;
  std::size_t needed_ = 0;  // what the failing read asked for
  bool ok_ = true;
};

}  // namespace ferry::wire
