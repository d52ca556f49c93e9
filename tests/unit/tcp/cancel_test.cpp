#include <gmock/gmock.h>

#include <thread>

#include "proxy.hpp"
#include "tcp_node.hpp"

namespace ferry::tcp::test {
namespace {

const Failure kWhy(errc::timed_out, "the test's limit");

class TcpCancel : public testing::Test {
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
  static NodeLimits limits() {
    NodeLimits limits = test_limits();
    limits.quiet_grace = 300ms;
    return limits;
  }
  bool broke() const { return initiator.sink.count(&RecordingSink::failures) > 0; }

  TestLoop loop;
  TestNode initiator{loop, {.id = 1, .limits = limits()}};
  TestNode owner{loop, {.id = 2}};
  Proxy proxy{owner.core.contact().addresses.front().text};
  Peer& peer = initiator.peer(owner, proxy.address());
  std::vector<std::byte> remote = pattern(32 << 20);
  RemoteRegion region = owner.reference(owner.add(remote));
};

// No grace is needed where the peer answers, however short it is: nothing is torn down.
class TcpCancelAnswered : public TcpCancel {};

TEST_F(TcpCancelAnswered, ReadEndsWithTheReasonItsMemoryIsQuietAndTheChannelLives) {
  std::vector<std::byte> local(remote.size());
  proxy.throttle(20'000);
  auto call = read(peer, region, local);
  ASSERT_TRUE(eventually([&] { return call->progress.load() > 20; }));
  peer.cancel(*call, kWhy);
  const std::vector<std::byte> then = local;  // a started frame may still be arriving
  proxy.throttle(0);
  EXPECT_TRUE(call->fails_with(errc::timed_out));
  EXPECT_EQ(call->failure.effect(), Effect::none);
  EXPECT_EQ(call->completions(), 1);
  std::vector<std::byte> word(8);
  ASSERT_TRUE(read(peer, region, word)->succeeds());
  EXPECT_EQ(local, then);
  EXPECT_NE(local, remote);
  EXPECT_FALSE(broke());
  EXPECT_EQ(proxy.connections(), 1);
}

TEST_F(TcpCancelAnswered, WriteStopsAfterThePiecesThatWereSent) {
  const auto bytes = pattern(32 << 20, 2);
  proxy.throttle(20'000);
  auto call = write(peer, region, bytes);
  ASSERT_TRUE(eventually([&] { return call->progress.load() > 20; }));
  peer.cancel(*call, kWhy);
  proxy.throttle(0);
  EXPECT_TRUE(call->fails_with(errc::timed_out));
  EXPECT_EQ(call->failure.effect(), Effect::unknown);
  const std::vector<std::byte> then = remote;
  EXPECT_NE(remote, bytes);
  std::vector<std::byte> word(8);
  ASSERT_TRUE(read(peer, region, word)->succeeds());
  EXPECT_EQ(remote, then) << "the owner's memory is quiet too";
  EXPECT_FALSE(broke());
}

TEST_F(TcpCancelAnswered, WhatWasNotSentHasNoEffect) {
  proxy.hold(true);
  const auto bytes = pattern(32 << 20, 2);
  auto blocker = write(peer, region, bytes);
  const auto small = pattern(64, 5);
  std::vector<std::unique_ptr<Call>> calls;
  while (calls.empty() || calls.back()->progress.load() > 0) {  // until the socket's and our own buffer are full
    calls.push_back(write(peer, region, std::span(bytes).first(kSmallBytes), 16 << 20));
  }
  auto queued = write(peer, region, small, 8);
  peer.cancel(*queued, kWhy);
  EXPECT_EQ(queued->completions(), 1) << "at once";
  EXPECT_TRUE(queued->fails_with(errc::timed_out));
  EXPECT_EQ(queued->failure.effect(), Effect::none);
  proxy.hold(false);
  EXPECT_TRUE(blocker->succeeds());
  EXPECT_FALSE(broke());
}

TEST_F(TcpCancelAnswered, ExecutedAtomicSaysThatItMayHaveTakenEffect) {
  proxy.hold(Proxy::to_initiator, true);
  auto call = atomic(peer, region, OperationKind::swap, 77);
  ASSERT_TRUE(
      eventually([&] { return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(remote.data())).load() == 77; }));
  peer.cancel(*call, kWhy);
  proxy.hold(false);
  EXPECT_TRUE(call->fails_with(errc::timed_out));
  EXPECT_EQ(call->failure.effect(), Effect::unknown);
  EXPECT_FALSE(broke());
  auto next = atomic(peer, region, OperationKind::swap, 1);
  ASSERT_TRUE(next->succeeds());
  EXPECT_EQ(next->result, 77u);
}

TEST_F(TcpCancelAnswered, OperationThatHasEndedIsLeftAlone) {
  std::vector<std::byte> word(8);
  auto call = read(peer, region, word);
  ASSERT_TRUE(call->succeeds());
  peer.cancel(*call, kWhy);
  EXPECT_FALSE(call->failure);
  EXPECT_FALSE(peer.abandon(*call));
  EXPECT_EQ(call->completions(), 1);
}

TEST_F(TcpCancelAnswered, CancellingTwiceKeepsTheFirstReason) {
  proxy.hold(true);
  std::vector<std::byte> word(8);
  auto call = read(peer, region, word);
  peer.cancel(*call, kWhy);
  peer.cancel(*call, Failure(errc::cancelled, "second"));
  proxy.hold(false);
  EXPECT_TRUE(call->fails_with(errc::timed_out));
}

TEST_F(TcpCancelAnswered, ManyCancelledAmongManyOthersDisturbNone) {
  std::vector<std::byte> local(4 << 20);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::unique_ptr<Call>> calls;
    for (std::size_t index = 0; index < 60; ++index) {
      const std::size_t size = index % 3 == 0 ? 60'000 : 100 + index;
      const auto at = std::span(local).subspan(index * 65'536, size);
      std::fill(at.begin(), at.end(), std::byte{0});
      calls.push_back(read(peer, region, at, index * 65'536));
    }
    for (std::size_t index = 0; index < calls.size(); index += 2) {
      peer.cancel(*calls[index], kWhy);
    }
    for (std::size_t index = 0; index < calls.size(); ++index) {
      const Failure why = calls[index]->outcome();
      ASSERT_TRUE(!why || (index % 2 == 0 && why.code() == errc::timed_out)) << why.to_text();
      if (!why) {
        const Chunk& chunk = calls[index]->single;
        ASSERT_TRUE(std::equal(chunk.local, chunk.local + chunk.length, remote.begin() + chunk.remote_offset));
      }
    }
  }
  EXPECT_FALSE(broke());
}

TEST_F(TcpCancelAnswered, ReadsThatTheOwnerDroppedTakeNoRoomAnyMore) {
  constexpr std::size_t kSize = 60'000;
  constexpr std::size_t kReads = 60;
  std::vector<std::byte> local(kReads * kSize);
  for (std::size_t dropped = 0; dropped < 2 * kWindowRequests;) {
    loop.stop();  // so that the owner finds requests and cancels at one time, and begins none of them
    std::vector<std::unique_ptr<Call>> calls;
    for (std::size_t index = 0; index < kReads; ++index) {
      calls.push_back(read(peer, region, std::span(local).subspan(index * kSize, kSize), index * kSize));
    }
    for (const auto& call : calls) {
      peer.cancel(*call, kWhy);
    }
    loop.start();
    for (const auto& call : calls) {
      dropped += call->outcome() ? 1U : 0U;
    }
  }
  ASSERT_TRUE(read(peer, region, local)->succeeds());
  EXPECT_TRUE(std::equal(local.begin(), local.end(), remote.begin()));
  EXPECT_FALSE(broke());
}

TEST_F(TcpCancelAnswered, AbandonedOperationIsQuietWhenTheCallReturns) {
  std::vector<std::byte> local(remote.size());
  proxy.throttle(20'000);
  for (const bool reads : {true, false}) {
    auto call = reads ? read(peer, region, local) : write(peer, region, std::span<const std::byte>(local));
    ASSERT_TRUE(eventually([&] { return call->progress.load() > 5; }));
    ASSERT_TRUE(peer.abandon(*call));
    EXPECT_EQ(call->completions(), 0);
    const std::vector<std::byte> then = reads ? local : remote;
    std::vector<std::byte> word(8);
    ASSERT_TRUE(read(peer, region, word)->succeeds());
    EXPECT_EQ(reads ? local : remote, then);
  }
  EXPECT_FALSE(broke());
}

TEST_F(TcpCancel, SilentPeerLosesTheChannelAfterTheGraceAndMemoryIsQuiet) {
  std::vector<std::byte> local(1 << 20);
  proxy.hold(true);
  auto reading = read(peer, region, local);
  auto writing = write(peer, region, pattern(64, 3));
  auto other = read(peer, region, std::span(local).first(8));
  peer.cancel(*reading, kWhy);
  peer.cancel(*writing, kWhy);
  EXPECT_TRUE(reading->fails_with(errc::timed_out));
  EXPECT_EQ(reading->failure.effect(), Effect::none);
  EXPECT_TRUE(writing->fails_with(errc::outcome_unknown)) << "it lies in a buffer, and may still be executed";
  EXPECT_EQ(
      writing->failure.to_text(),
      "outcome_unknown: the test's limit (timed_out), but the owner did not confirm that within the grace: it may "
      "still be executed (it may have taken effect)");
  EXPECT_TRUE(eventually([&] { return broke(); }));
  EXPECT_EQ(local, std::vector<std::byte>(1 << 20));
  proxy.hold(false);
  EXPECT_TRUE(other->succeeds()) << "one that nobody cancelled is started again";
}

TEST_F(TcpCancel, AbandonReturnsAlsoWhenThePeerIsSilent) {
  std::vector<std::byte> local(1 << 20);
  proxy.hold(true);
  auto reading = read(peer, region, local);
  EXPECT_TRUE(peer.abandon(*reading));
  EXPECT_EQ(reading->completions(), 0);
  EXPECT_TRUE(eventually([&] { return broke(); }));
  proxy.hold(false);
}

TEST_F(TcpCancel, WhatBreaksAndIsCancelledAtOneTimeEndsOnce) {
  for (int round = 0; round < 60; ++round) {
    std::vector<std::byte> local(100'000);
    // Over an open channel: where the making of one is cut too, reads end with the loss of the peer.
    ASSERT_TRUE(read(peer, region, std::span(local).first(8))->succeeds());
    std::vector<std::unique_ptr<Call>> calls;
    for (int index = 0; index < 10; ++index) {
      calls.push_back(read(peer, region, std::span(local).subspan(static_cast<std::size_t>(index) * 10'000, 10'000)));
    }
    std::thread breaker([&] { proxy.cut(round % 2 == 0); });
    for (int index = 0; index < 5; ++index) {
      peer.cancel(*calls[index], kWhy);
    }
    const bool withdrawn = peer.abandon(*calls[5]);
    breaker.join();
    for (int index = 0; index < 10; ++index) {
      if (index == 5 && withdrawn) {
        continue;
      }
      const Failure why = calls[index]->outcome();
      ASSERT_TRUE(!why || (index < 5 && why.code() == errc::timed_out)) << why.to_text();
      ASSERT_EQ(calls[index]->completions(), 1);
    }
    ASSERT_EQ(calls[5]->completions(), withdrawn ? 0 : 1);
  }
}

TEST_F(TcpCancel, AtomicBetweenTwoChannelsIsUnknown) {
  proxy.hold(true);
  auto call = atomic(peer, region, OperationKind::fetch_add, 1);
  proxy.cut();
  ASSERT_TRUE(eventually([&] { return broke() && proxy.connections() == 2; }));
  peer.cancel(*call, kWhy);  // the handshake does not get through
  EXPECT_TRUE(call->fails_with(errc::outcome_unknown));
  EXPECT_EQ(call->failure.effect(), Effect::unknown);
}

}  // namespace
}  // namespace ferry::tcp::test
