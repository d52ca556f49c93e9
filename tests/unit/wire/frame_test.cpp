#include <gtest/gtest.h>
#include <ferry/wire/frame.hpp>

#include "wire_samples.hpp"

namespace ferry::wire {
namespace {

constexpr std::uint32_t kLimit = 1 << 20;

Result<FrameHeader> decoded(ByteView bytes, std::uint32_t limit = kLimit) {
  Reader reader(bytes);
  return decode_frame_header(reader, limit);
}

TEST(FrameTest, HasTheLayoutOfTheReadme) {
  const FrameHeader header{.length = 0x01020304, .kind = 5, .flags = 6, .id = 0x1112131415161718};
  EXPECT_EQ(samples::hex(encode_frame_header(header)), "04 03 02 01 05 06 00 00 18 17 16 15 14 13 12 11");
}

TEST(FrameTest, ComesBackAsItWas) {
  const FrameHeader header{.length = kLimit, .kind = 255, .flags = 128, .id = ~std::uint64_t{0}};
  EXPECT_EQ(decoded(encode_frame_header(header)).value(), header);
}

TEST(FrameTest, LengthAboveTheLimitIsMalformed) {
  const auto bytes = encode_frame_header({.length = 101});
  EXPECT_TRUE(decoded(bytes, 101).has_value());
  const auto refused = decoded(bytes, 100);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), errc::malformed);
  EXPECT_EQ(refused.error().detail(), "frame header: payload of at most 100 bytes expected, found 101");
}

TEST(FrameTest, AnyReservedBitIsMalformed) {
  for (int bit = 0; bit < 16; ++bit) {
    auto bytes = encode_frame_header({.length = 1, .kind = 1, .flags = 1, .id = 1});
    bytes[static_cast<std::size_t>(6 + bit / 8)] = std::byte(1 << bit % 8);
    const auto refused = decoded(bytes);
    ASSERT_FALSE(refused) << bit;
    EXPECT_EQ(refused.error().code(), errc::malformed);
  }
}

TEST(FrameTest, EveryTruncationIsMalformed) {
  const auto bytes = encode_frame_header({.length = 1, .kind = 2, .flags = 3, .id = 4});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const samples::ExactBytes cut(bytes, size);
    const auto refused = decoded(cut.view());
    ASSERT_FALSE(refused) << size;
    EXPECT_EQ(refused.error().code(), errc::malformed);
  }
}

TEST(FrameTest, LeavesThePayloadToTheReader) {
  Bytes bytes;
  for (const std::byte byte : encode_frame_header({.length = 2})) {
    bytes.push_back(byte);
  }
  bytes.push_back(std::byte{8});
  bytes.push_back(std::byte{9});
  Reader reader(bytes);
  const auto header = decode_frame_header(reader, kLimit);
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(samples::hex(reader.raw(header->length)), "08 09");
}

}  // namespace
}  // namespace ferry::wire
