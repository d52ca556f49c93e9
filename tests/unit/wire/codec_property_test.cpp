// Properties of the codec over values and bytes that RapidCheck draws. It prints its seed, and RC_PARAMS="seed=…"
// replays.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <ostream>

#include <ferry/base/random.hpp>
#include <ferry/wire/codec.hpp>

#include "wire_samples.hpp"

using namespace samples;  // NOLINT: a test
using namespace ferry::wire;

namespace rc {

template <class T>
struct Arbitrary<std::optional<T>> {
  static Gen<std::optional<T>> arbitrary() {
    return gen::oneOf(gen::construct<std::optional<T>>(), gen::construct<std::optional<T>>(gen::arbitrary<T>()));
  }
};

template <>
struct Arbitrary<std::byte> {
  static Gen<std::byte> arbitrary() {
    return gen::map(gen::arbitrary<std::uint8_t>(), [](std::uint8_t value) { return std::byte{value}; });
  }
};

template <>
struct Arbitrary<Point> {
  static Gen<Point> arbitrary() {
    return gen::construct<Point>(gen::arbitrary<int>(), gen::arbitrary<std::optional<std::string>>());
  }
};

template <>
struct Arbitrary<Everything> {
  static Gen<Everything> arbitrary() {
    return gen::exec([] {
      Everything value;
      value.flag = *gen::arbitrary<bool>();
      value.letter = *gen::arbitrary<char>();
      value.i8 = *gen::arbitrary<std::int8_t>();
      value.i16 = *gen::arbitrary<std::int16_t>();
      value.i32 = *gen::arbitrary<std::int32_t>();
      value.i64 = *gen::arbitrary<std::int64_t>();
      value.u64 = *gen::arbitrary<std::uint64_t>();
      value.f32 = *gen::arbitrary<float>();
      value.f64 = *gen::arbitrary<double>();
      value.color = *gen::element(Color::red, Color::green, Color::blue);
      value.balance = static_cast<Balance>(*gen::arbitrary<std::int64_t>());
      value.state = *gen::element(Switch::off, Switch::on);
      value.text = *gen::arbitrary<std::string>();
      value.numbers = *gen::arbitrary<std::vector<int>>();
      value.flags = *gen::arbitrary<std::vector<bool>>();
      value.three = *gen::arbitrary<std::array<std::uint16_t, 3>>();
      value.pair = *gen::arbitrary<std::pair<int, std::string>>();
      value.tuple = *gen::arbitrary<std::tuple<unsigned, Point>>();
      value.map = *gen::arbitrary<std::map<std::string, std::vector<Point>>>();
      value.hash_map = *gen::arbitrary<std::unordered_map<std::string, double>>();
      value.set = *gen::arbitrary<std::set<int>>();
      value.hash_set = *gen::arbitrary<std::unordered_set<std::string>>();
      value.maybe = *gen::arbitrary<std::optional<Point>>();
      switch (*gen::inRange(0, 4)) {
        case 0:
          break;
        case 1:
          value.choice = *gen::arbitrary<int>();
          break;
        case 2:
          value.choice = *gen::arbitrary<std::string>();
          break;
        default:
          value.choice = *gen::arbitrary<Point>();
      }
      value.duration = std::chrono::milliseconds(*gen::arbitrary<std::int64_t>());
      value.bytes = *gen::arbitrary<std::vector<std::byte>>();
      value.four_bytes = *gen::arbitrary<std::array<std::byte, 4>>();
      value.id = JobId(*gen::arbitrary<std::uint32_t>());
      return value;
    });
  }
};

Gen<Tree> tree_of_depth(int depth) {
  return gen::exec([depth] {
    Tree tree{*gen::arbitrary<int>(), {}};
    if (depth > 0) {
      const auto count = *gen::inRange<std::size_t>(0, 4);
      tree.children = *gen::container<std::vector<Tree>>(count, tree_of_depth(depth - 1));
    }
    return tree;
  });
}

template <>
struct Arbitrary<Tree> {
  static Gen<Tree> arbitrary() { return tree_of_depth(4); }
};

}  // namespace rc

