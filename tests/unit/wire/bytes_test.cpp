#include <gtest/gtest.h>
#include <ferry/wire/bytes.hpp>

#include "wire_samples.hpp"

namespace ferry::wire {
namespace {

using samples::bytes_of;
using samples::hex;

Bytes counting(std::size_t size) {
  Bytes bytes;
  for (std::size_t i = 0; i < size; ++i) {
    bytes.push_back(static_cast<std::byte>(i));
  }
  return bytes;
}

// Sizes around the one where the buffer leaves the object, and far beyond.
constexpr std::size_t kSizes[] = {0, 1, Bytes::kInside - 1, Bytes::kInside, Bytes::kInside + 1, 5000};

TEST(BytesTest, SmallMessagesStandInsideTheObject) {
  const auto is_inside = [](const Bytes& bytes) {
    const auto* object = reinterpret_cast<const std::byte*>(&bytes);
    return bytes.data() >= object && bytes.data() < object + sizeof bytes;
  };
  EXPECT_TRUE(is_inside(counting(Bytes::kInside)));
  EXPECT_FALSE(is_inside(counting(Bytes::kInside + 1)));
}

TEST(BytesTest, ContentSurvivesGrowth) {
  const Bytes bytes = counting(5000);
  ASSERT_EQ(bytes.size(), 5000u);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    ASSERT_EQ(bytes[i], static_cast<std::byte>(i));
  }
}

TEST(BytesTest, CopiesAreEqualAndIndependent) {
  for (const std::size_t size : kSizes) {
    const Bytes original = counting(size);
    Bytes copy(original);
    EXPECT_EQ(copy, original);
    copy.push_back(std::byte{1});
    EXPECT_NE(copy, original);
    copy = original;
    EXPECT_EQ(copy, original);
    const Bytes& itself = copy;
    copy = itself;
    EXPECT_EQ(copy, original);
  }
}

TEST(BytesTest, MovingLeavesAnEmptyBufferThatCanBeUsed) {
  for (const std::size_t size : kSizes) {
    const Bytes expected = counting(size);
    Bytes source = counting(size);
    Bytes target(std::move(source));
    EXPECT_EQ(target, expected);
    EXPECT_TRUE(source.empty());  // NOLINT: what moving leaves is the test
    source.push_back(std::byte{9});
    EXPECT_EQ(hex(source), "09");
    for (const std::size_t other : kSizes) {
      Bytes assigned = counting(other);
      assigned = Bytes(expected);
      EXPECT_EQ(assigned, expected);
    }
  }
}

TEST(BytesTest, ResizingFillsWithTheGivenValue) {
  Bytes bytes(3);
  EXPECT_EQ(hex(bytes), "00 00 00");
  bytes.resize(5, std::byte{7});
  EXPECT_EQ(hex(bytes), "00 00 00 07 07");
  bytes.resize(1);
  EXPECT_EQ(hex(bytes), "00");
  bytes.resize(1000, std::byte{1});
  EXPECT_EQ(bytes[999], std::byte{1});
  EXPECT_EQ(bytes[0], std::byte{0});
}

TEST(BytesTest, ReservedRoomIsNotMovedOutOf) {
  Bytes bytes;
  bytes.reserve(1000);
  EXPECT_GE(bytes.capacity(), 1000u);
  const std::byte* before = bytes.data();
  bytes.extend(1000);
  EXPECT_EQ(bytes.data(), before);
}

TEST(BytesTest, AppendingAndAssigningTakeAnyBytes) {
  Bytes bytes;
  bytes.append(as_bytes("ab"));
  bytes.append({});
  bytes.append(bytes_of({1}));
  EXPECT_EQ(hex(bytes), "61 62 01");
  const std::vector<std::uint8_t> numbers = {1, 2};
  bytes.assign(numbers.begin(), numbers.end());
  EXPECT_EQ(hex(bytes), "01 02");
  const std::vector<std::byte> vector(200, std::byte{3});
  bytes.assign(vector.begin(), vector.end());
  EXPECT_EQ(bytes, Bytes(200, std::byte{3}));
  EXPECT_EQ(bytes, Bytes(vector.begin(), vector.end()));
  EXPECT_EQ(bytes, Bytes(ByteView(vector)));
}

TEST(BytesTest, ImpossibleSizesAreRefused) {
  Bytes bytes(1);
  EXPECT_THROW(bytes.extend(~std::size_t{0}), std::length_error);
  EXPECT_THROW(bytes.extend(~std::size_t{0} / 2), std::length_error);
  EXPECT_EQ(hex(bytes), "00");
}

}  // namespace
}  // namespace ferry::wire
