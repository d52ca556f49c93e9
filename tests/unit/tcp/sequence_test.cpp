#include <gmock/gmock.h>

#include "tcp_node.hpp"

namespace ferry::tcp::test {
namespace {

class TcpSequence : public testing::Test {
 protected:
  void SetUp() override {
    loop.start();
    std::vector<std::byte> word(8);
    ASSERT_TRUE(read(peer, region, word)->succeeds());
  }

  Call& add(OperationKind kind, const RemoteRegion& where, std::span<const std::byte> local, std::uint64_t offset = 0) {
    members.push_back(Call::make(kind, where, local, offset));
    if (is_atomic(kind)) {
      members.back()->single.length = 8;
    }
    members.back()->sequence = {id, static_cast<std::uint32_t>(members.size() - 1)};
    return *members.back();
  }
  void start() {
    for (const auto& member : members) {
      member->start(peer);
    }
  }

  TestLoop loop;
  TestNode initiator{loop, {.id = 1}};
  TestNode owner{loop, {.id = 2}};
  Peer& peer = initiator.peer(owner);
  std::vector<std::byte> remote = std::vector<std::byte>(8 << 20);
  std::vector<std::byte> gone = std::vector<std::byte>(64);
  RemoteRegion region = owner.reference(owner.add(remote));
  std::uint64_t id = 1;
  std::vector<std::unique_ptr<Call>> members;
};

TEST_F(TcpSequence, MembersTakeEffectInTheirOrderWhateverTheirSizes) {
  // Writes and reads of the same bytes, small and large in turns: each read sees the write before it and no later one.
  constexpr std::size_t kRounds = 40;
  std::vector<std::vector<std::byte>> written;
  std::vector<std::vector<std::byte>> seen;
  for (std::size_t round = 0; round < kRounds; ++round) {
    const std::size_t size = round % 4 == 0 ? 700'000 : round % 4 == 1 ? 8 : round % 4 == 2 ? kSmallBytes + 8 : 5000;
    written.push_back(pattern(size, round));
    seen.emplace_back(size);
  }
  for (std::size_t round = 0; round < kRounds; ++round) {
    add(OperationKind::write, region, written[round]);
    add(OperationKind::read, region, seen[round]);
  }
  start();
  for (const auto& member : members) {
    ASSERT_TRUE(member->succeeds());
  }
  for (std::size_t round = 0; round < kRounds; ++round) {
    ASSERT_EQ(seen[round], written[round]) << round;
  }
}

TEST_F(TcpSequence, FlagIsNeverSeenBeforeTheDataInFrontOfIt) {
  for (std::uint64_t round = 1; round < 50; ++round) {
    ++id;
    members.clear();
    const auto data = pattern(300'000, round);
    add(OperationKind::write, region, data, 8);
    std::vector<std::byte> flag(8);
    std::memcpy(flag.data(), &round, 8);
    add(OperationKind::write, region, flag, 0);
    start();
    while (std::atomic_ref(*reinterpret_cast<std::uint64_t*>(remote.data())).load() != round) {
    }
    ASSERT_TRUE(std::equal(data.begin(), data.end(), remote.begin() + 8));
    for (const auto& member : members) {
      ASSERT_TRUE(member->succeeds());
    }
  }
}

TEST_F(TcpSequence, NothingAfterTheFirstFailureIsExecuted) {
  const RegionHandle handle = owner.add(gone);
  const RemoteRegion revoked = owner.reference(handle);
  owner.core.regions().revoke(handle);
  const auto bytes = pattern(8, 1);
  const auto large = pattern(1 << 20, 2);
  std::vector<std::byte> local(64);
  for (const OperationKind kind : {OperationKind::read, OperationKind::write, OperationKind::fetch_add}) {
    std::fill(remote.begin(), remote.end(), std::byte{0});
    members.clear();
    ++id;
    add(OperationKind::write, region, bytes);
    add(kind, revoked, local);
    add(OperationKind::write, region, bytes, 64);
    add(OperationKind::fetch_add, region, {}, 128).operand = 1;
    add(OperationKind::write, region, large, 4096);
    add(OperationKind::read, region, local, 64);
    add(OperationKind::write, region, bytes, 192);
    start();
    EXPECT_TRUE(members[0]->succeeds());
    EXPECT_TRUE(members[1]->fails_with(errc::revoked));
    for (std::size_t index = 2; index < members.size(); ++index) {
      EXPECT_TRUE(members[index]->fails_with(errc::not_executed));
      EXPECT_EQ(members[index]->failure.effect(), Effect::none);
    }
    EXPECT_TRUE(std::all_of(remote.begin() + 8, remote.end(), [](std::byte b) { return b == std::byte{0}; }));
    EXPECT_TRUE(write(peer, region, bytes, 64)->succeeds()) << "others are not stopped";
  }
}

TEST_F(TcpSequence, SequencesDoNotStopEachOther) {
  const RegionHandle handle = owner.add(gone);
  const RemoteRegion revoked = owner.reference(handle);
  owner.core.regions().revoke(handle);
  const auto bytes = pattern(8, 1);
  std::vector<std::byte> local(8);
  for (id = 100; id < 400; ++id) {
    add(OperationKind::write, id % 2 == 0 ? revoked : region, bytes);
    add(OperationKind::fetch_add, region, {}, 64).operand = 1;
  }
  start();
  std::size_t at = 0;
  for (id = 100; id < 400; ++id) {
    const bool fails = id % 2 == 0;
    EXPECT_TRUE(fails ? members[at]->fails_with(errc::revoked) : members[at]->succeeds());
    EXPECT_TRUE(fails ? members[at + 1]->fails_with(errc::not_executed) : members[at + 1]->succeeds());
    at += 2;
  }
  std::uint64_t count = 0;
  std::memcpy(&count, remote.data() + 64, 8);
  EXPECT_EQ(count, 150u);
}

TEST_F(TcpSequence, CancelledMemberStopsThoseThatWereNotSent) {
  std::vector<std::byte> large(8 << 20);
  const auto bytes = pattern(8, 1);
  add(OperationKind::read, region, large);  // nothing behind it is sent before it is answered
  add(OperationKind::write, region, bytes);
  start();
  peer.cancel(*members[0], Failure(errc::cancelled, "by the test"));
  if (members[0]->outcome()) {
    EXPECT_TRUE(members[1]->fails_with(errc::not_executed));
    EXPECT_EQ(remote[0], std::byte{0});
  }
}

TEST_F(TcpSequence, TransmittedMemberIsAnsweredSoThatItsFailureIsSeen) {
  const RegionHandle handle = owner.add(gone);
  const RemoteRegion revoked = owner.reference(handle);
  owner.core.regions().revoke(handle);
  const auto bytes = pattern(8, 1);
  add(OperationKind::write, revoked, bytes).completion = Completion::transmitted;
  add(OperationKind::write, region, bytes).completion = Completion::transmitted;
  start();
  EXPECT_TRUE(members[0]->fails_with(errc::revoked));
  EXPECT_TRUE(members[1]->fails_with(errc::not_executed));
  EXPECT_TRUE(flush(peer, region)->succeeds());
}

}  // namespace
}  // namespace ferry::tcp::test
