// Cancelling and abandoning what an owner that does not poll was asked to do.
#include "test_node.hpp"

namespace ferry::shm {
namespace {

using namespace testing;

const Failure kGivenUp(errc::cancelled, "a stop was requested");

class Cancel : public ::testing::Test {
 protected:
  Cancel() : other(std::size_t{4} << 20), region(owner, other) {
    std::vector<std::byte> bytes(8);
    Write warm(region.part(0, 8), bytes);
    EXPECT_FALSE(warm.run(to_owner()));
  }
  Peer& to_owner() { return initiator.peer(owner); }
  bool is_untouched() const {
    return std::all_of(other.begin(), other.end(), [](std::byte byte) { return byte == std::byte{0}; });
  }

  TestNode owner;
  TestNode initiator;
  std::vector<std::byte> other;
  TestRegion region;
};

TEST_F(Cancel, AWriteThatTheOwnerHasNotBegunNeverHappens) {
  auto bytes = pattern(other.size());
  owner.loop.stop_polling();
  Write write(region.ref(), bytes);
  write.start(to_owner());
  to_owner().cancel(write, kGivenUp);
  EXPECT_EQ(write.wait().code(), errc::cancelled);
  EXPECT_EQ(write.failure.effect(), Effect::none);
  owner.loop.resume_polling();
  Write next(region.part(0, 8), std::span(bytes).first(8));
  ASSERT_FALSE(next.run(to_owner())) << "the channel lives";
  std::fill_n(other.begin(), 8, std::byte{0});
  EXPECT_TRUE(is_untouched());
  EXPECT_TRUE(initiator.events.failures().empty());
}

TEST_F(Cancel, AnAtomicThatTheOwnerHasNotBegunNeverHappens) {
  owner.loop.stop_polling();
  Atomic add(OperationKind::fetch_add, region.ref(), 0, 5);
  add.start(to_owner());
  to_owner().cancel(add, kGivenUp);
  EXPECT_EQ(add.wait().code(), errc::cancelled);
  EXPECT_EQ(add.failure.effect(), Effect::none);
  owner.loop.resume_polling();
  Atomic next(OperationKind::fetch_add, region.ref(), 0, 1);
  ASSERT_FALSE(next.run(to_owner()));
  EXPECT_EQ(next.result, 0U);
}

TEST_F(Cancel, AnAbandonedOperationIsQuietAndItsCallbackNeverComes) {
  auto bytes = pattern(other.size());
  owner.loop.stop_polling();
  Write write(region.ref(), bytes);
  write.start(to_owner());
  EXPECT_TRUE(to_owner().abandon(write));
  std::fill(bytes.begin(), bytes.end(), std::byte{0xEE});
  owner.loop.resume_polling();
  Write next(region.part(0, 8), std::span(bytes).first(8));
  ASSERT_FALSE(next.run(to_owner()));
  EXPECT_EQ(write.completions.load(), 0);
  EXPECT_EQ(std::count(other.begin() + 8, other.end(), std::byte{0}), static_cast<std::ptrdiff_t>(other.size() - 8));
}

TEST_F(Cancel, OneOfManyLeavesTheOthersAlone) {
  owner.loop.stop_polling();
  std::vector<std::byte> bytes(8, std::byte{1});
  std::deque<Write> writes;
  for (std::size_t index = 0; index < 200; ++index) {  // more than the commands that can be under way
    writes.emplace_back(region.part(index * 8, 8), bytes);
    writes.back().start(to_owner());
  }
  for (std::size_t index = 0; index < writes.size(); index += 3) {
    to_owner().cancel(writes[index], kGivenUp);
  }
  owner.loop.resume_polling();
  for (std::size_t index = 0; index < writes.size(); ++index) {
    const bool cancelled = index % 3 == 0;
    EXPECT_EQ(static_cast<bool>(writes[index].wait()), cancelled) << index;
    EXPECT_EQ(other[index * 8] == std::byte{1}, !cancelled) << index;
    EXPECT_EQ(writes[index].completions.load(), 1);
  }
}

TEST_F(Cancel, StormsOfCancelsCompleteEverythingOnce) {
  constexpr std::uint64_t kSeed = 17;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      Random random(kSeed + thread);
      auto bytes = pattern(300'000);
      for (int round = 0; round < 300; ++round) {
        Write write(region.part(0, bytes.size()), bytes);
        write.start(to_owner());
        switch (random.below(3)) {
          case 0:
            to_owner().cancel(write, kGivenUp);
            write.wait();
            break;
          case 1:
            if (!to_owner().abandon(write)) {
              write.wait();
            }
            break;
          default:
            write.wait();
            ASSERT_FALSE(write.failure) << write.failure.to_text();
            break;
        }
        ASSERT_LE(write.completions.load(), 1);
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_TRUE(initiator.events.failures().empty());
}

TEST_F(Cancel, ASegmentThatNobodyPassesDoesNotHoldACancelUp) {
  TestRegion segment(owner, std::size_t{1} << 20);
  std::vector<std::byte> bytes(64);
  owner.loop.stop_polling();
  Read read(segment.part(0, 64), bytes);
  read.start(to_owner());
  EXPECT_FALSE(read.is_done());
  to_owner().cancel(read, kGivenUp);
  EXPECT_EQ(read.wait().code(), errc::cancelled);
  Read abandoned(segment.part(0, 64), bytes);
  abandoned.start(to_owner());
  EXPECT_TRUE(to_owner().abandon(abandoned));
  owner.loop.resume_polling();
  Read again(segment.part(0, 64), bytes);
  ASSERT_FALSE(again.run(to_owner()));
}

}  // namespace
}  // namespace ferry::shm
