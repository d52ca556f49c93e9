// The messages of the control link and the commands of a lane, as bytes that somebody else may have chosen.
#include <gtest/gtest.h>

#include <ferry/queue/command.hpp>
#include <ferry/queue/control_protocol.hpp>
#include <ferry/queue/reply_log.hpp>

namespace ferry::queue {
namespace {

wire::ByteView body(const wire::Bytes& message) {
  return wire::ByteView(message).subspan(1);
}

// Nothing shorter or longer is taken.
template <class Decode>
void expect_exact(const wire::Bytes& message, Decode decode) {
  EXPECT_TRUE(decode(body(message)));
  for (std::size_t length = 0; length + 1 < message.size(); ++length) {
    const auto cut = decode(body(message).first(length));
    ASSERT_FALSE(cut) << length << " of " << message.size() - 1 << " bytes";
    EXPECT_EQ(cut.error().code(), errc::malformed);
  }
  wire::Bytes longer = message;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode(body(longer)));
}

const RegionHandle kRegion{RegionSlot(3), Generation(99)};
const Failure kRefusal = Failure(errc::revoked, "it is gone").with_range(1, 2, 3).with_effect(Effect::unknown);

TEST(ControlProtocol, EveryMessageIsReadBackAndNothingElse) {
  const Contact contact{{7, 8}, {{TransportId::sim, "4"}}};
  expect_exact(encode(Hello{OrderClass::srd, true, 5, "name", contact}), decode_hello);
  expect_exact(encode(Welcome{OrderClass::strict, true, 5, "name"}), decode_welcome);
  expect_exact(encode(OpenLane{2, wire::Bytes(wire::as_bytes("where"))}), decode_open_lane);
  expect_exact(encode(LaneReady{2, 16, {3, 4}, wire::Bytes(wire::as_bytes("there"))}), decode_lane_ready);
  expect_exact(encode(Check{1, kRegion, Access::read, 2, 3}), decode_check);
  expect_exact(encode(Marked{1, 2, 3}), decode_marked);
  expect_exact(encode(Executed{1, 2, 3, kRefusal, 4, wire::Bytes(wire::as_bytes("data"))}), decode_executed);
  expect_exact(encode_discard(4), decode_lane);
  expect_exact(encode(Discarded{4, true}), decode_discarded);
  expect_exact(encode_forget(4), decode_sequence);
  expect_exact(encode_lane_refused(4, kRefusal), decode_lane_refused);
  expect_exact(encode_checked(4, kRefusal), decode_checked);
  AtomicRequest atomic{1, 2, kRegion, AtomicKind::swap, 3, 4, 5, 7, 6};
  expect_exact(encode(atomic), decode_atomic);
}

TEST(ControlProtocol, ValuesComeBack) {
  const auto hello = decode_hello(body(encode(Hello{OrderClass::iwarp, true, 5, "name", {{7, 8}, {}}})));
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->order, OrderClass::iwarp);
  EXPECT_TRUE(hello->has_flush);
  EXPECT_EQ(hello->channel, 5U);
  EXPECT_EQ(hello->name, "name");
  EXPECT_EQ(hello->contact.id, (ProcessId{7, 8}));
  const auto executed = decode_executed(body(encode(Executed{1, 2, 3, kRefusal, 4, {}})));
  ASSERT_TRUE(executed);
  EXPECT_EQ(executed->failure.to_text(), kRefusal.to_text());
  EXPECT_EQ(executed->value, 4U);
  const auto fine = decode_checked(body(encode_checked(9, {})));
  ASSERT_TRUE(fine);
  EXPECT_EQ(fine->number, 9U);
  EXPECT_FALSE(fine->failure);
}

