#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ferry/wire/codec.hpp>

#include "wire_samples.hpp"

namespace ferry::wire {
namespace {

using namespace samples;  // NOLINT: a test
using ::testing::HasSubstr;

template <class T>
std::string hex_of(const T& value) {
  return hex(encoded(value));
}

template <class T>
std::string refusal_of(ByteView bytes) {
  const Result<T> value = decode<T>(bytes);
  if (value) {
    return "accepted";
  }
  EXPECT_EQ(value.error().code(), errc::malformed);
  return value.error().detail();
}

template <class T>
void expect_round_trip(const T& value) {
  const Result<T> back = decode<T>(encoded(value));
  ASSERT_TRUE(back.has_value()) << back.error().to_text();
  EXPECT_EQ(*back, value);
}

TEST(CodecTest, ScalarsStandAsMessagePackSays) {
  EXPECT_EQ(hex_of(true), "c3");
  EXPECT_EQ(hex_of(-5), "fb");
  EXPECT_EQ(hex_of(std::uint64_t{300}), "cd 01 2c");
  EXPECT_EQ(hex_of('a'), "61");
  EXPECT_EQ(hex_of(static_cast<char>(-1)), "cc ff") << "char is unsigned on every platform";
  EXPECT_EQ(hex_of(1.5F), "ca 3f c0 00 00");
  EXPECT_EQ(hex_of(1.5), "cb 3f f8 00 00 00 00 00 00");
  EXPECT_EQ(hex_of(Color::blue), "02");
  EXPECT_EQ(hex_of(Balance::debt), "ff");
  EXPECT_EQ(hex_of(Switch::on), "c3");
  EXPECT_EQ(hex_of(JobId(9)), "09");
  EXPECT_EQ(hex_of(std::chrono::milliseconds(-3)), "fd");
  EXPECT_EQ(hex_of(std::monostate{}), "c0");
}

TEST(CodecTest, TextCanComeFromAnyKindOfString) {
  const char* pointer = "abc";
  const char* null = nullptr;
  EXPECT_EQ(hex_of(std::string("abc")), "a3 61 62 63");
  EXPECT_EQ(hex_of(std::string_view("abc")), "a3 61 62 63");
  EXPECT_EQ(hex_of("abc"), "a3 61 62 63");
  EXPECT_EQ(hex_of(pointer), "a3 61 62 63");
  EXPECT_EQ(hex_of(null), "a0");
}

TEST(CodecTest, BytesStandAsBinary) {
  const std::vector<std::byte> bytes = {std::byte{1}, std::byte{2}};
  EXPECT_EQ(hex_of(bytes), "c4 02 01 02");
  EXPECT_EQ(hex_of(std::span(bytes)), "c4 02 01 02");
  EXPECT_EQ(hex_of(ByteView(bytes)), "c4 02 01 02");
  EXPECT_EQ(hex_of(std::array<std::byte, 2>{std::byte{1}, std::byte{2}}), "c4 02 01 02");
  EXPECT_EQ(hex_of(bytes_of({1, 2})), "c4 02 01 02");
  expect_round_trip(bytes_of({1, 2}));
}

TEST(CodecTest, ContainersStandAsArraysAndMaps) {
  EXPECT_EQ(hex_of(std::vector<int>{1, 2}), "92 01 02");
  EXPECT_EQ(hex_of(std::vector<bool>{true, false}), "92 c3 c2");
  EXPECT_EQ(hex_of(std::array<int, 2>{1, 2}), "92 01 02");
  EXPECT_EQ(hex_of(std::pair(1, true)), "92 01 c3");
  EXPECT_EQ(hex_of(std::tuple(1, true, 2.0F)), "93 01 c3 ca 40 00 00 00");
  EXPECT_EQ(hex_of(std::tuple<>()), "90");
  EXPECT_EQ(hex_of(std::set<int>{2, 1}), "92 01 02");
  EXPECT_EQ(hex_of(std::map<int, bool>{{2, true}, {1, false}}), "82 01 c2 02 c3");
  EXPECT_EQ(hex_of(std::optional<int>()), "c0");
  EXPECT_EQ(hex_of(std::optional(5)), "05");
  EXPECT_EQ(hex_of(std::variant<int, bool>(true)), "92 01 c3");
  EXPECT_EQ(hex_of(Point{1, "a"}), "92 01 a1 61");
  EXPECT_EQ(hex_of(Nothing{}), "90");
  EXPECT_EQ(hex_of(Tree{1, {{2, {}}, {3, {}}}}), "92 01 92 92 02 90 92 03 90");
}

TEST(CodecTest, AnObjectOfEveryKindComesBack) {
  Everything everything;
  everything.flag = true;
  everything.letter = '\xff';
  everything.i8 = -128;
  everything.i16 = -129;
  everything.i32 = -70000;
  everything.i64 = std::numeric_limits<std::int64_t>::min();
  everything.u64 = std::numeric_limits<std::uint64_t>::max();
  everything.f32 = 0.1F;
  everything.f64 = 0.1;
  everything.color = Color::green;
  everything.balance = Balance::debt;
  everything.state = Switch::on;
  everything.text = std::string("with\0nul", 8);
  everything.numbers = {1, -200, 70000};
  everything.flags = {true, false, true};
  everything.three = {1, 300, 65535};
  everything.pair = {7, std::string(300, 'x')};
  everything.tuple = {9, {-1, "label"}};
  everything.map = {{"a", {{1, {}}, {2, "b"}}}, {"", {}}};
  everything.hash_map = {{"x", 1.0}, {"y", 2.0}, {"z", -3.0}};
  everything.set = {3, 2, 1};
  everything.hash_set = {"p", "q", "rr"};
  everything.maybe = Point{4, "four"};
  everything.choice = Point{5, {}};
  everything.duration = std::chrono::milliseconds(-1500);
  everything.bytes = std::vector<std::byte>(300, std::byte{7});
  everything.four_bytes = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  everything.id = JobId(4'000'000'000);
  expect_round_trip(everything);
  expect_round_trip(Everything{});
}

TEST(CodecTest, UnorderedContainersWithTheSameContentHaveTheSameBytes) {
  std::unordered_map<std::string, int> forward;
  std::unordered_map<std::string, int> backward;
  backward.reserve(5000);
  for (int i = 0; i < 300; ++i) {
    forward[std::to_string(i)] = i;
    backward[std::to_string(299 - i)] = 299 - i;
  }
  EXPECT_EQ(hex_of(forward), hex_of(backward));
  EXPECT_EQ(hex_of(std::unordered_set<int>{300, 2, -1, 1}), "94 01 02 cd 01 2c ff") << "by their encoded bytes";
  EXPECT_EQ(hex_of(std::unordered_map<std::string, int>{{"b", 1}, {"a", 2}, {"", 3}}), "83 a0 03 a1 61 02 a1 62 01");
}

TEST(CodecTest, TypesWithTheirOwnCodecStandInsideOthers) {
  EXPECT_EQ(hex_of(Mass(1.5)), "d7 28 00 00 00 00 00 00 f8 3f");
  expect_round_trip(Mass(2.5));
  expect_round_trip(std::vector<Mass>{Mass(1), Mass(2)});
  expect_round_trip(std::map<Mass, Mass>{{Mass(1), Mass(2)}});
  expect_round_trip(std::set<Mass>{Mass(1), Mass(2)});
  expect_round_trip(std::optional<Mass>(Mass(1)));
  expect_round_trip(std::variant<int, Mass>(Mass(1)));
  EXPECT_EQ(refusal_of<Mass>(bytes_of({0xd4, 40, 1})), "a mass of 8 bytes expected");
  EXPECT_EQ(refusal_of<std::vector<Mass>>(bytes_of({0x91, 0xd7, 41, 1, 2, 3, 4, 5, 6, 7, 8})),
            "ext type 40 expected at byte 1, found ext type 41 of 8 bytes");
}

TEST(CodecTest, SeveralValuesFollowEachOtherInAStream) {
  Bytes bytes;
  Encoder encoder(bytes);
  encoder.begin_array(3);
  encode(encoder, 1);
  encode(encoder, "two");
  encode(encoder, Point{3, {}});

  int context = 0;
  Decoder decoder(bytes, &context);
  EXPECT_EQ(decoder.context(), &context);
  ASSERT_TRUE(decoder.begin_array_of(3));
  EXPECT_EQ(decode<int>(decoder).value(), 1);
  EXPECT_EQ(decode<std::string>(decoder).value(), "two");
  EXPECT_EQ(decode<Point>(decoder).value(), (Point{3, {}}));
  decoder.end();
  EXPECT_TRUE(decoder.finish());
}

TEST(CodecTest, AnotherNumberOfArgumentsIsMalformed) {
  const Bytes bytes = encoded(std::tuple(1, 2));
  EXPECT_EQ((refusal_of<std::tuple<int>>(bytes)), "an array of 1 expected at byte 0, found an array of 2");
  EXPECT_EQ((refusal_of<std::tuple<int, int, int>>(bytes)), "an array of 3 expected at byte 0, found an array of 2");
  EXPECT_EQ((refusal_of<std::array<int, 3>>(bytes)), "an array of 3 expected at byte 0, found an array of 2");
}

TEST(CodecTest, FailureIsFoundDeepInsideAtItsByte) {
  EXPECT_EQ((refusal_of<std::map<std::string, std::vector<Point>>>(bytes_of({0x81, 0xa1, 'k', 0x91, 0x92, 1, 0xc3}))),
            "str expected at byte 6, found true");
}

TEST(CodecTest, TrailingBytesAreMalformed) {
  EXPECT_EQ(refusal_of<int>(bytes_of({1, 2})), "the end expected at byte 1, found 1 more bytes");
}

TEST(CodecTest, ValuesOutOfTheRangeOfTheirTypeAreMalformed) {
  EXPECT_EQ(refusal_of<Color>(encoded(256)), "u8 expected at byte 0, found the integer 256");
  EXPECT_EQ(refusal_of<JobId>(encoded(-1)), "u32 expected at byte 0, found the integer -1");
  EXPECT_EQ(refusal_of<char>(encoded(256)), "u8 expected at byte 0, found the integer 256");
  EXPECT_EQ(refusal_of<Switch>(encoded(1)), "bool expected at byte 0, found the integer 1");
  EXPECT_EQ(refusal_of<std::chrono::duration<std::int8_t>>(encoded(128)),
            "i8 expected at byte 0, found the integer 128");
}

TEST(CodecTest, VariantIndexBeyondTheAlternativesIsMalformed) {
  using Choice = std::variant<int, std::string>;
  EXPECT_THAT(refusal_of<Choice>(bytes_of({0x92, 2, 0})), HasSubstr("variant"));
  EXPECT_THAT(refusal_of<Choice>(bytes_of({0x92, 1, 0})), HasSubstr("str expected at byte 2"));
  EXPECT_THAT(refusal_of<Choice>(bytes_of({0x92, 0xff, 0})), HasSubstr("u32 expected at byte 1, found the integer -1"));
}

TEST(CodecTest, KeysThatComeTwiceAreMalformed) {
  EXPECT_THAT((refusal_of<std::map<int, int>>(bytes_of({0x82, 1, 1, 1, 2}))), HasSubstr("a map holds a key twice"));
  EXPECT_THAT((refusal_of<std::unordered_map<int, int>>(bytes_of({0x82, 1, 1, 1, 2}))),
              HasSubstr("a map holds a key twice"));
  EXPECT_THAT(refusal_of<std::set<int>>(bytes_of({0x92, 1, 1})), HasSubstr("a set holds a value twice"));
}

TEST(CodecTest, BinaryOfAnotherLengthIsMalformed) {
  EXPECT_THAT((refusal_of<std::array<std::byte, 3>>(bytes_of({0xc4, 2, 1, 2}))), HasSubstr("another length"));
}

struct Nest {
  std::vector<Nest> inner;
};

TEST(CodecTest, ValuesNestToTheLimitAndNotDeeper) {
  // A Nest is an array of one member that is an array: two levels each.
  Bytes deepest(kDepthLimit - 1, std::byte{0x91});
  deepest.push_back(std::byte{0x90});
  EXPECT_TRUE(decode<Nest>(deepest).has_value());
  Bytes deeper(kDepthLimit, std::byte{0x91});
  deeper.push_back(std::byte{0x91});
  deeper.push_back(std::byte{0x90});
  EXPECT_EQ(refusal_of<Nest>(deeper), "values nest deeper than 64 at byte 64");
}

TEST(CodecTest, DepthIsOfNestingAndNotOfLength) {
  expect_round_trip(std::vector<std::vector<int>>(1000, std::vector<int>{1}));
}

TEST(CodecTest, DecodingIntoAnObjectReplacesItsValue) {
  Everything out;
  out.numbers = {9, 9, 9};
  out.map = {{"old", {}}};
  out.maybe = Point{1, {}};
  out.set = {9};
  const Bytes bytes = encoded(Everything{});
  Decoder decoder(bytes);
  ASSERT_TRUE(decode_into(decoder, out));
  EXPECT_EQ(out, Everything{});
}

}  // namespace
}  // namespace ferry::wire
