#include <gmock/gmock.h>
#include <sys/resource.h>

#include <thread>

#include <ferry/base/random.hpp>
#include <ferry/wire/writer.hpp>

#include "raw_client.hpp"
#include "tcp_node.hpp"

namespace ferry::tcp::test {
namespace {

using testing::HasSubstr;

class TcpStrangers : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(owner.listening);
    loop.start();
  }
  void TearDown() override {
    initiator.core.shut_down();
    owner.core.shut_down();
    EXPECT_EQ(loop.source_count(), 0u);
  }
  static NodeLimits limits(std::chrono::milliseconds handshake) {
    NodeLimits limits = test_limits();
    limits.handshake = handshake;
    return limits;
  }
  bool serves() {
    std::vector<std::byte> word(8);
    return read(initiator.peer(owner), region, word)->succeeds();
  }
  std::string address() const { return owner.core.contact().addresses.front().text; }

  TestLoop loop;
  TestNode initiator{loop, {.id = 1}};
  TestNode owner{loop, {.id = 2, .limits = limits(500ms)}};
  std::vector<std::byte> remote = std::vector<std::byte>(4096);
  RemoteRegion region = owner.reference(owner.add(remote));
};

TEST_F(TcpStrangers, OtherProtocolsAreClosedAtOnceWithOneLineEach) {
  std::vector<std::string> greetings{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", std::string("\x16\x03\x01\x02\x00\x01", 6),
                                     std::string(4, '\xff'), std::string(8, '\0'), std::string(1 << 20, 'r')};
  for (std::size_t index = 0; index < greetings.size(); ++index) {
    RawClient client(address());
    client.send(greetings[index]);
    EXPECT_TRUE(client.is_closed_by_peer());
    ASSERT_TRUE(eventually([&] { return owner.log.lines().size() == index + 1; }));
    EXPECT_THAT(owner.log.lines().back(), HasSubstr("closed the connection from 127.0.0.1:"));
    EXPECT_THAT(owner.log.lines().back(), HasSubstr("does not speak ferry"));
  }
  EXPECT_EQ(owner.tcp->inbounds(), 0u);
  EXPECT_TRUE(serves());
  EXPECT_EQ(owner.tcp->stats().strangers, greetings.size());
}

TEST_F(TcpStrangers, SilenceAndHalfHandshakesEndAtTheLimit) {
  std::vector<std::unique_ptr<RawClient>> clients;
  for (const std::string_view said : {std::string_view(""), std::string_view("F"), std::string_view("FERRYv01"),
                                      std::string_view("FERRYv01\1\0\1\0\0\0\0\0\0\0\0\0\x40\0\0\0half", 28)}) {
    clients.push_back(std::make_unique<RawClient>(address()));
    clients.back()->send(said);
  }
  EXPECT_TRUE(serves());
  for (const auto& client : clients) {
    EXPECT_TRUE(client->is_closed_by_peer());
  }
  ASSERT_TRUE(eventually([&] { return owner.log.lines().size() == clients.size(); }));
  for (const std::string& line : owner.log.lines()) {
    EXPECT_THAT(line, HasSubstr("did not complete the handshake within 500 ms"));
  }
  EXPECT_EQ(owner.tcp->strangers(), 0u);
}

TEST_F(TcpStrangers, LengthsThatLieAreRefused) {
  for (const std::uint32_t fields : {std::uint32_t{4097}, std::uint32_t{0xffffffff}}) {
    wire::Bytes head;
    wire::Writer writer(head);
    writer.raw(wire::as_bytes(wire::kHandshakeMagic));
    writer.u16(1);
    writer.u16(1);
    writer.u64(0);
    writer.u32(fields);
    RawClient client(address());
    client.send(wire::as_text(head));
    EXPECT_TRUE(client.is_closed_by_peer());
  }
  EXPECT_TRUE(serves());
}

TEST_F(TcpStrangers, VisitorsThatGoAwayNeverCountAsPeers) {
  for (int index = 0; index < 200; ++index) {
    RawClient client(address());
    client.send(std::string_view("FERRYv0").substr(0, static_cast<std::size_t>(index % 8)));
  }
  EXPECT_TRUE(serves());
  ASSERT_TRUE(eventually([&] { return owner.log.lines().size() == 200; }));
  EXPECT_EQ(owner.tcp->inbounds(), 1u);
}

