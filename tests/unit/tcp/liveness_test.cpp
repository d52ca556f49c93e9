#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>

#include "proxy.hpp"
#include "raw_client.hpp"
#include "tcp_node.hpp"

namespace ferry::tcp::test {
namespace {

using testing::HasSubstr;

NodeLimits short_limits() {
  NodeLimits limits = test_limits();
  limits.heartbeat = 100ms;
  limits.failure_detection = 2s;
  limits.handshake = 1s;
  return limits;
}

class TcpLiveness : public testing::Test {
 protected:
  void SetUp() override {
    loop.start();
    std::vector<std::byte> word(8);
    ASSERT_TRUE(read(peer, region, word)->succeeds());
  }
  void TearDown() override {
    proxy.hold(false);
    initiator.core.shut_down();
    owner.core.shut_down();
    EXPECT_EQ(loop.source_count(), 0u);
  }

  TestLoop loop;
  TestNode initiator{loop, {.id = 1, .limits = short_limits()}};
  TestNode owner{loop, {.id = 2, .limits = short_limits()}};
  Proxy proxy{owner.core.contact().addresses.front().text};
  Peer& peer = initiator.peer(owner, proxy.address());
  std::vector<std::byte> remote = std::vector<std::byte>(4096);
  RemoteRegion region = owner.reference(owner.add(remote));
};

TEST_F(TcpLiveness, IdleChannelIsKeptAliveByHeartbeatsBothWays) {
  const std::uint64_t there = proxy.passed(Proxy::to_owner);
  const std::uint64_t back = proxy.passed(Proxy::to_initiator);
  // Many times as long as silence may last, counted in heartbeats.
  ASSERT_TRUE(eventually([&] {
    return proxy.passed(Proxy::to_owner) > there + 24 * 15 && proxy.passed(Proxy::to_initiator) > back + 24 * 15;
  }));
  EXPECT_EQ(initiator.sink.count(&RecordingSink::failures), 0u);
  EXPECT_EQ(owner.tcp->inbounds(), 1u);
  EXPECT_GT(initiator.core.traffic().heartbeat_bytes.load(), 24u * 15);
}

TEST_F(TcpLiveness, SilentPeerIsLostByNameOnBothSides) {
  proxy.hold(true);
  ASSERT_TRUE(eventually([&] { return initiator.sink.count(&RecordingSink::failures) > 0; }));
  EXPECT_THAT(initiator.sink.get(&RecordingSink::failures).front(), HasSubstr("peer_lost"));
  EXPECT_THAT(initiator.sink.get(&RecordingSink::failures).front(), HasSubstr("node2 at"));
  EXPECT_THAT(initiator.sink.get(&RecordingSink::failures).front(), HasSubstr("silent for 2000 ms"));
  EXPECT_EQ(initiator.sink.get(&RecordingSink::states).front(), PeerState::unknown);
  ASSERT_TRUE(eventually([&] { return owner.tcp->inbounds() == 0; }));
  EXPECT_THAT(owner.sink.get(&RecordingSink::inbounds_closed).front(), HasSubstr("node1 at"));
}

TEST_F(TcpLiveness, WhoReadsButIsSilentIsLostToo) {
  proxy.hold(Proxy::to_initiator, true);
  ASSERT_TRUE(eventually([&] { return initiator.sink.count(&RecordingSink::failures) > 0; }));
  EXPECT_THAT(initiator.sink.get(&RecordingSink::failures).front(), HasSubstr("silent for"));
}

TEST_F(TcpLiveness, MessageThatTakesLongerThanSilenceMayLastArrivesAndTheCutAfterItIsNoticed) {
  const std::string large = "e" + std::string(4 << 20, 'x');
  proxy.throttle(1500);  // bytes in a millisecond at most
  ASSERT_FALSE(peer.send(message(large)));
  ASSERT_TRUE(eventually([&] { return initiator.sink.count(&RecordingSink::replies) == 1; }));
  EXPECT_EQ(initiator.sink.get(&RecordingSink::replies).front(), large);
  EXPECT_EQ(initiator.sink.count(&RecordingSink::failures), 0u);
  EXPECT_EQ(owner.sink.count(&RecordingSink::inbounds_closed), 0u);
  proxy.throttle(0);
  proxy.hold(true);
  EXPECT_TRUE(eventually([&] { return initiator.sink.count(&RecordingSink::failures) == 1; }));
}

TEST_F(TcpLiveness, ProcessWhoseKernelAnswersButWhichDoesNotIsGivenUpAtTheHandshakeLimit) {
  // As a stopped process: its backlog takes the connection.
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(::listen(socket, 8), 0);
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length);
  const std::string where = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  RemoteRegion far = region;
  far.owner = {77, 77};
  Peer& stopped = initiator.core.peers().find_or_add(Contact{far.owner, {Address{TransportId::tcp, where}}});
  std::vector<std::byte> word(8);
  auto call = read(stopped, far, word);
  ASSERT_TRUE(call->fails_with(errc::peer_unreachable));
  EXPECT_THAT(call->failure.to_text(), HasSubstr(where + ": the connection was taken, but no handshake came within"));
  EXPECT_TRUE(read(peer, region, word)->succeeds()) << "other peers are not held up";
  ::close(socket);
}

TEST_F(TcpLiveness, StoppedProcessIsLostAndReachedAgainWhenItGoesOn) {
  // A child that is a node of its own, stopped by a signal in the middle of its life.
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    TestLoop own_loop;
    TestNode own(own_loop, {.id = 50, .limits = short_limits()});
    std::vector<std::byte> memory(64, std::byte{5});
    const RemoteRegion shared = own.reference(own.add(memory));
    const std::string text = own.core.contact().addresses.front().text;
    std::array<char, 256> told{};
    std::memcpy(told.data(), &shared, sizeof shared);
    std::memcpy(told.data() + 192, text.data(), text.size());
    [[maybe_unused]] const ssize_t written = ::write(ready[1], told.data(), told.size());
    for (;;) {
      own_loop.step();
      ::usleep(200);
    }
  }
  std::array<char, 256> told{};
  ASSERT_EQ(::read(ready[0], told.data(), told.size()), 256);
  ::close(ready[0]);
  ::close(ready[1]);
  RemoteRegion shared;
  static_assert(sizeof shared <= 192);
  std::memcpy(&shared, told.data(), sizeof shared);
  Peer& other = initiator.core.peers().find_or_add(
      Contact{shared.owner, {Address{TransportId::tcp, std::string(told.data() + 192)}}});
  std::vector<std::byte> local(64);
  EXPECT_TRUE(read(other, shared, local)->succeeds());
  ::kill(child, SIGSTOP);
  auto call = read(other, shared, local);
  EXPECT_TRUE(call->fails_with(errc::peer_lost));
  ::kill(child, SIGCONT);
  EXPECT_TRUE(read(other, shared, local)->succeeds());
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(read(other, shared, local)->fails_with(errc::peer_lost)) << "nobody listens there any more";
  EXPECT_TRUE(eventually([&] {
    const std::vector<PeerState> states = initiator.sink.get(&RecordingSink::states);
    return !states.empty() && states.back() == PeerState::gone;
  }));
}

}  // namespace
}  // namespace ferry::tcp::test
