#include <ferry/shm/control_packet.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ferry::shm {
namespace {

wire::ByteView view(const wire::Bytes& bytes) {
  return {bytes.data(), bytes.size()};
}

ControlPacket there_and_back(const ControlPacket& packet) {
  const wire::Bytes bytes = encode_packet(packet);
  return decode_packet(view(bytes)).value();
}

TEST(ControlPacket, CloseCarriesItsReason) {
  ControlPacket packet;
  packet.kind = PacketKind::close;
  packet.why = Failure(errc::shut_down, "the node has shut down");
  const ControlPacket close = there_and_back(packet);
  EXPECT_EQ(close.kind, PacketKind::close);
  ASSERT_TRUE(close.why.has_value());
  EXPECT_EQ(close.why->code(), errc::shut_down);
  EXPECT_EQ(close.why->detail(), "the node has shut down");
}

TEST(ControlPacket, SegmentCarriesItsSizeOrTheReasonWhyThereIsNone) {
  ControlPacket packet;
  packet.kind = PacketKind::segment;
  packet.segment = 7;
  packet.writable = true;
  packet.size = std::uint64_t{5} << 32;
  const ControlPacket given = there_and_back(packet);
  EXPECT_EQ(given.segment, 7U);
  EXPECT_TRUE(given.writable);
  EXPECT_EQ(given.size, std::uint64_t{5} << 32);
  EXPECT_FALSE(given.why.has_value());
  packet.size = 0;
  packet.why = Failure(errc::access_denied, "no region in that segment may be written");
  const ControlPacket refused = there_and_back(packet);
  EXPECT_EQ(refused.size, 0U);
  ASSERT_TRUE(refused.why.has_value());
  EXPECT_EQ(refused.why->code(), errc::access_denied);
  EXPECT_EQ(refused.why->detail(), "no region in that segment may be written");
}

TEST(ControlPacket, OthersCarryTheirNumbers) {
  ControlPacket packet;
  packet.kind = PacketKind::welcome;
  packet.channel = 0x123456789abcdef0;
  packet.place = 4095;
  packet.name = "root/server=0";
  const ControlPacket welcome = there_and_back(packet);
  EXPECT_EQ(welcome.channel, 0x123456789abcdef0U);
  EXPECT_EQ(welcome.place, 4095U);
  EXPECT_EQ(welcome.name, "root/server=0");
  packet.kind = PacketKind::map;
  packet.segment = 9;
  packet.writable = true;
  const ControlPacket map = there_and_back(packet);
  EXPECT_EQ(map.segment, 9U);
  EXPECT_TRUE(map.writable);
  packet.kind = PacketKind::retire;
  EXPECT_EQ(there_and_back(packet).segment, 9U);
  packet.kind = PacketKind::join;
  packet.proof.fill(std::byte{0x3c});
  EXPECT_EQ(there_and_back(packet).proof, packet.proof);
}

TEST(ControlPacket, GreetingWithARefusalCarriesItsReason) {
  Greeting greeting;
  greeting.refusal = Failure(errc::not_authorised, "it does not know the secret");
  const wire::Bytes bytes = encode_greeting(greeting);
  const Greeting refusal = decode_greeting(view(bytes)).value();
  ASSERT_TRUE(refusal.refusal.has_value());
  EXPECT_EQ(refusal.refusal->code(), errc::not_authorised);
  EXPECT_EQ(refusal.refusal->detail(), "it does not know the secret");
}

TEST(ControlPacket, EveryShortenedOrLengthenedOrUnknownPacketIsMalformed) {
  for (const PacketKind kind : {PacketKind::join, PacketKind::welcome, PacketKind::map, PacketKind::segment,
                                PacketKind::retire, PacketKind::close}) {
    ControlPacket packet;
    packet.kind = kind;
    packet.segment = 1;
    packet.why = Failure(errc::revoked, "gone");
    wire::Bytes bytes = encode_packet(packet);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const auto cut = decode_packet({bytes.data(), length});
      EXPECT_TRUE(!cut && cut.error().code() == errc::malformed) << int(kind) << " cut to " << length;
    }
    bytes.push_back(std::byte{0});
    const auto longer = decode_packet(view(bytes));
    EXPECT_TRUE(!longer && longer.error().code() == errc::malformed) << int(kind);
  }
  ControlPacket packet;
  packet.why = Failure(errc::revoked, "gone");
  wire::Bytes bytes = encode_packet(packet);
  bytes[1] = std::byte{0};  // no error has this code
  EXPECT_FALSE(decode_packet(view(bytes)));
  bytes[1] = std::byte{0xff};
  EXPECT_FALSE(decode_packet(view(bytes)));
  bytes[0] = std::byte{99};
  EXPECT_FALSE(decode_packet(view(bytes)));
}

}  // namespace
}  // namespace ferry::shm