TEST_F(TcpStrangers, MoreSilentOnesThanMayWaitDoNotKeepAPeerOut) {
  std::vector<std::unique_ptr<RawClient>> clients;
  for (std::size_t index = 0; index < TcpTransport::kStrangers + 50; ++index) {
    clients.push_back(std::make_unique<RawClient>(address()));
  }
  EXPECT_TRUE(serves());
  EXPECT_LE(owner.tcp->strangers(), TcpTransport::kStrangers);
  EXPECT_TRUE(clients.front()->is_closed_by_peer());
}

TEST_F(TcpStrangers, AnotherSecretIsNotAuthorisedAndBothSidesSayWhy) {
  TestNode other(loop, {.id = 3, .secret = test_secret(8)});
  std::vector<std::byte> word(8);
  auto call = read(other.peer(owner), region, word);
  ASSERT_TRUE(call->fails_with(errc::not_authorised));
  EXPECT_THAT(call->failure.to_text(), HasSubstr("does not know this job's secret"));
  EXPECT_THAT(call->failure.to_text(), HasSubstr(address()));
  ASSERT_TRUE(eventually([&] { return owner.log.lines().size() == 1; }));
  EXPECT_EQ(owner.tcp->inbounds(), 0u);
  EXPECT_EQ(owner.core.peers().find(other.core.self()), nullptr);
  EXPECT_TRUE(serves());
}

TEST_F(TcpStrangers, AnotherVersionIsToldOurs) {
  wire::Handshake future;
  future.versions = {7, 9};
  RawClient client(address());
  client.send(wire::as_text(wire::encode_handshake(future)));
  EXPECT_THAT(client.receive_until_closed(), testing::StartsWith(std::string(wire::kHandshakeMagic)));
  ASSERT_TRUE(eventually([&] { return owner.log.lines().size() == 1; }));
  EXPECT_THAT(owner.log.lines().front(), HasSubstr("versions 7 to 9"));
}

TEST_F(TcpStrangers, AcceptedConnectionsBeyondTheDescriptorLimitAreTurnedAwayAndServiceGoesOn) {
  ASSERT_TRUE(serves());
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int index = 0; index < 20; ++index) {
    clients.push_back(std::make_unique<RawClient>());
  }
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(clients.back()->descriptor() + 1);  // nothing above is free
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  for (const auto& client : clients) {
    client->connect(address());
  }
  int closed = 0;
  for (const auto& client : clients) {
    closed += client->is_closed_by_peer() ? 1 : 0;
  }
  EXPECT_TRUE(serves()) << "the present channel is not disturbed";
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(closed, 20);
  TestNode late(loop, {.id = 9});
  std::vector<std::byte> word(8);
  EXPECT_TRUE(read(late.peer(owner), region, word)->succeeds());
}

// One that knows the secret and does not keep to the protocol.
class TcpRogue : public TcpStrangers {
 protected:
  // Sends `bytes` behind a good handshake; the owner has to close, with one line, and go on.
  void expect_refused(wire::ByteView bytes, const char* what) {
    const std::size_t lines = owner.log.lines().size();
    RogueInitiator rogue(address(), owner.core.self(), test_secret(), next_id++);
    ASSERT_TRUE(rogue.is_welcome());
    rogue.client.send(wire::as_text(bytes));
    EXPECT_TRUE(rogue.client.is_closed_by_peer()) << what;
    ASSERT_TRUE(eventually([&] { return owner.log.lines().size() > lines; })) << what;
    EXPECT_EQ(owner.log.lines().size(), lines + 1) << what;
    EXPECT_THAT(owner.log.lines().back(), HasSubstr("rogue at 127.0.0.1:")) << what;
    EXPECT_TRUE(serves()) << what;
  }

  std::uint64_t next_id = 1000;
};

