#include <ferry/verbs/queue_address.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ferry/queue/queue_limits.hpp>

namespace ferry::verbs {
namespace {

QueueAddress sample() {
  QueueAddress address;
  address.is_ethernet = true;
  address.gid_type = GidType::roce_v2;
  address.mtu = 3;
  address.lid = 0x1234;
  address.reads = 128;
  address.queue_pair = 0xabcdef;
  address.packet = 0x123456;
  for (std::size_t at = 0; at < address.gid.size(); ++at) {
    address.gid[at] = static_cast<std::uint8_t>(at);
  }
  return address;
}

TEST(QueueAddress, ComesBackAsItWas) {
  const wire::Bytes bytes = encode(sample());
  EXPECT_LE(bytes.size(), queue::kAddressBytes);
  EXPECT_EQ(decode_queue_address(bytes).value(), sample());
}

TEST(QueueAddress, CutOrLongerBytesAreMalformed) {
  const wire::Bytes bytes = encode(sample());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto cut = decode_queue_address(wire::ByteView(bytes).first(size));
    ASSERT_FALSE(cut) << size;
    EXPECT_EQ(cut.error().code(), errc::malformed);
  }
  wire::Bytes longer = encode(sample());
  wire::extend(longer, 1);
  EXPECT_FALSE(decode_queue_address(longer));
}

TEST(QueueAddress, FieldsOutOfRangeAreMalformed) {
  for (const auto& [at, value] : {std::pair{0, 2}, {1, 2}, {2, 3}, {3, 0}, {3, 6}, {11, 1}, {15, 1}}) {
    wire::Bytes bytes = encode(sample());
    bytes.data()[at] = static_cast<std::byte>(value);
    EXPECT_FALSE(decode_queue_address(bytes)) << "byte " << at << " is " << value;
  }
}

}  // namespace
}  // namespace ferry::verbs
