// Both ends of the commands, on memory that the test looks into.
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <ferry/base/random.hpp>
#include <ferry/shm/command_queue.hpp>
#include <ferry/shm/command_server.hpp>

namespace ferry::shm {
namespace {

class Commands : public ::testing::Test {
 protected:
  Commands() {
    LocalRegion region;
    region.base = memory.data();
    region.size = memory.size();
    handle = *regions.insert(region);
  }
  ~Commands() override {
    regions.revoke(handle);
    regions.release(handle);
  }

  CommandRequest add(std::uint64_t value) const {
    CommandRequest request;
    request.kind = CommandKind::fetch_add;
    request.slot = handle.slot.value();
    request.generation = handle.generation.value();
    request.operand = value;
    return request;
  }
  std::uint64_t& word() { return *reinterpret_cast<std::uint64_t*>(memory.data()); }

  std::unique_ptr<ChannelLayout> layout = std::make_unique<ChannelLayout>();
  RegionTable regions{1};
  alignas(64) std::array<std::byte, 4096> memory{};
  RegionHandle handle{};
  CommandQueue queue{*layout};
  CommandServer server{*layout, regions};
};

TEST_F(Commands, AreExecutedInOrderAndAnswered) {
  const unsigned first = queue.submit(add(5));
  const unsigned second = queue.submit(add(7));
  EXPECT_TRUE(server.has_work());
  EXPECT_FALSE(*queue.collect(first));
  EXPECT_FALSE(queue.has_news());
  EXPECT_EQ(*server.serve(), 2);
  EXPECT_TRUE(queue.has_news());
  EXPECT_EQ((*queue.collect(first))->value, 0U);
  EXPECT_EQ((*queue.collect(second))->value, 5U);
  EXPECT_EQ(word(), 12U);
  EXPECT_EQ(queue.under_way(), 0U);
}

TEST_F(Commands, WhatIsTakenBackInTimeIsNeverExecutedAndItsPlaceCanBeUsedAgain) {
  const unsigned taken = queue.submit(add(1));
  EXPECT_TRUE(queue.take_back(taken));
  EXPECT_FALSE(queue.take_back(taken));
  const unsigned next = queue.submit(add(100));
  EXPECT_EQ(next, taken);
  ASSERT_TRUE(server.serve());
  EXPECT_EQ(word(), 100U);
  EXPECT_FALSE(queue.take_back(next)) << "it is done";
  EXPECT_EQ((*queue.collect(next))->code, 0);
}

TEST_F(Commands, AreRefusedWithTheOwnersReason) {
  CommandRequest wrong = add(1);
  wrong.generation += 1;
  const unsigned revoked = queue.submit(wrong);
  wrong = add(1);
  wrong.offset = 4090;
  const unsigned outside = queue.submit(wrong);
  wrong = add(1);
  wrong.kind = static_cast<CommandKind>(99);
  const unsigned unknown = queue.submit(wrong);
  wrong = add(1);
  wrong.kind = CommandKind::read;
  wrong.length = kStagingBytes + 1;
  const unsigned long_read = queue.submit(wrong);
  wrong.length = 1;
  wrong.block = kStagingBlocks;
  const unsigned no_block = queue.submit(wrong);
  ASSERT_EQ(*server.serve(), 5);
  EXPECT_EQ((*queue.collect(revoked))->code, static_cast<int>(errc::revoked));
  EXPECT_EQ((*queue.collect(outside))->code, static_cast<int>(errc::invalid_range));
  EXPECT_EQ((*queue.collect(unknown))->code, static_cast<int>(errc::malformed));
  EXPECT_EQ((*queue.collect(long_read))->code, static_cast<int>(errc::malformed));
  EXPECT_EQ((*queue.collect(no_block))->code, static_cast<int>(errc::malformed));
  EXPECT_EQ(word(), 0U);
}

TEST_F(Commands, FullIsKnownBeforehandAlsoWhenAllWereTakenBack) {
  for (std::size_t count = 0; count < kCommands; ++count) {
    ASSERT_TRUE(queue.has_room(false));
    queue.submit(add(1));
  }
  EXPECT_FALSE(queue.has_room(false));
  for (unsigned index = 0; index < kCommands; ++index) {
    EXPECT_TRUE(queue.take_back(index));
  }
  for (std::size_t count = 0; count < kCommands; ++count) {
    ASSERT_TRUE(queue.has_room(false));
    queue.submit(add(1));
  }
  for (unsigned index = 0; index < kCommands; ++index) {
    EXPECT_TRUE(queue.take_back(index));
  }
  EXPECT_FALSE(queue.has_room(false)) << "the owner has not come by: its entries are all taken";
  while (*server.serve() > 0) {
  }
  EXPECT_TRUE(queue.has_room(false));
  EXPECT_EQ(word(), 0U);
  std::size_t blocks = 0;
  while (queue.has_room(true)) {
    queue.take_block();
    ++blocks;
  }
  EXPECT_EQ(blocks, kStagingBlocks);
}

TEST_F(Commands, AnOwnerThatWritesNonsenseIsMalformed) {
  const unsigned index = queue.submit(add(1));
  layout->commands[index].state.store(0xdead);
  const auto outcome = queue.collect(index);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), errc::malformed);
  layout->commands[index].state.store(Command::state_of(1, Command::kDone));
  layout->commands[index].answer.text_length = 5000;
  EXPECT_FALSE(queue.collect(index));
  layout->commands[index].answer.text_length = 0;
  layout->commands[index].answer.code = 200;
  EXPECT_FALSE(queue.collect(index));
}

TEST_F(Commands, AnInitiatorThatWritesNonsenseEndsItsChannelAtMost) {
  layout->submitted.value.store(kSubmissions + 1);
  EXPECT_FALSE(server.serve());
  constexpr std::uint64_t kSeed = 11;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  for (int round = 0; round < 400; ++round) {
    auto garbage = std::make_unique<ChannelLayout>();
    CommandServer victim(*garbage, regions);
    garbage->submitted.value.store(random.below(3));
    for (std::size_t entry = 0; entry < 3; ++entry) {
      const std::uint64_t index = random.below(80);
      garbage->submissions[entry].store(std::uint64_t{1} << 8 | index);
      if (index < kCommands) {
        Command& command = garbage->commands[index];
        command.state.store(Command::state_of(1, random.below(4)));
        command.request.kind = static_cast<CommandKind>(random.below(9));
        command.request.block = static_cast<std::uint16_t>(random.below(20));
        command.request.slot = static_cast<std::uint32_t>(random.below(4));
        command.request.generation = random.below(4);
        command.request.offset = random.below(2) == 0 ? random.next() : random.below(5000);
        command.request.length = random.below(2) == 0 ? random.next() : random.below(5000);
      }
    }
    static_cast<void>(victim.serve());
  }
}

}  // namespace
}  // namespace ferry::shm
