// Connections come and go: refusals, strangers, shut-downs, fencing, segments given up; and nothing is left behind.
#include <sys/socket.h>
#include <sys/un.h>

#include <filesystem>
#include <fstream>

#include <ferry/shm/board.hpp>
#include <ferry/shm/control_packet.hpp>
#include <ferry/shm/packet_socket.hpp>

#include "test_node.hpp"

namespace ferry::shm {
namespace {

using namespace testing;

std::size_t open_descriptors() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

// Of shared memory of ferry's: segments, boards, channels.
std::size_t mappings() {
  std::size_t count = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    count += line.find("/memfd:ferry-") != std::string::npos ? 1 : 0;
  }
  return count;
}

TEST(Lifecycle, AProcessThatIsNotOnThisHostIsKnownAtOnce) {
  TestNode node;
  RemoteRegion region;
  region.owner = unique_id();
  region.slot = RegionSlot(1);
  region.generation = Generation(1);
  region.size = region.length = 8;
  region.rights = Access::all;
  EXPECT_EQ(read_once(node.peer(region.owner), region), errc::peer_unreachable);
  EXPECT_NE(node.peer(region.owner).explain().find("no such process listens on this host"), std::string::npos)
      << node.peer(region.owner).explain();
}

TEST(Lifecycle, AProcessOfAnotherJobIsRefusedByBoth) {
  TestNode owner;
  TestRegion region(owner, 64);
  JobSecret other = test_secret();
  other[31] = std::byte{1};
  TestNode stranger({.secret = other});
  EXPECT_EQ(read_once(stranger.peer(owner), region.ref()), errc::not_authorised);
  EXPECT_NE(stranger.peer(owner).explain().find("secret"), std::string::npos) << stranger.peer(owner).explain();
  eventually([&] { return owner.transport->stats().inbounds == 0; });
  EXPECT_EQ(owner.log.lines().size(), 1U);
  TestNode friendly;
  EXPECT_EQ(read_once(friendly.peer(owner), region.ref()), errc{});
}

TEST(Lifecycle, StrangersThatSendGarbageOrNothingAreClosedAndHarmNobody) {
  NodeLimits limits;
  limits.handshake = std::chrono::milliseconds(200);
  TestNode owner({.limits = limits});
  TestRegion region(owner, 64);
  std::vector<PacketSocket> strangers;
  constexpr std::uint64_t kSeed = 5;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  for (int number = 0; number < 50; ++number) {
    auto socket = connect_to(owner.core.self());
    ASSERT_TRUE(socket) << socket.error().to_text();
    strangers.emplace_back(std::move(*socket));
    if (number % 2 == 0) {
      wire::Bytes garbage(1 + random.below(4000));
      for (std::size_t index = 0; index < garbage.size(); ++index) {
        garbage[index] = static_cast<std::byte>(random.next());
      }
      strangers.back().send(std::move(garbage));
    }
  }
  TestNode friendly;
  EXPECT_EQ(read_once(friendly.peer(owner), region.ref()), errc{});
  eventually([&] { return owner.transport->stats().inbounds == 1; });
  EXPECT_EQ(owner.log.lines().size(), 50U) << "one line each";
  EXPECT_EQ(read_once(friendly.peer(owner), region.ref()), errc{});
}

// A peer that knows the secret and then passes the wrong things.
TEST(Lifecycle, AJoinWithOtherDescriptorsThanItsKindEndsWithAReason) {
  TestNode owner;
  for (const bool with_board : {false, true}) {
    auto connected = connect_to(owner.core.self());
    ASSERT_TRUE(connected);
    PacketSocket socket(std::move(*connected));
    Meeting meeting{1, unique_id(), owner.core.self(), fresh_nonce(), {}};
    Greeting greeting;
    greeting.initiator = meeting.initiator;
    greeting.owner = meeting.owner;
    greeting.nonce = meeting.initiator_nonce;
    ASSERT_TRUE(socket.send(encode_greeting(greeting)));
    Packet packet;
    eventually([&] { return socket.receive(packet) == PacketSocket::Received::packet; });
    auto answer = decode_greeting(packet.bytes);
    ASSERT_TRUE(answer && answer->proof);
    meeting.owner_nonce = answer->nonce;
    EXPECT_TRUE(is_proof(test_secret(), Role::owner, meeting, *answer->proof));
    ControlPacket join;
    join.kind = PacketKind::join;
    join.proof = prove(test_secret(), Role::initiator, meeting);
    std::vector<FileDescriptor> descriptors;
    auto board = OwnBoard::create();
    ASSERT_TRUE(board);
    for (int count = 0; count < 3; ++count) {
      const int shown = with_board && count == 0 ? board->descriptor() : STDERR_FILENO;
      descriptors.emplace_back(::dup(shown));
    }
    ASSERT_TRUE(socket.send(encode_packet(join), std::move(descriptors)));
    eventually([&] { return socket.receive(packet) == PacketSocket::Received::packet; });
    auto close = decode_packet(packet.bytes);
    ASSERT_TRUE(close) << close.error().to_text();
    EXPECT_EQ(close->kind, PacketKind::close);
    EXPECT_EQ(close->why->code(), errc::malformed);
  }
  eventually([&] { return owner.transport->stats().inbounds == 0; });
}

TEST(Lifecycle, AShutDownOwnerIsGoneAndPendingOperationsEndOnce) {
  auto owner = std::make_unique<TestNode>();
  TestNode reader;
  std::vector<std::byte> other(1 << 20);
  auto region = std::make_unique<TestRegion>(*owner, std::span(other));
  const RemoteRegion ref = region->ref();
  Peer& peer = reader.peer(*owner);
  ASSERT_EQ(read_once(peer, ref), errc{});
  auto bytes = pattern(other.size());
  owner->loop.stop_polling();
  Write write(ref, bytes);
  write.start(peer);
  EXPECT_FALSE(write.is_done());
  std::thread ending([&] {
    region.reset();
    owner->core.shut_down();
  });
  owner->loop.resume_polling();
  ending.join();
  write.wait();
  EXPECT_EQ(write.completions.load(), 1);
  eventually([&] { return static_cast<bool>(peer.fate()); });
  EXPECT_EQ(peer.fate().code(), errc::peer_lost);
  EXPECT_EQ(read_once(peer, ref), errc::peer_lost);
}

TEST(Lifecycle, ANodeThatShutsDownLeavesItsOwnersWithoutATrace) {
  TestNode owner;
  TestRegion region(owner, 64);
  {
    TestNode reader;
    ASSERT_EQ(read_once(reader.peer(owner), region.ref()), errc{});
    EXPECT_EQ(owner.transport->stats().inbounds, 1U);
  }
  eventually([&] { return owner.transport->stats().inbounds == 0; });
  EXPECT_EQ(owner.sink.closed(), 1U);
  EXPECT_TRUE(owner.log.lines().empty()) << owner.log.lines()[0];
}

TEST(Lifecycle, AFencedPeerGetsNothingNotEvenFromMemoryThatItHasMapped) {
  TestNode owner;
  TestNode reader;
  TestRegion region(owner, 64);
  Peer& peer = reader.peer(owner);
  ASSERT_EQ(read_once(peer, region.ref()), errc{});
  owner.loop.stop_polling();  // its admission is withdrawn at once, without a poll
  owner.transport->fence(reader.core.self());
  auto bytes = pattern(64);
  Write write(region.ref(), bytes);
  write.start(peer);
  EXPECT_EQ(*region.word(0), 0U);
  owner.loop.resume_polling();
  EXPECT_TRUE(write.wait());
  EXPECT_EQ(*region.word(0), 0U);
  EXPECT_TRUE(read_once(peer, region.ref()) != errc{}) << "it was admitted again";
  TestNode another;
  EXPECT_EQ(read_once(another.peer(owner), region.ref()), errc{});
}

TEST(Lifecycle, AWriteThatWaitsForItsSegmentIsToldOfARevocationAndNotThatItMayNotWrite) {
  TestNode owner;
  TestNode writer;
  std::vector<std::byte> other(8);
  TestRegion elsewhere(owner, other);
  ASSERT_EQ(read_once(writer.peer(owner), elsewhere.ref()), errc{});
  TestRegion region(owner, 64);
  auto bytes = pattern(64);
  owner.loop.stop_polling();
  Write write(region.ref(), bytes);
  write.start(writer.peer(owner));
  EXPECT_FALSE(write.is_done());
  ASSERT_TRUE(region.revoke());
  owner.loop.resume_polling();
  EXPECT_EQ(write.wait().code(), errc::revoked) << write.failure.to_text();
  EXPECT_EQ(write.failure.effect(), Effect::none);
}

TEST(Lifecycle, ASegmentThatIsGivenUpIsUnmappedByItsReaders) {
  TestNode owner;
  TestNode reader;
  TestRegion keep(owner, 64);
  ASSERT_EQ(read_once(reader.peer(owner), keep.ref()), errc{});
  const std::size_t before = mappings();
  for (int round = 0; round < 50; ++round) {
    TestRegion region(owner, std::size_t{1} << 20);
    ASSERT_EQ(read_once(reader.peer(owner), region.part(0, 64)), errc{});
  }
  eventually([&] { return mappings() <= before; });
  EXPECT_EQ(read_once(reader.peer(owner), keep.ref()), errc{});
}

TEST(Lifecycle, ManyConnectionsLeaveNoDescriptorAndNoMapping) {
  TestNode owner;
  TestRegion region(owner, 64);
  std::vector<std::byte> other(4096);
  TestRegion elsewhere(owner, other);
  const auto cycle = [&] {
    TestNode reader;
    ASSERT_EQ(read_once(reader.peer(owner), region.ref()), errc{});
    ASSERT_EQ(read_once(reader.peer(owner), elsewhere.ref()), errc{});
    auto bytes = pattern(4096);
    Write write(elsewhere.ref(), bytes);
    ASSERT_FALSE(write.run(reader.peer(owner)));
  };
  cycle();
  eventually([&] { return owner.transport->stats().inbounds == 0; });
  const std::size_t descriptors = open_descriptors();
  const std::size_t mapped = mappings();
  for (int round = 0; round < 60; ++round) {
    cycle();
  }
  eventually([&] { return owner.transport->stats().inbounds == 0 && open_descriptors() <= descriptors; });
  eventually([&] { return mappings() <= mapped; });
}

TEST(Lifecycle, AMemberOfASequenceIsNotStartedOnAnotherChannelAndSaysWhyItLostItsOwn) {
  TestNodeOptions options;
  options.limits.heartbeat = std::chrono::milliseconds(5);
  options.limits.failure_detection = std::chrono::milliseconds(200);
  TestNode owner(options);
  options.id = unique_id();
  TestNode initiator(options);
  std::vector<std::byte> other(64);
  TestRegion region(owner, other);
  Atomic warm(OperationKind::fetch_add, region.ref(), 0, 1);
  ASSERT_FALSE(warm.run(initiator.peer(owner)));
  owner.loop.stop_polling();
  Atomic member(OperationKind::fetch_add, region.ref(), 0, 10);
  member.sequence = {7, 0, 0};
  member.run(initiator.peer(owner));
  owner.loop.resume_polling();
  EXPECT_EQ(member.code(), errc::not_executed);
  EXPECT_NE(member.failure.detail().find("the channel of its sequence has ended (peer_lost: the process (PID"),
            std::string::npos)
      << member.failure.to_text();
  EXPECT_NE(member.failure.detail().find("was silent for 200 ms"), std::string::npos) << member.failure.to_text();
  Atomic next(OperationKind::fetch_add, region.ref(), 0, 100);
  ASSERT_FALSE(next.run(initiator.peer(owner)));
  EXPECT_EQ(next.result, 1U);
}

}  // namespace
}  // namespace ferry::shm
