#include <ferry/wire/encoder.hpp>

#include <algorithm>
#include <limits>

#include <ferry/wire/endian.hpp>

namespace ferry::wire {
namespace {

template <class T>
constexpr bool fits(std::uint64_t value) noexcept {
  return value <= std::numeric_limits<T>::max();
}

}  // namespace

template <class T>
void Encoder::marked(std::uint8_t mark, T value) {
  std::byte* to = out_.extend(1 + sizeof value);
  *to = std::byte{mark};
  store_big(to + 1, value);
}

void Encoder::large_unsigned(std::uint64_t value) {
  if (fits<std::uint8_t>(value)) {
    marked(marker::kUint8, static_cast<std::uint8_t>(value));
  } else if (fits<std::uint16_t>(value)) {
    marked(marker::kUint8 + 1, static_cast<std::uint16_t>(value));
  } else if (fits<std::uint32_t>(value)) {
    marked(marker::kUint8 + 2, static_cast<std::uint32_t>(value));
  } else {
    marked(marker::kUint8 + 3, value);
  }
}

void Encoder::negative(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  if (value >= -32) {
    byte(static_cast<std::uint8_t>(bits));
  } else if (value >= std::numeric_limits<std::int8_t>::min()) {
    marked(marker::kInt8, static_cast<std::uint8_t>(bits));
  } else if (value >= std::numeric_limits<std::int16_t>::min()) {
    marked(marker::kInt8 + 1, static_cast<std::uint16_t>(bits));
  } else if (value >= std::numeric_limits<std::int32_t>::min()) {
    marked(marker::kInt8 + 2, static_cast<std::uint32_t>(bits));
  } else {
    marked(marker::kInt8 + 3, bits);
  }
}

void Encoder::float32(float value) {
  marked(marker::kFloat32, std::bit_cast<std::uint32_t>(value));
}
void Encoder::float64(double value) {
  marked(marker::kFloat64, std::bit_cast<std::uint64_t>(value));
}

void Encoder::length(std::size_t count, std::uint8_t mark16, bool has8) {
  if (has8 && fits<std::uint8_t>(count)) {
    marked(static_cast<std::uint8_t>(mark16 - 1), static_cast<std::uint8_t>(count));
  } else if (fits<std::uint16_t>(count)) {
    marked(mark16, static_cast<std::uint16_t>(count));
  } else {
    const std::size_t most = std::numeric_limits<std::uint32_t>::max();
    marked(static_cast<std::uint8_t>(mark16 + 1), static_cast<std::uint32_t>(std::min(count, most)));
  }
}

void Encoder::string(std::string_view text) {
  if (text.size() < 32) {
    byte(static_cast<std::uint8_t>(marker::kFixStr + text.size()));
  } else {
    length(text.size(), marker::kStr8 + 1, true);
  }
  encoded(as_bytes(text));
}

void Encoder::binary(ByteView bytes) {
  length(bytes.size(), marker::kBin8 + 1, true);
  encoded(bytes);
}

void Encoder::ext(std::int8_t type, ByteView bytes) {
  if (std::has_single_bit(bytes.size()) && bytes.size() <= 16) {
    byte(static_cast<std::uint8_t>(marker::kFixExt1 + std::countr_zero(bytes.size())));
  } else {
    length(bytes.size(), marker::kExt8 + 1, true);
  }
  byte(static_cast<std::uint8_t>(type));
  encoded(bytes);
}

void Encoder::begin_array(std::size_t count) {
  if (count < 16) {
    byte(static_cast<std::uint8_t>(marker::kFixArray + count));
  } else {
    length(count, marker::kArray16, false);
  }
}

void Encoder::begin_map(std::size_t pairs) {
  if (pairs < 16) {
    byte(static_cast<std::uint8_t>(marker::kFixMap + pairs));
  } else {
    length(pairs, marker::kMap16, false);
  }
}

void Encoder::encoded(ByteView values) {
  std::copy(values.begin(), values.end(), extend(out_, values.size()));
}

}  // namespace ferry::wire