TEST(ControlProtocol, WhatCannotBeIsMalformed) {
  EXPECT_FALSE(decode_welcome(body(encode(Welcome{OrderClass::strict, false, 0, ""})))) << "session 0";
  EXPECT_FALSE(decode_open_lane(body(encode(OpenLane{0, {}})))) << "lane 0";
  EXPECT_FALSE(decode_open_lane(body(encode(OpenLane{1, wire::Bytes(std::size_t{65})})))) << "a long address";
  EXPECT_FALSE(decode_lane_ready(body(encode(LaneReady{1, 0, {}, {}})))) << "no receives";
  EXPECT_FALSE(decode_atomic(body(encode(AtomicRequest{1, 0, kRegion, AtomicKind::swap, 0, 0, 0, 6, 6}))))
      << "acknowledged before it is asked";
  EXPECT_FALSE(decode_lane_refused(body(encode_lane_refused(1, {})))) << "no reason";
  wire::Bytes other = encode(Welcome{OrderClass::strict, false, 1, ""});
  other[1] = std::byte{9};
  EXPECT_EQ(decode_welcome(body(other)).error().code(), errc::version_mismatch);
}

TEST(ControlProtocol, ALongTextIsCut) {
  const auto verdict = decode_checked(body(encode_checked(1, Failure(errc::revoked, std::string(5000, 'x')))));
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->failure.detail().size(), kTextBytes);
}

TEST(Command, IsReadBackAndNothingElse) {
  Command write;
  write.kind = CommandKind::write;
  write.id = 5;
  write.sequence = 6;
  write.region = kRegion;
  write.ranges = 2;
  write.range[0] = {8, 3};
  write.range[1] = {16, 2};
  wire::Bytes bytes = encode(write);
  bytes.append(wire::as_bytes("abcde"));
  const auto decoded = decode_command(bytes);
  ASSERT_TRUE(decoded) << decoded.error().to_text();
  EXPECT_EQ(decoded->kind, CommandKind::write);
  EXPECT_EQ(decoded->id, 5U);
  EXPECT_EQ(decoded->sequence, 6U);
  EXPECT_EQ(decoded->bytes(), 5U);
  EXPECT_EQ(decoded->range[1].offset, 16U);
  EXPECT_EQ(wire::as_text(decoded->data), "abcde");
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(decode_command(wire::ByteView(bytes).first(length))) << length;
  }
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(decode_command(bytes));
}

TEST(Command, TheLargestFitsAReceive) {
  Command write;
  write.kind = CommandKind::write;
  write.region = kRegion;
  write.ranges = kCommandRanges;
  write.range[0].length = limits::kSmallBytes;
  EXPECT_LE(encode(write).size() + limits::kSmallBytes, kCommandBytes);
  write.range[1].length = 1;
  wire::Bytes bytes = encode(write);
  bytes.append(wire::Bytes(limits::kSmallBytes + 1));
  EXPECT_EQ(decode_command(bytes).error().code(), errc::malformed) << "more than is small";
}

TEST(Command, OverflowingLengthsAreMalformed) {
  Command read;
  read.kind = CommandKind::read;
  read.region = kRegion;
  read.ranges = 2;
  read.range[0].length = 8;
  read.range[1].length = ~std::uint64_t{0} - 3;
  EXPECT_EQ(decode_command(encode(read)).error().code(), errc::malformed);
  for (int kind = 0; kind < 256; ++kind) {
    wire::Bytes bytes(std::size_t{1}, static_cast<std::byte>(kind));
    EXPECT_FALSE(decode_command(bytes));
  }
}

TEST(ReplyLog, AnAtomicThatComesAgainGetsItsFirstReply) {
  ReplyLog log;
  EXPECT_EQ(*log.find(2, 0), nullptr);
  log.add(2, {5, {}});
  ASSERT_NE(*log.find(2, 0), nullptr);
  EXPECT_EQ((*log.find(2, 0))->value, 5U);
  EXPECT_EQ(*log.find(1, 0), nullptr) << "numbers may come in any order";
  log.add(1, {6, {}});
  EXPECT_EQ(*log.find(3, 2), nullptr);
  EXPECT_EQ(log.size(), 0U) << "what was acknowledged is forgotten";
  EXPECT_EQ(log.find(2, 2).error().code(), errc::malformed);
}

TEST(ReplyLog, IsBounded) {
  ReplyLog log;
  std::uint64_t number = 1;
  while (log.find(number, 0) && number < 100000) {
    log.add(number++, {});
  }
  EXPECT_EQ(log.find(number, 0).error().code(), errc::malformed);
  EXPECT_EQ(log.size(), 2 * kAtomics);
}

}  // namespace
}  // namespace ferry::queue