namespace samples {

void showValue(const Everything& value, std::ostream& out) {
  out << hex(encoded(value));
}
void showValue(const Point& value, std::ostream& out) {
  out << hex(encoded(value));
}
void showValue(const Tree& value, std::ostream& out) {
  out << hex(encoded(value));
}

namespace {

template <class T>
void assert_round_trip(const T& value) {
  const Bytes bytes = encoded(value);
  const ferry::Result<T> back = decode<T>(bytes);
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == value);
  RC_ASSERT(encoded(*back) == bytes);
}

// At every length of a short encoding, at a hundred lengths of a long one.
template <class T>
void assert_truncations_malformed(const T& value) {
  const Bytes bytes = encoded(value);
  const std::size_t step = bytes.size() < 500 ? 1 : bytes.size() / 100;
  for (std::size_t size = 0; size < bytes.size(); size += step) {
    const ExactBytes cut(bytes, size);
    const ferry::Result<T> refused = decode<T>(cut.view());
    RC_ASSERT(!refused.has_value());
    RC_ASSERT(refused.error().code() == ferry::errc::malformed);
  }
}

// Whatever the bytes are: a failure, or a value that comes back as itself.
template <class T>
void assert_sound(ByteView bytes) {
  const ExactBytes exact(bytes, bytes.size());
  const ferry::Result<T> value = decode<T>(exact.view());
  if (!value) {
    RC_ASSERT(value.error().code() == ferry::errc::malformed);
    return;
  }
  const Bytes again = encoded(*value);
  const ferry::Result<T> back = decode<T>(again);
  RC_ASSERT(back.has_value());
  RC_ASSERT(encoded(*back) == again);  // == would refuse NaN
}

RC_GTEST_PROP(CodecProperty, EveryValueComesBackAsItWas, (const Everything& value)) {
  assert_round_trip(value);
}

RC_GTEST_PROP(CodecProperty, EveryTreeComesBackAsItWas, (const std::vector<Tree>& value)) {
  assert_round_trip(value);
}

RC_GTEST_PROP(CodecProperty, EveryIntegerComesBackInItsSmallestForm, (std::int64_t drawn)) {
  for (int shift = 0; shift < 64; ++shift) {  // all magnitudes, not only those that RapidCheck likes
    const std::int64_t value = drawn >> shift;
    assert_round_trip(value);
    assert_round_trip(static_cast<std::uint64_t>(value));
    const std::size_t expected = value >= -32 && value < 128                  ? 1
                                 : value >= -128 && value < 256               ? 2
                                 : value >= -32768 && value < 65536           ? 3
                                 : value >= -2147483648 && value < 4294967296 ? 5
                                                                              : 9;
    RC_ASSERT(encoded(value).size() == expected);
  }
}

RC_GTEST_PROP(CodecProperty, EveryTruncationIsMalformed, (const Everything& value)) {
  assert_truncations_malformed(value);
}

RC_GTEST_PROP(CodecProperty, EveryTruncationOfATreeIsMalformed, (const std::vector<Tree>& value)) {
  assert_truncations_malformed(value);
}

// Small arrays, maps and strings are drawn more often than anything else, so that values get deep before they go wrong.
Bytes likely_bytes(ferry::Random& random) {
  Bytes bytes;
  for (auto count = random.below(60); count > 0; --count) {
    const auto drawn = random.below(8) == 0 ? random.below(256) : 0x80 + random.below(4) + 0x10 * random.below(3);
    bytes.push_back(static_cast<std::byte>(drawn));
  }
  return bytes;
}

RC_GTEST_PROP(CodecProperty, RandomBytesNeverCrash, (std::uint64_t seed)) {
  ferry::Random random(seed);
  for (int i = 0; i < 200; ++i) {
    const Bytes bytes = likely_bytes(random);
    RC_LOG() << hex(bytes) << "\n";
    assert_sound<Everything>(bytes);
    assert_sound<Tree>(bytes);
    assert_sound<std::vector<std::vector<std::string>>>(bytes);
    assert_sound<std::map<int, std::optional<double>>>(bytes);
    assert_sound<std::map<std::string, std::map<std::string, std::vector<Nothing>>>>(bytes);
    assert_sound<std::vector<std::variant<int, std::string, std::vector<bool>>>>(bytes);
    const ExactBytes exact(bytes, bytes.size());
    Decoder decoder(exact.view());
    while (decoder.skip()) {
    }
  }
}

// Random bytes seldom get past the first count; changing a few bytes of a value does.
RC_GTEST_PROP(CodecProperty, ChangedBytesNeverCrash, (const Everything& value)) {
  Bytes bytes = encoded(value);
  for (int changes = *rc::gen::inRange(1, 4); changes > 0; --changes) {
    bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] = *rc::gen::arbitrary<std::byte>();
  }
  assert_sound<Everything>(bytes);
}

RC_GTEST_PROP(CodecProperty, SkipPassesOverExactlyOneValue, (const Everything& first, const Tree& second)) {
  Bytes bytes;
  Encoder encoder(bytes);
  encode(encoder, first);
  encode(encoder, second);
  Decoder decoder(bytes);
  RC_ASSERT(decoder.skip());
  const ferry::Result<Tree> rest = decode<Tree>(decoder);
  RC_ASSERT(rest.has_value());
  RC_ASSERT(*rest == second);
  RC_ASSERT(decoder.finish());
}

RC_GTEST_PROP(CodecProperty, OrderOfInsertionDoesNotShow, (const std::map<std::string, int>& content)) {
  const std::unordered_map<std::string, int> forward(content.begin(), content.end());
  const std::unordered_map<std::string, int> backward(content.rbegin(), content.rend(), 1);
  RC_ASSERT(encoded(forward) == encoded(backward));
}

}  // namespace
}  // namespace samples
