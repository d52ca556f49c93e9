#include <gtest/gtest.h>
#include <ferry/wire/reader.hpp>
#include <ferry/wire/writer.hpp>

#include "wire_samples.hpp"

namespace ferry::wire {
namespace {

using samples::bytes_of;
using samples::hex;

TEST(WriterTest, WritesLittleEndianWithoutPadding) {
  Bytes bytes;
  Writer writer(bytes);
  writer.u8(0x01);
  writer.u16(0x0203);
  writer.u32(0x04050607);
  writer.u64(0x08090a0b0c0d0e0f);
  writer.raw(bytes_of({0xaa, 0xbb}));
  EXPECT_EQ(hex(bytes), "01 03 02 07 06 05 04 0f 0e 0d 0c 0b 0a 09 08 aa bb");
}

TEST(ReaderTest, ReadsWhatTheWriterWrote) {
  Bytes bytes;
  Writer writer(bytes);
  writer.u8(1);
  writer.u16(65535);
  writer.u32(4'000'000'000);
  writer.u64(~std::uint64_t{0});
  writer.raw(bytes_of({7, 8, 9}));

  Reader reader(bytes);
  EXPECT_EQ(reader.u8(), 1);
  EXPECT_EQ(reader.u16(), 65535);
  EXPECT_EQ(reader.u32(), 4'000'000'000);
  EXPECT_EQ(reader.u64(), ~std::uint64_t{0});
  EXPECT_EQ(hex(reader.raw(3)), "07 08 09");
  EXPECT_TRUE(reader.finish("test").has_value());
}

TEST(ReaderTest, FailureIsStickyAndGivesZeros) {
  const Bytes bytes = bytes_of({1, 2, 3});
  Reader reader(bytes);
  EXPECT_EQ(reader.u16(), 0x0201);
  EXPECT_EQ(reader.u32(), 0u);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.u8(), 0) << "the byte is there, but the header that it belongs to is not";
  EXPECT_TRUE(reader.raw(1).empty());
  EXPECT_EQ(reader.remaining(), 0u);
}

TEST(ReaderTest, SaysWhichBytesAreMissing) {
  const Bytes bytes = bytes_of({1, 2, 3});
  Reader reader(bytes);
  reader.u16();
  reader.u32();
  const auto complete = reader.check("frame header");
  ASSERT_FALSE(complete);
  EXPECT_EQ(complete.error().code(), errc::malformed);
  EXPECT_EQ(complete.error().detail(), "frame header: 4 bytes expected at byte 2, found 1 of them");
}

TEST(ReaderTest, BytesThatAreLeftAreMalformed) {
  const Bytes bytes = bytes_of({1, 2, 3});
  Reader reader(bytes);
  reader.u8();
  EXPECT_TRUE(reader.check("test").has_value());
  const auto complete = reader.finish("test");
  ASSERT_FALSE(complete);
  EXPECT_EQ(complete.error().detail(), "test: the end expected at byte 1, found 2 more bytes");
}

TEST(ReaderTest, LengthsThatWouldOverflowAreRefused) {
  const Bytes bytes = bytes_of({1, 2, 3});
  Reader reader(bytes);
  reader.u8();
  EXPECT_TRUE(reader.raw(~std::size_t{0}).empty());
  EXPECT_FALSE(reader.ok());
}

TEST(ReaderTest, NothingCanBeReadFromNoBytes) {
  Reader reader(ByteView{});
  EXPECT_TRUE(reader.raw(0).empty());
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.u8(), 0);
  EXPECT_FALSE(reader.ok());
}

}  // namespace
}  // namespace ferry::wire
