// Types of every kind that the codec knows, for the tests of wire/, and bytes as text.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include <ferry/wire/codec.hpp>
#include <ferry/wire/endian.hpp>

namespace samples {

enum class Color : std::uint8_t { red, green, blue };
enum class Balance : std::int64_t { debt = -1, none = 0 };
enum class Switch : bool { off, on };

using JobId = ferry::StrongId<struct JobTag, std::uint32_t>;

struct Point {
  int x = 0;
  std::optional<std::string> label;
  friend auto operator<=>(const Point&, const Point&) = default;
};

struct Nothing {
  friend bool operator==(const Nothing&, const Nothing&) = default;
};

struct Everything {
  bool flag = false;
  char letter = 0;
  std::int8_t i8 = 0;
  std::int16_t i16 = 0;
  std::int32_t i32 = 0;
  std::int64_t i64 = 0;
  std::uint64_t u64 = 0;
  float f32 = 0;
  double f64 = 0;
  Color color{};
  Balance balance{};
  Switch state{};
  std::string text;
  std::vector<int> numbers;
  std::vector<bool> flags;
  std::array<std::uint16_t, 3> three{};
  std::pair<int, std::string> pair;
  std::tuple<unsigned, Point> tuple;
  std::map<std::string, std::vector<Point>> map;
  std::unordered_map<std::string, double> hash_map;
  std::set<int> set;
  std::unordered_set<std::string> hash_set;
  std::optional<Point> maybe;
  std::variant<std::monostate, int, std::string, Point> choice;
  std::chrono::milliseconds duration{};
  std::vector<std::byte> bytes;
  std::array<std::byte, 4> four_bytes{};
  JobId id;
  Nothing nothing;
  friend bool operator==(const Everything&, const Everything&) = default;
};

struct Tree {
  int value = 0;
  std::vector<Tree> children;
  friend bool operator==(const Tree&, const Tree&) = default;
};

// Has an encoding of its own, and no default constructor.
class Mass {
 public:
  explicit Mass(double grams) : grams_(grams) {}
  double grams() const { return grams_; }
  friend auto operator<=>(const Mass&, const Mass&) = default;

 private:
  double grams_;
};

inline ferry::wire::Bytes bytes_of(std::initializer_list<int> values) {
  ferry::wire::Bytes bytes;
  for (const int value : values) {
    bytes.push_back(static_cast<std::byte>(value));
  }
  return bytes;
}

// "93 c3 01"
inline std::string hex(ferry::wire::ByteView bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += text.empty() ? "" : " ";
    text += kDigits[std::to_integer<std::size_t>(byte >> 4)];
    text += kDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return text;
}

template <class T>
ferry::wire::Bytes encoded(const T& value) {
  ferry::wire::Bytes bytes;
  ferry::wire::encode(bytes, value);
  return bytes;
}

// A copy of the first `size` bytes in a heap block of exactly that size, so that AddressSanitizer sees a read past
// them.
class ExactBytes {
 public:
  ExactBytes(ferry::wire::ByteView bytes, std::size_t size) : data_(new std::byte[size]), size_(size) {
    std::copy_n(bytes.begin(), size, data_.get());
  }
  ferry::wire::ByteView view() const { return {data_.get(), size_}; }

 private:
  std::unique_ptr<std::byte[]> data_;
  std::size_t size_;
};

}  // namespace samples

template <>
struct ferry::wire::Codec<samples::Mass> {
  static constexpr std::string_view kName = "mass";
  static constexpr std::size_t kMinSize = 10;
  static constexpr std::int8_t kExtType = 40;

  static void encode(Encoder& encoder, const samples::Mass& mass) {
    std::array<std::byte, 8> grams;
    store_little(grams.data(), std::bit_cast<std::uint64_t>(mass.grams()));
    encoder.ext(kExtType, grams);
  }

  static Result<samples::Mass> decode(Decoder& decoder) {
    ByteView grams;
    if (!decoder.read_ext(kExtType, grams)) {
      return decoder.failure();
    }
    if (grams.size() != 8) {
      return Failure(errc::malformed, "a mass of 8 bytes expected");
    }
    return samples::Mass(std::bit_cast<double>(load_little<std::uint64_t>(grams.data())));
  }
};
