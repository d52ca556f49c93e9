#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include <ferry/wire/decoder.hpp>
#include <ferry/wire/encoder.hpp>

#include "wire_samples.hpp"

namespace ferry::wire {
namespace {

using samples::bytes_of;
using samples::hex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string written(const std::function<void(Encoder&)>& write) {
  Bytes bytes;
  Encoder encoder(bytes);
  write(encoder);
  return hex(bytes);
}

std::string unsigned_integer(std::uint64_t value) {
  return written([=](Encoder& encoder) { encoder.unsigned_integer(value); });
}

std::string signed_integer(std::int64_t value) {
  return written([=](Encoder& encoder) { encoder.signed_integer(value); });
}

TEST(EncoderTest, IntegersTakeTheirSmallestForm) {
  EXPECT_EQ(unsigned_integer(0), "00");
  EXPECT_EQ(unsigned_integer(127), "7f");
  EXPECT_EQ(unsigned_integer(128), "cc 80");
  EXPECT_EQ(unsigned_integer(255), "cc ff");
  EXPECT_EQ(unsigned_integer(256), "cd 01 00");
  EXPECT_EQ(unsigned_integer(65535), "cd ff ff");
  EXPECT_EQ(unsigned_integer(65536), "ce 00 01 00 00");
  EXPECT_EQ(unsigned_integer(4294967295), "ce ff ff ff ff");
  EXPECT_EQ(unsigned_integer(4294967296), "cf 00 00 00 01 00 00 00 00");
  EXPECT_EQ(unsigned_integer(std::numeric_limits<std::uint64_t>::max()), "cf ff ff ff ff ff ff ff ff");
  EXPECT_EQ(signed_integer(5), "05");
  EXPECT_EQ(signed_integer(200), "cc c8");
  EXPECT_EQ(signed_integer(-1), "ff");
  EXPECT_EQ(signed_integer(-32), "e0");
  EXPECT_EQ(signed_integer(-33), "d0 df");
  EXPECT_EQ(signed_integer(-128), "d0 80");
  EXPECT_EQ(signed_integer(-129), "d1 ff 7f");
  EXPECT_EQ(signed_integer(-32768), "d1 80 00");
  EXPECT_EQ(signed_integer(-32769), "d2 ff ff 7f ff");
  EXPECT_EQ(signed_integer(-2147483648), "d2 80 00 00 00");
  EXPECT_EQ(signed_integer(-2147483649), "d3 ff ff ff ff 7f ff ff ff");
  EXPECT_EQ(signed_integer(std::numeric_limits<std::int64_t>::min()), "d3 80 00 00 00 00 00 00 00");
}

TEST(EncoderTest, ScalarsHaveTheSpecifiedBytes) {
  EXPECT_EQ(written([](Encoder& encoder) { encoder.nil(); }), "c0");
  EXPECT_EQ(written([](Encoder& encoder) { encoder.boolean(false); }), "c2");
  EXPECT_EQ(written([](Encoder& encoder) { encoder.boolean(true); }), "c3");
  EXPECT_EQ(written([](Encoder& encoder) { encoder.float32(1.5F); }), "ca 3f c0 00 00");
  EXPECT_EQ(written([](Encoder& encoder) { encoder.float64(1.5); }), "cb 3f f8 00 00 00 00 00 00");
}

TEST(EncoderTest, LengthsTakeTheirSmallestForm) {
  const auto head = [](const std::function<void(Encoder&)>& write) { return written(write).substr(0, 14); };
  const auto text = [&](std::size_t size) {
    return head([=](Encoder& encoder) { encoder.string(std::string(size, 'a')); });
  };
  EXPECT_EQ(text(0), "a0");
  EXPECT_EQ(text(1), "a1 61");
  EXPECT_THAT(text(31), StartsWith("bf 61"));
  EXPECT_THAT(text(32), StartsWith("d9 20 61"));
  EXPECT_THAT(text(255), StartsWith("d9 ff 61"));
  EXPECT_THAT(text(256), StartsWith("da 01 00 61"));
  EXPECT_THAT(text(65536), StartsWith("db 00 01 00 00"));

  const auto binary = [&](std::size_t size) {
    return head([=](Encoder& encoder) { encoder.binary(std::vector<std::byte>(size)); });
  };
  EXPECT_EQ(binary(0), "c4 00");
  EXPECT_THAT(binary(255), StartsWith("c4 ff 00"));
  EXPECT_THAT(binary(256), StartsWith("c5 01 00"));
  EXPECT_THAT(binary(65536), StartsWith("c6 00 01 00 00"));

  const auto ext = [&](std::size_t size) {
    return head([=](Encoder& encoder) { encoder.ext(-2, std::vector<std::byte>(size)); });
  };
  EXPECT_EQ(ext(0), "c7 00 fe");
  EXPECT_EQ(ext(1), "d4 fe 00");
  EXPECT_THAT(ext(2), StartsWith("d5 fe"));
  EXPECT_THAT(ext(3), StartsWith("c7 03 fe"));
  EXPECT_THAT(ext(4), StartsWith("d6 fe"));
  EXPECT_THAT(ext(8), StartsWith("d7 fe"));
  EXPECT_THAT(ext(16), StartsWith("d8 fe"));
  EXPECT_THAT(ext(17), StartsWith("c7 11 fe"));
  EXPECT_THAT(ext(256), StartsWith("c8 01 00 fe"));
  EXPECT_THAT(ext(65536), StartsWith("c9 00 01 00 00"));

  const auto array = [](std::size_t count) { return written([=](Encoder& encoder) { encoder.begin_array(count); }); };
  EXPECT_EQ(array(0), "90");
  EXPECT_EQ(array(15), "9f");
  EXPECT_EQ(array(16), "dc 00 10");
  EXPECT_EQ(array(65536), "dd 00 01 00 00");

  const auto map = [](std::size_t pairs) { return written([=](Encoder& encoder) { encoder.begin_map(pairs); }); };
  EXPECT_EQ(map(0), "80");
  EXPECT_EQ(map(15), "8f");
  EXPECT_EQ(map(16), "de 00 10");
  EXPECT_EQ(map(65536), "df 00 01 00 00");
}

template <class T>
std::string integer_read(std::initializer_list<int> values) {
  const Bytes bytes = bytes_of(values);
  Decoder decoder(bytes);
  T value{};
  return decoder.read_integer(value) && decoder.finish() ? std::to_string(value) : decoder.failure().detail();
}

TEST(DecoderTest, IntegersAreAcceptedInAnyFormThatFits) {
  EXPECT_EQ(integer_read<std::uint8_t>({0xcf, 0, 0, 0, 0, 0, 0, 0, 7}), "7");
  EXPECT_EQ(integer_read<std::uint8_t>({0xd3, 0, 0, 0, 0, 0, 0, 0, 7}), "7");
  EXPECT_EQ(integer_read<std::uint8_t>({0xd1, 0, 255}), "255");
  EXPECT_EQ(integer_read<std::int8_t>({0xd3, 255, 255, 255, 255, 255, 255, 255, 128}), "-128");
  EXPECT_EQ(integer_read<std::int64_t>({0xe0}), "-32");
  EXPECT_EQ(integer_read<std::int64_t>({0xcf, 127, 255, 255, 255, 255, 255, 255, 255}), "9223372036854775807");
  EXPECT_EQ(integer_read<std::uint64_t>({0xcf, 255, 255, 255, 255, 255, 255, 255, 255}), "18446744073709551615");
}

TEST(DecoderTest, IntegersThatDoNotFitAreNamedWithTheirType) {
  EXPECT_EQ(integer_read<std::uint8_t>({0xcd, 1, 44}), "u8 expected at byte 0, found the integer 300");
  EXPECT_EQ(integer_read<std::uint64_t>({0xff}), "u64 expected at byte 0, found the integer -1");
  EXPECT_EQ(integer_read<std::int8_t>({0xcc, 128}), "i8 expected at byte 0, found the integer 128");
  EXPECT_EQ(integer_read<std::int8_t>({0xd1, 255, 127}), "i8 expected at byte 0, found the integer -129");
  EXPECT_EQ(integer_read<std::int64_t>({0xcf, 128, 0, 0, 0, 0, 0, 0, 0}),
            "i64 expected at byte 0, found the integer 9223372036854775808");
}

TEST(DecoderTest, FailureSaysWhatWasFound) {
  EXPECT_EQ(integer_read<int>({}), "i32 expected at byte 0, found the end of the bytes");
  EXPECT_EQ(integer_read<int>({0xce, 1, 2}), "i32 expected at byte 0, found a value that is cut off");
  EXPECT_EQ(integer_read<int>({0xc0}), "i32 expected at byte 0, found nil");
  EXPECT_EQ(integer_read<int>({0xc3}), "i32 expected at byte 0, found true");
  EXPECT_EQ(integer_read<int>({0xca, 0x3f, 0xc0, 0, 0}), "i32 expected at byte 0, found the f32 1.5");
  EXPECT_EQ(integer_read<int>({0xcb, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0}), "i32 expected at byte 0, found the f64 1.5");
  EXPECT_EQ(integer_read<int>({0xa2, 'h', 'i'}), "i32 expected at byte 0, found a string of 2 bytes");
  EXPECT_EQ(integer_read<int>({0xa3, 'h', 'i'}),
            "i32 expected at byte 0, found a string of 3 bytes, of which 2 are there");
  EXPECT_EQ(integer_read<int>({0xc4, 1, 0}), "i32 expected at byte 0, found binary of 1 bytes");
  EXPECT_EQ(integer_read<int>({0xd4, 5, 0}), "i32 expected at byte 0, found ext type 5 of 1 bytes");
  EXPECT_EQ(integer_read<int>({0x91, 0}), "i32 expected at byte 0, found an array of 1");
  EXPECT_EQ(integer_read<int>({0x81, 0, 0}), "i32 expected at byte 0, found a map of 1");
  EXPECT_EQ(integer_read<int>({0xc1}), "i32 expected at byte 0, found the byte 0xc1, which MessagePack never uses");
  EXPECT_EQ(integer_read<int>({1, 2, 3}), "the end expected at byte 1, found 2 more bytes");
}

TEST(DecoderTest, FirstFailureStays) {
  const Bytes bytes = bytes_of({0xa1, 'x', 1});
  Decoder decoder(bytes);
  int number = 0;
  EXPECT_FALSE(decoder.read_integer(number));
  EXPECT_FALSE(decoder.read_nil());
  std::string_view text;
  EXPECT_FALSE(decoder.read_string(text)) << "what stood there is passed";
  EXPECT_FALSE(decoder.finish());
  EXPECT_FALSE(decoder.fail("something else"));
  EXPECT_EQ(decoder.failure().code(), errc::malformed);
  EXPECT_EQ(decoder.failure().detail(), "i32 expected at byte 0, found a string of 1 bytes");
}

TEST(DecoderTest, ReadsViewsIntoTheInput) {
  const Bytes bytes = bytes_of({0xd9, 1, 'x', 0xc4, 1, 9, 0xc7, 2, 0xfe, 1, 2, 0xd4, 5, 6});
  Decoder decoder(bytes);
  std::string_view text;
  ByteView binary;
  Decoder::Ext ext{};
  ByteView fixed;
  ASSERT_TRUE(decoder.read_string(text));
  ASSERT_TRUE(decoder.read_binary(binary));
  ASSERT_TRUE(decoder.read_ext(ext));
  ASSERT_TRUE(decoder.read_ext(5, fixed));
  EXPECT_TRUE(decoder.finish());
  EXPECT_EQ(text, "x");
  EXPECT_EQ(binary.data(), bytes.data() + 5);
  EXPECT_EQ(ext.type, -2);
  EXPECT_EQ(hex(ext.bytes), "01 02");
  EXPECT_EQ(hex(fixed), "06");
}

TEST(DecoderTest, ExtOfAnotherTypeIsMalformed) {
  const Bytes bytes = bytes_of({0xd4, 5, 6});
  Decoder decoder(bytes);
  ByteView ext;
  EXPECT_FALSE(decoder.read_ext(6, ext));
  EXPECT_EQ(decoder.failure().detail(), "ext type 6 expected at byte 0, found ext type 5 of 1 bytes");
}

TEST(DecoderTest, FloatsOfBothWidthsAreAccepted) {
  const auto as_float32 = [](double value) {
    Bytes bytes;
    Encoder(bytes).float64(value);
    Decoder decoder(bytes);
    float out = 0;
    return decoder.read_float32(out) ? out : -1;
  };
  EXPECT_EQ(as_float32(0.1), 0.1F);
  EXPECT_EQ(as_float32(1e-300), 0.0F);
  EXPECT_EQ(as_float32(std::numeric_limits<float>::max()), std::numeric_limits<float>::max());
  EXPECT_EQ(as_float32(std::numeric_limits<double>::infinity()), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(as_float32(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_EQ(as_float32(1e39), -1);
  EXPECT_EQ(as_float32(-1e39), -1);
  EXPECT_EQ(as_float32(0x1.fffffefffffffp127), std::numeric_limits<float>::max()) << "rounds down";
  EXPECT_EQ(as_float32(0x1.ffffffp127), -1) << "rounds up, out of range";

  Bytes bytes;
  Encoder(bytes).float32(0.1F);
  Decoder decoder(bytes);
  double wide = 0;
  ASSERT_TRUE(decoder.read_float64(wide));
  EXPECT_EQ(wide, static_cast<double>(0.1F));
}

TEST(DecoderTest, CountsThatCannotBeThereAreMalformed) {
  for (const auto& bytes : {bytes_of({0xdd, 255, 255, 255, 255, 0}), bytes_of({0x92, 0}), bytes_of({0xdc, 0, 2, 0})}) {
    Decoder decoder(bytes);
    std::uint32_t count = 0;
    EXPECT_FALSE(decoder.begin_array(count)) << hex(bytes);
    EXPECT_THAT(decoder.failure().detail(), HasSubstr("more than the bytes that follow can hold"));
  }
  const Bytes bytes = bytes_of({0xdf, 128, 0, 0, 1, 0, 0});
  Decoder decoder(bytes);
  std::uint32_t pairs = 0;
  EXPECT_FALSE(decoder.begin_map(pairs)) << "2 * pairs must not wrap around";
}

TEST(DecoderTest, ClaimsOfEnclosingCountsAreKept) {
  const Bytes bytes = bytes_of({0, 0, 0, 0, 0, 0, 0, 0});
  Decoder decoder(bytes);
  EXPECT_TRUE(decoder.claim(3, 2));
  decoder.release(2);
  EXPECT_TRUE(decoder.claim(4, 1)) << "8 bytes less the 4 that two values still need";
  EXPECT_FALSE(decoder.claim(1, 1));
  EXPECT_THAT(decoder.failure().detail(), StartsWith("1 values of at least 1 bytes each cannot be in the 0 bytes"));
}

TEST(DecoderTest, SkipPassesOverAnyOneValue) {
  const auto skipped = [](const Bytes& bytes) {
    Decoder decoder(bytes);
    return decoder.skip() && decoder.finish();
  };
  EXPECT_TRUE(skipped(bytes_of({0xc0})));
  EXPECT_TRUE(skipped(bytes_of({0xcb, 1, 2, 3, 4, 5, 6, 7, 8})));
  EXPECT_TRUE(skipped(bytes_of({0xa2, 'h', 'i'})));
  EXPECT_TRUE(skipped(bytes_of({0x93, 0x91, 0x90, 0x82, 1, 2, 3, 0xa1, 'x', 0xc7, 3, 1, 1, 2, 3})));
  EXPECT_FALSE(skipped(bytes_of({})));
  EXPECT_FALSE(skipped(bytes_of({0xc1})));
  EXPECT_FALSE(skipped(bytes_of({0x91})));
  EXPECT_FALSE(skipped(bytes_of({0x91, 0xa2, 'h'})));
  EXPECT_FALSE(skipped(bytes_of({0xdd, 255, 255, 255, 255, 0xdd, 255, 255, 255, 255})));
  EXPECT_FALSE(skipped(bytes_of({1, 2})));
}

TEST(DecoderTest, SkipNeedsNoStackForDeepValues) {
  Bytes bytes(1'000'000, std::byte{0x91});
  bytes.push_back(std::byte{0});
  Decoder decoder(bytes);
  EXPECT_TRUE(decoder.skip());
  EXPECT_TRUE(decoder.finish());
}

}  // namespace
}  // namespace ferry::wire