TEST_F(TcpRogue, FramesThatBreakTheProtocolCloseTheChannelWithOneLine) {
  const RegionHandle handle{region.slot, region.generation};
  const auto frame = [](Kind kind, std::size_t length, std::uint8_t flags = 0, std::uint64_t id = 1) {
    wire::Bytes bytes(wire::kFrameHeaderSize + padded(std::min<std::size_t>(length, 4096)));
    put_header(bytes.data(), kind, flags, length, id);
    return bytes;
  };
  expect_refused(frame(Kind{0}, 0), "no kind");
  expect_refused(frame(Kind{99}, 8), "an unknown kind");
  expect_refused(frame(Kind::data, 8), "an owner's answer");
  expect_refused(frame(Kind::flush, 8), "a flush with a payload");
  expect_refused(frame(Kind::flush, 0, 1), "a flush with flags");
  expect_refused(frame(Kind::heartbeat, 0), "a heartbeat without its number");
  expect_refused(frame(Kind::read, 8), "a read that is too short");
  expect_refused(frame(Kind::atomic, 56), "an atomic that is too short");
  expect_refused(frame(Kind::atomic, 64), "an atomic without a number");
  expect_refused(frame(Kind::message, kPieceBytes + 1), "a message piece that is too long");
  expect_refused(frame(Kind::message, 8, 0, 1 << 30), "a message that is too long");
  expect_refused(frame(Kind::message, 0, 1, 0), "a message with flags");
  expect_refused(frame(Kind::read, 0xffffffff), "a length of 4 GiB");
  {
    auto bytes = frame(Kind::flush, 0);
    bytes[6] = std::byte{1};
    expect_refused(bytes, "the reserved field");
  }
  const auto access = [&](Kind kind, std::uint32_t count, const std::vector<Range>& ranges, std::size_t data,
                          std::uint8_t flags = 0) {
    wire::Bytes bytes(wire::kFrameHeaderSize + AccessRequest::kSize + ranges.size() * kRangeSize + data);
    std::byte* to = put_header(bytes.data(), kind, flags, bytes.size() - wire::kFrameHeaderSize, 1);
    to = put_access(to, {handle, 0, 0, count});
    for (const Range& range : ranges) {
      to = put_range(to, range);
    }
    return bytes;
  };
  expect_refused(access(Kind::read, 2, {{0, 8}}, 0), "fewer ranges than it says");
  expect_refused(access(Kind::read, 1, {{0, 8}, {0, 8}}, 0), "more ranges than it says");
  expect_refused(access(Kind::read, 0xffffffff, {{0, 8}}, 0), "2^32 ranges");
  expect_refused(access(Kind::read, 1, {{0, kPieceBytes + 1}}, 0), "a read of more than a piece");
  expect_refused(access(Kind::read, 2, {{0, ~std::uint64_t{0}}, {0, 2}}, 0), "lengths whose sum wraps");
  expect_refused(access(Kind::write, 1, {{0, 8}}, 16), "more data than its range");
  expect_refused(access(Kind::write, 1, {{0, 16}}, 8), "less data than its range");
  expect_refused(access(Kind::write, 1, {{0, ~std::uint64_t{0} - 3}}, 8), "a range whose padding wraps");
  expect_refused(access(Kind::write, 0xffffffff, {{0, 8}}, 8), "2^32 ranges of a write");
  expect_refused(access(Kind::write, 1, {{0, 8}}, 8, 3), "flags that exclude each other");
  expect_refused(access(Kind::write, 1, {{0, 8}}, 8, 128), "unknown flags");
  EXPECT_EQ(remote, std::vector<std::byte>(4096));
}

TEST_F(TcpRogue, MessageWhoseContinuationDoesNotFitIsRefused) {
  wire::Bytes bytes(2 * (wire::kFrameHeaderSize + 8));
  put_header(bytes.data(), Kind::message, 0, 8, 100);
  put_header(bytes.data() + 24, Kind::message, 0, 8, 91);  // 92 are left
  expect_refused(bytes, "the rest of a message");
}

