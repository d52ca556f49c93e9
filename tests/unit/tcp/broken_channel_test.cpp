#include <gmock/gmock.h>

#include <thread>

#include <ferry/base/random.hpp>

#include "proxy.hpp"
#include "tcp_node.hpp"

namespace ferry::tcp::test {
namespace {

// An initiator that reaches its owner through a proxy.
class TcpBrokenChannel : public testing::Test {
 protected:
  void SetUp() override { loop.start(); }
  void TearDown() override {
    initiator.core.shut_down();
    owner.core.shut_down();
    EXPECT_EQ(loop.source_count(), 0u);
  }

  TestLoop loop;
  TestNode initiator{loop, {.id = 1}};
  TestNode owner{loop, {.id = 2}};
  Proxy proxy{owner.core.contact().addresses.front().text};
  Peer& peer = initiator.peer(owner, proxy.address());
};

TEST_F(TcpBrokenChannel, ReadsAreStartedAgainAndCompleteOnce) {
  std::vector<std::byte> remote = pattern(8 << 20);
  const RemoteRegion region = owner.reference(owner.add(remote));
  for (const bool reset : {false, true}) {
    std::vector<std::byte> local(remote.size());
    proxy.throttle(20'000);
    auto call = read(peer, region, local);
    std::vector<std::byte> word(8);
    auto small = read(peer, region, word, 16);
    const std::uint64_t before = proxy.passed(Proxy::to_initiator);
    ASSERT_TRUE(eventually([&] { return proxy.passed(Proxy::to_initiator) > before + 1'000'000; }));
    proxy.cut(reset);
    proxy.throttle(0);
    ASSERT_TRUE(call->succeeds());
    ASSERT_TRUE(small->succeeds());
    EXPECT_EQ(local, remote);
    EXPECT_EQ(call->completions(), 1);
  }
  EXPECT_EQ(proxy.connections(), 3);
  EXPECT_EQ(owner.tcp->inbounds(), 1u);
}

TEST_F(TcpBrokenChannel, WriteThatMayHaveBeenExecutedEndsWithAnUnknownOutcome) {
  std::vector<std::byte> remote(4096);
  const RemoteRegion region = owner.reference(owner.add(remote));
  ASSERT_TRUE(write(peer, region, pattern(8))->succeeds());
  proxy.hold(Proxy::to_initiator, true);  // executed, but the answer does not come
  auto call = write(peer, region, pattern(4096, 2));
  ASSERT_TRUE(eventually([&] { return remote.back() == pattern(4096, 2).back(); }));
  proxy.cut();
  proxy.hold(false);
  EXPECT_TRUE(call->fails_with(errc::outcome_unknown));
  EXPECT_EQ(call->failure.effect(), Effect::unknown);
  EXPECT_TRUE(write(peer, region, pattern(8))->succeeds()) << "the next one works without doing anything";
  EXPECT_EQ(initiator.sink.count(&RecordingSink::failures), 1u);
}

TEST_F(TcpBrokenChannel, WriteOfWhichNothingWasSentIsStartedAgain) {
  std::vector<std::byte> remote(8 << 20);
  std::vector<std::byte> target(64);
  const RemoteRegion region = owner.reference(owner.add(remote));
  const RemoteRegion other = owner.reference(owner.add(target));
  ASSERT_TRUE(write(peer, region, pattern(8))->succeeds());
  proxy.hold(true);
  const auto bytes = pattern(8 << 20);
  auto blocker = write(peer, region, bytes);  // fills the socket
  const std::uint64_t posted = blocker->progress.load();
  EXPECT_LT(posted, (8u << 20) / kPieceBytes);
  auto call = write(peer, other, pattern(64, 3));
  auto late = atomic(peer, other, OperationKind::fetch_add, 0, 0, 0);
  proxy.cut();
  proxy.hold(false);
  EXPECT_TRUE(blocker->fails_with(errc::outcome_unknown));
  EXPECT_TRUE(call->succeeds());
  EXPECT_TRUE(late->succeeds());
  EXPECT_EQ(target, pattern(64, 3));
}

TEST_F(TcpBrokenChannel, MessagesOfWhichNothingWasSentAreGivenBackBeforeTheEndIsTold) {
  std::vector<std::byte> word(8);
  ASSERT_TRUE(read(peer, owner.reference(owner.add(word)), word)->succeeds());
  proxy.hold(true);
  constexpr std::size_t kMessages = 400;
  const auto name = [](std::size_t number) { return std::to_string(1000 + number); };
  for (std::size_t number = 0; number < kMessages; ++number) {  // they fill the socket and more
    std::string text = name(number);
    text.resize(number % 10 == 0 ? 3 * kPieceBytes : 20'000, '.');
    ASSERT_FALSE(peer.send(wire::Bytes(wire::as_bytes(text))));
  }
  proxy.cut();
  proxy.hold(false);
  ASSERT_TRUE(eventually([&] { return initiator.sink.count(&RecordingSink::failures) == 1; }));
  // The last ones, each of them once.
  const auto unsent = initiator.sink.get(&RecordingSink::unsent);
  ASSERT_GT(unsent.size(), 10u);
  ASSERT_LT(unsent.size(), kMessages) << "some were sent";
  for (std::size_t index = 0; index < unsent.size(); ++index) {
    EXPECT_EQ(unsent[index].substr(0, 4), name(kMessages - unsent.size() + index));
  }
  // Those that are in the send buffer, too: more than its size has not left.
  std::size_t bytes = 0;
  for (const std::string& piece : unsent) {
    bytes += piece.size();
  }
  EXPECT_GT(bytes, SendBuffer::kCapacity);
  EXPECT_EQ(owner.sink.count(&RecordingSink::requests), 0u);
}

TEST_F(TcpBrokenChannel, AtomicsAreSentAgainAndExecutedOnce) {
  alignas(8) std::uint64_t word = 0;
  const RemoteRegion region = owner.reference(owner.add(std::as_writable_bytes(std::span(&word, 1))));
  ASSERT_TRUE(atomic(peer, region, OperationKind::fetch_add, 1)->succeeds());
  // Executed, but the answers are lost.
  proxy.hold(Proxy::to_initiator, true);
  std::vector<std::unique_ptr<Call>> calls;
  for (int index = 0; index < 50; ++index) {
    calls.push_back(atomic(peer, region, OperationKind::fetch_add, 1));
  }
  ASSERT_TRUE(eventually([&] { return std::atomic_ref(word).load() == 51; }));
  proxy.cut();
  proxy.hold(false);
  for (std::size_t index = 0; index < calls.size(); ++index) {
    ASSERT_TRUE(calls[index]->succeeds());
    EXPECT_EQ(calls[index]->result, index + 1) << "the answer of the first execution";
    EXPECT_EQ(calls[index]->completions(), 1);
  }
  EXPECT_EQ(std::atomic_ref(word).load(), 51u);
  // Lost on the way there.
  proxy.hold(Proxy::to_owner, true);
  auto lost = atomic(peer, region, OperationKind::fetch_add, 1);
  proxy.cut();
  proxy.hold(false);
  ASSERT_TRUE(lost->succeeds());
  EXPECT_EQ(std::atomic_ref(word).load(), 52u);
}

TEST_F(TcpBrokenChannel, ManyBreaksLoseAndRepeatNoAddition) {
  alignas(8) std::uint64_t word = 0;
  const RemoteRegion region = owner.reference(owner.add(std::as_writable_bytes(std::span(&word, 1))));
  std::atomic<bool> stop{false};
  std::thread breaker([&] {
    Random random(1);
    while (!stop) {
      std::this_thread::sleep_for(std::chrono::microseconds(200 + random.below(3000)));
      proxy.cut(random.below(2) == 0);
    }
  });
  std::uint64_t done = 0;
  std::uint64_t unknown = 0;
  // However slow the machine: as long as it takes for so many to be done between the breaks.
  while (done < 1500 || proxy.connections() <= 5) {
    std::vector<std::unique_ptr<Call>> calls;
    for (int index = 0; index < 20; ++index) {
      calls.push_back(atomic(peer, region, OperationKind::fetch_add, 1));
    }
    for (const auto& call : calls) {
      // When every attempt to open a channel is cut, the peer counts as unreachable.
      const Failure why = call->outcome();
      done += why ? 0 : 1;
      unknown += why && why.effect() == Effect::unknown ? 1 : 0;
    }
  }
  stop = true;
  breaker.join();
  EXPECT_GE(std::atomic_ref(word).load(), done);
  EXPECT_LE(std::atomic_ref(word).load(), done + unknown) << proxy.connections() << " connections";
}

TEST_F(TcpBrokenChannel, FlushSaysOnceThatTransmittedWritesMayBeLost) {
  std::vector<std::byte> remote(64);
  const RemoteRegion region = owner.reference(owner.add(remote));
  ASSERT_TRUE(write(peer, region, pattern(64))->succeeds());
  proxy.hold(true);
  ASSERT_TRUE(write(peer, region, pattern(64, 9), 0, Completion::transmitted)->succeeds());
  proxy.cut();
  proxy.hold(false);
  ASSERT_TRUE(eventually([&] { return initiator.sink.count(&RecordingSink::failures) == 1; }));
  auto first = flush(peer, region);
  EXPECT_TRUE(first->fails_with(errc::outcome_unknown));
  EXPECT_EQ(first->failure.effect(), Effect::unknown);
  EXPECT_TRUE(flush(peer, region)->succeeds());
  EXPECT_EQ(remote, pattern(64)) << "what was lost does not land later";
}

TEST_F(TcpBrokenChannel, FlushUnderWayWhenTheChannelBreaksSaysItToo) {
  std::vector<std::byte> remote(64);
  const RemoteRegion region = owner.reference(owner.add(remote));
  ASSERT_TRUE(write(peer, region, pattern(64))->succeeds());
  proxy.hold(true);
  ASSERT_TRUE(write(peer, region, pattern(64, 9), 0, Completion::transmitted)->succeeds());
  auto call = flush(peer, region);
  proxy.cut();
  proxy.hold(false);
  EXPECT_TRUE(call->fails_with(errc::outcome_unknown));
  EXPECT_TRUE(flush(peer, region)->succeeds());
}

TEST_F(TcpBrokenChannel, MembersOfASequenceAreNotStartedAgain) {
  std::vector<std::byte> remote(1024);
  const RemoteRegion region = owner.reference(owner.add(remote));
  std::vector<std::byte> word(8);
  ASSERT_TRUE(read(peer, region, word)->succeeds());
  proxy.hold(true);
  std::vector<std::unique_ptr<Call>> members;
  const auto bytes = pattern(8);
  for (std::uint32_t index = 0; index < 4; ++index) {
    auto member = index == 1 ? Call::make(OperationKind::read, region, word)
                             : Call::make(OperationKind::write, region, bytes, 8 * index);
    member->sequence = {77, index};
    member->start(peer);
    members.push_back(std::move(member));
  }
  proxy.cut();
  EXPECT_TRUE(members[0]->fails_with(errc::outcome_unknown));
  for (std::uint32_t index = 1; index < 4; ++index) {
    EXPECT_TRUE(members[index]->outcome());
  }
  // One that is started by somebody who has not noticed.
  proxy.hold(false);
  ASSERT_TRUE(read(peer, region, word)->succeeds());
  auto late = Call::make(OperationKind::write, region, bytes, 512);
  late->sequence = {77, 4};
  late->start(peer);
  EXPECT_TRUE(late->fails_with(errc::not_executed));
  EXPECT_EQ(remote[512], std::byte{0});
}

TEST_F(TcpBrokenChannel, WhateverByteIsTheLastTheOperationsEndOnceAndTheNextWork) {
  alignas(8) static std::array<std::byte, 4096> remote{};
  const RegionHandle handle = owner.add(remote);
  const RemoteRegion region = owner.reference(handle);
  std::vector<std::byte> local(2048);
  const auto bytes = pattern(2048);
  for (const auto direction : {Proxy::to_owner, Proxy::to_initiator}) {
    for (std::uint64_t at = 0; at < 5000; at += at < 420 ? 7 : 331) {
      TestNode fresh(loop, {.id = 100 + at + 10'000 * static_cast<std::uint64_t>(direction)});
      Peer& from = fresh.peer(owner, proxy.address());
      proxy.cut_after(direction, at);
      const int ended = proxy.ended();
      auto first = read(from, region, local);
      auto second = write(from, region, bytes, 2048);
      auto third = atomic(from, region, OperationKind::fetch_add, 1);
      auto fourth = read(from, region, std::span(local).first(8));
      const std::array<Call*, 4> calls{first.get(), second.get(), third.get(), fourth.get()};
      const auto is_complete = [](const Call* call) { return call->completions() > 0; };
      ASSERT_TRUE(
          eventually([&] { return proxy.ended() > ended || std::all_of(calls.begin(), calls.end(), is_complete); }));
      proxy.cut_after(direction, Proxy::kNever);  // each connection would be cut at the same byte
      for (Call* call : calls) {
        static_cast<void>(call->outcome());
        ASSERT_EQ(call->completions(), 1) << direction << " " << at;
      }
      auto next = read(from, region, local);
      ASSERT_TRUE(next->succeeds()) << direction << " " << at;
      ASSERT_TRUE(fresh.log.lines().empty()) << fresh.log.lines().front();
    }
  }
}

TEST_F(TcpBrokenChannel, DamagedBytesCloseTheChannelAndNothingElseHappens) {
  std::vector<std::byte> remote(4096, std::byte{1});
  const RemoteRegion region = owner.reference(owner.add(remote));
  std::vector<std::byte> local(1024);
  Random random(3);
  std::printf("seed 3\n");
  for (int round = 0; round < 150; ++round) {
    TestNode fresh(loop, {.id = 100 + static_cast<std::uint64_t>(round)});
    Peer& from = fresh.peer(owner, proxy.address());
    const auto direction = round % 2 == 0 ? Proxy::to_owner : Proxy::to_initiator;
    proxy.damage(direction, random.below(600));
    auto first = read(from, region, local);
    auto second = atomic(from, region, OperationKind::fetch_add, 0);
    proxy.damage(direction, Proxy::kNever);
    if (!first->wait(50ms) || !second->wait(50ms)) {
      proxy.cut();  // a length grew: the rest of that frame never comes
    }
    static_cast<void>(first->outcome());
    static_cast<void>(second->outcome());
    ASSERT_TRUE(read(from, region, local)->succeeds() || true);
  }
  EXPECT_TRUE(read(peer, region, local)->succeeds());
}

TEST_F(TcpBrokenChannel, EarlierChannelIsGoneBeforeTheNewOneIsAcknowledged) {
  std::vector<std::byte> remote(2 << 20);
  const RemoteRegion region = owner.reference(owner.add(remote));
  std::vector<std::byte> word(8);
  ASSERT_TRUE(read(peer, region, word)->succeeds());
  for (int round = 0; round < 20; ++round) {
    // The old channel's writes lie in the proxy; its owner's end stays open, only the initiator loses it.
    proxy.hold(Proxy::to_owner, true);
    auto ghost = write(peer, region, pattern(1024, 1000));
    proxy.cut();
    EXPECT_TRUE(ghost->fails_with(errc::outcome_unknown));
    proxy.hold(Proxy::to_owner, false);
    const auto bytes = pattern(1024, round);
    ASSERT_TRUE(write(peer, region, bytes)->succeeds());
    ASSERT_TRUE(std::equal(bytes.begin(), bytes.end(), remote.begin()));
  }
  EXPECT_EQ(owner.tcp->inbounds(), 1u);
}

TEST_F(TcpBrokenChannel, MessagesAfterABreakArriveAndEarlierOnesDoNotFollow) {
  ASSERT_FALSE(peer.send(message("1")));
  ASSERT_TRUE(eventually([&] { return owner.sink.count(&RecordingSink::requests) == 1; }));
  const auto inbound = owner.sink.get(&RecordingSink::inbound);
  proxy.hold(true);
  ASSERT_FALSE(peer.send(message("2")));
  proxy.cut();
  proxy.hold(false);
  ASSERT_TRUE(eventually([&] { return initiator.sink.count(&RecordingSink::failures) == 1; }));
  ASSERT_FALSE(peer.send(message("3")));
  ASSERT_TRUE(eventually([&] { return owner.sink.count(&RecordingSink::requests) == 2; }));
  EXPECT_EQ(owner.sink.get(&RecordingSink::requests), (std::vector<std::string>{"1", "3"}));
  EXPECT_EQ(owner.sink.count(&RecordingSink::inbounds_closed), 1u);
  EXPECT_FALSE(inbound->send(message("late")));
}

TEST_F(TcpBrokenChannel, PeerThatCannotBeReachedAgainEndsEverythingWithTheReason) {
  alignas(8) std::array<std::byte, 64> remote{};
  const RemoteRegion region = owner.reference(owner.add(remote));
  std::vector<std::byte> local(64);
  ASSERT_TRUE(read(peer, region, local)->succeeds());
  proxy.hold(true);
  auto reading = read(peer, region, local);
  auto adding = atomic(peer, region, OperationKind::fetch_add, 1);
  auto flushing = flush(peer, region);
  proxy.refuse(true);
  proxy.cut();
  EXPECT_TRUE(reading->fails_with(errc::peer_lost));
  EXPECT_TRUE(adding->fails_with(errc::outcome_unknown));
  EXPECT_EQ(adding->failure.effect(), Effect::unknown);
  EXPECT_THAT(reading->failure.to_text(), testing::HasSubstr(proxy.address()));
  proxy.refuse(false);
  proxy.hold(false);
  EXPECT_TRUE(read(peer, region, local)->succeeds());
}

}  // namespace
}  // namespace ferry::tcp::test
