// What stands between a peer and memory is looked at for each piece that is copied, at the moment of touching it.
#include "test_node.hpp"

namespace ferry::shm {
namespace {

using namespace testing;

constexpr std::size_t kLong = std::size_t{64} << 20;  // many pieces: others get to act within one copy
constexpr int kTries = 200;
constexpr std::byte kBefore{0x11};
constexpr std::byte kAfter{0x22};

bool holds(std::span<const std::byte> bytes, std::byte value) {
  return std::memchr(bytes.data(), static_cast<int>(value), bytes.size()) != nullptr;
}

void wait_for_change(std::byte* at, std::uint64_t from) {
  std::atomic_ref word(*reinterpret_cast<std::uint64_t*>(at));
  eventually([&] { return word.load() != from; });
}

class Recheck : public ::testing::Test {
 protected:
  Peer& to_owner() { return reader.peer(owner); }

  TestNode owner;
  TestNode reader;
};

TEST_F(Recheck, AReadThatIsUnderWayEndsAtTheNextPieceAfterARevocation) {
  std::vector<std::byte> local(kLong);
  errc code{};
  for (int tries = 0; tries < kTries && code == errc{}; ++tries) {
    TestRegion region(owner, kLong);
    std::memset(region.data(), static_cast<int>(kBefore), kLong);
    std::memset(local.data(), 0, kLong);
    Read read(region.ref(), local);
    std::thread thread([&] { read.run(to_owner()); });
    wait_for_change(local.data(), 0);
    ASSERT_TRUE(region.revoke());
    std::memset(region.data(), static_cast<int>(kAfter), kLong);  // the memory is the owner's again
    thread.join();
    ASSERT_FALSE(holds(local, kAfter)) << "bytes from after the revocation";
    code = read.code();
  }
  EXPECT_EQ(code, errc::revoked) << "no read was under way in " << kTries << " tries";
}

TEST_F(Recheck, AWriteThatIsUnderWayEndsAtTheNextPieceAfterARevocation) {
  std::vector<std::byte> local(kLong, kBefore);
  errc code{};
  for (int tries = 0; tries < kTries && code == errc{}; ++tries) {
    TestRegion region(owner, kLong);
    std::memset(region.data(), 0, kLong);
    Write write(region.ref(), local);
    std::thread thread([&] { write.run(to_owner()); });
    wait_for_change(region.data(), 0);
    ASSERT_TRUE(region.revoke());
    std::memset(region.data(), static_cast<int>(kAfter), kLong);
    thread.join();
    ASSERT_FALSE(holds(std::span(region.data(), kLong), kBefore)) << "written after the revocation";
    code = write.code();
    if (code != errc{}) {
      EXPECT_EQ(write.failure.effect(), Effect::unknown) << "a part was written";
    }
  }
  EXPECT_EQ(code, errc::revoked) << "no write was under way in " << kTries << " tries";
}

// A process that wakes up late has been told nothing: the owner's word alone keeps it from the memory.
TEST_F(Recheck, AFencedProcessTouchesNothingBeforeItHearsOfIt) {
  TestRegion region(owner, 64);
  std::vector<std::byte> bytes(64, kBefore);
  Write first(region.ref(), bytes);
  ASSERT_FALSE(first.run(to_owner())) << first.failure.to_text();
  Read opens_the_mapping(region.part(0, 8), std::span(bytes).first(8));
  ASSERT_FALSE(opens_the_mapping.run(to_owner()));
  bytes.assign(64, kAfter);
  std::vector<std::byte> got(8, std::byte{0});

  reader.loop.stop_polling();
  owner.transport->fence(reader.core.self());
  EXPECT_FALSE(to_owner().try_transfer(OperationKind::write, region.part(0, 64), bytes.data()));
  EXPECT_FALSE(to_owner().try_transfer(OperationKind::read, region.part(0, 8), got.data()));
  Write write(region.ref(), bytes);
  Read read(region.part(0, 8), got);
  Atomic add(OperationKind::fetch_add, region.ref(), 8, 1);
  write.start(to_owner());
  read.start(to_owner());
  add.start(to_owner());
  EXPECT_FALSE(write.is_done() || read.is_done() || add.is_done());
  reader.loop.resume_polling();

  for (Call* call : {static_cast<Call*>(&write), static_cast<Call*>(&read), static_cast<Call*>(&add)}) {
    EXPECT_TRUE(call->wait());
    EXPECT_EQ(call->code(), errc::not_authorised) << call->failure.to_text();
    EXPECT_EQ(call->failure.effect(), Effect::none);
  }
  EXPECT_FALSE(holds(std::span(region.data(), 64), kAfter));
  EXPECT_EQ(*region.word(1), *region.word(0)) << "the addition";
  EXPECT_FALSE(holds(got, kBefore));
}

}  // namespace
}  // namespace ferry::shm
