// Decoder: takes MessagePack values out of bytes that a peer may have chosen freely. Types are codec.hpp's business.
//
// Every read_… and begin_… returns false if the bytes do not hold what was asked for; failure() then says what was
// expected, what was found and at which byte. Failure is sticky: the first one stays and every later read fails too.
// Never reads outside of its bytes, never recurses, allocates nothing but the text of a failure. Strings and binary are
// given as views into the input. Does not own the input; one thread at a time.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <ferry/base/result.hpp>
#include <ferry/wire/bytes.hpp>
#include <ferry/wire/messagepack.hpp>

namespace ferry::wire {

class Decoder {
 public:
  struct Ext {
    std::int8_t type;
    ByteView bytes;
  };

  // context: what decoded references need to find their node; opaque here, handed to every Codec<T> by context().
  explicit Decoder(ByteView bytes, void* context = nullptr) noexcept
      : begin_(bytes.data()), at_(bytes.data()), end_(bytes.data() + bytes.size()), context_(context) {}
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  bool read_nil();
  bool read_boolean(bool& out);
  // Any integer form is accepted if the value fits T.
  template <std::integral T>
  bool read_integer(T& out);
  // Both float forms are accepted. A float64 for a float32 is rounded; above float32's range it is malformed.
  bool read_float32(float& out);
  bool read_float64(double& out);
  bool read_string(std::string_view& out);
  bool read_binary(ByteView& out);
  bool read_ext(Ext& out);
  bool read_ext(std::int8_t type, ByteView& out);

  // An array (map) of any count that the remaining bytes can hold, or of exactly `count`. The values follow, then
  // end().
  bool begin_array(std::uint32_t& count);
  bool begin_array_of(std::uint32_t count);
  bool begin_map(std::uint32_t& pairs);
  void end() noexcept { --depth_; }

  // Passes over one value of any kind with everything in it.
  bool skip();
  // True if nothing is left: trailing bytes are malformed.
  bool finish();

  bool next_is_nil() const noexcept { return at_ != end_ && *at_ == std::byte{marker::kNil}; }

  // Keeps enclosing counts honest: `count` more values of at least `minimum` bytes each must be there, not counting
  // what other values in progress still need; each is released just before it is read. Memory reserved for claimed
  // values is so bounded by the size of the input, however counts nest.
  bool claim(std::uint32_t count, std::size_t minimum);
  void release(std::size_t minimum) noexcept { claimed_ -= minimum; }

  // For a Codec that dislikes a value that it has read: malformed with this text, which should name type and value.
  bool fail(std::string_view text);
  bool fail(const Failure& failure);

  bool failed() const noexcept { return failure_.has_value(); }
  const Failure& failure() const noexcept { return *failure_; }  // only if failed()
  std::size_t offset() const noexcept { return static_cast<std::size_t>(at_ - begin_); }
  std::size_t remaining() const noexcept { return static_cast<std::size_t>(end_ - at_); }
  void* context() const noexcept { return context_; }

 private:
  bool read_integer_between(std::int64_t lowest, std::uint64_t highest, std::string_view name, std::uint64_t& bits);
  bool read_content(Head::Kind kind, std::string_view expected, Head& head, ByteView& out);
  bool begin(Head::Kind kind, std::string_view expected, std::uint32_t& count);
  bool begin_nested();
  bool fail_expecting(std::string_view expected);
  Head head() const noexcept { return parse_head(at_, end_); }

  const std::byte* begin_;
  const std::byte* at_;
  const std::byte* end_;
  void* context_;
  std::uint64_t claimed_ = 0;  // bytes that counts read so far still need
  std::uint32_t depth_ = 0;
  std::optional<Failure> failure_;
};

template <std::integral T>
bool Decoder::read_integer(T& out) {
  if (at_ != end_ && static_cast<std::uint8_t>(*at_) <= marker::kPositiveLast) {
    out = static_cast<T>(*at_++);
    return true;
  }
  std::uint64_t bits = 0;
  const bool fits =
      read_integer_between(static_cast<std::int64_t>(std::numeric_limits<T>::min()),
                           static_cast<std::uint64_t>(std::numeric_limits<T>::max()), integer_name<T>(), bits);
  out = static_cast<T>(bits);
  return fits;
}

}  // namespace ferry::wire