TEST_F(TcpRogue, RequestsForMemoryThatIsNotThereAreAnsweredAndNotMore) {
  RogueInitiator rogue(address(), owner.core.self(), test_secret(), next_id++);
  ASSERT_TRUE(rogue.is_welcome());
  Random random(5);
  std::printf("seed 5\n");
  for (int round = 0; round < 200; ++round) {
    wire::Bytes bytes(wire::kFrameHeaderSize + AccessRequest::kSize + kRangeSize);
    std::byte* to = put_header(bytes.data(), Kind::read, 0, AccessRequest::kSize + kRangeSize, 7);
    to = put_access(
        to, {{RegionSlot(static_cast<std::uint32_t>(random.next())), Generation(random.next())}, random.next(), 0, 1});
    put_range(to, {random.next(), random.below(kSmallBytes)});
    rogue.client.send(wire::as_text(bytes));
    const std::string answer = rogue.client.receive(wire::kFrameHeaderSize);
    ASSERT_EQ(static_cast<Kind>(answer[4]), Kind::failed);
    rogue.client.receive(padded(static_cast<std::uint8_t>(answer[0]) + 256U * static_cast<std::uint8_t>(answer[1])));
  }
  EXPECT_TRUE(owner.log.lines().empty());
}

TEST_F(TcpRogue, RandomFramesNeverHurtTheOwner) {
  const std::uint64_t seed = 77;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  Random random(seed);
  const RegionHandle handle{region.slot, region.generation};
  constexpr std::array kKinds{Kind::heartbeat, Kind::goodbye, Kind::message, Kind::read,           Kind::write,
                              Kind::atomic,    Kind::flush,   Kind::cancel,  Kind::forget_sequence};
  for (int round = 0; round < 300; ++round) {
    RogueInitiator rogue(address(), owner.core.self(), test_secret(), next_id++);
    ASSERT_TRUE(rogue.is_welcome());
    for (int index = 0; index < 20; ++index) {
      wire::Bytes bytes(wire::kFrameHeaderSize + 8 * random.below(40));
      for (std::byte& byte : bytes) {
        byte = random.below(3) == 0 ? static_cast<std::byte>(random.next()) : std::byte{0};
      }
      const std::size_t payload = bytes.size() - wire::kFrameHeaderSize;
      put_header(bytes.data(), kKinds[random.below(kKinds.size())], static_cast<std::uint8_t>(random.below(4) == 0),
                 payload, random.below(3));
      if (payload >= AccessRequest::kSize && random.below(2) == 0) {
        std::byte* to = put_access(bytes.data() + wire::kFrameHeaderSize,
                                   {handle, random.below(2), 0, static_cast<std::uint32_t>(random.below(3))});
        if (payload >= AccessRequest::kSize + kRangeSize) {
          put_range(to, {random.below(5000), random.below(200)});
        }
      }
      rogue.client.send(wire::as_text(bytes));
    }
  }
  EXPECT_TRUE(serves());
  ASSERT_TRUE(eventually([&] { return owner.tcp->inbounds() == 1; }));
}

TEST_F(TcpRogue, InitiatorThatDoesNotReadItsAnswersCostsABoundedAmountAndIsLost) {
  NodeLimits short_limits = limits(5s);
  short_limits.failure_detection = 1s;
  TestNode patient(loop, {.id = 5, .limits = short_limits});
  std::vector<std::byte> memory(1 << 20);
  const RegionHandle handle = patient.add(memory);
  RogueInitiator rogue(patient.core.contact().addresses.front().text, patient.core.self(), test_secret(), next_id++);
  ASSERT_TRUE(rogue.is_welcome());
  wire::Bytes bytes(wire::kFrameHeaderSize + AccessRequest::kSize + kRangeSize);
  std::byte* to = put_header(bytes.data(), Kind::read, 0, AccessRequest::kSize + kRangeSize, 7);
  put_range(put_access(to, {handle, 0, 0, 1}), {0, kSmallBytes});
  // It asks for ever; the owner stops to listen when it cannot answer, and at last gives it up.
  while (rogue.client.try_send(wire::as_text(bytes))) {
  }
  EXPECT_TRUE(eventually([&] { return patient.tcp->inbounds() == 0; }));
}

}  // namespace
}  // namespace ferry::tcp::test
