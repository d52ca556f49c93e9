#include <ferry/shm/block_arena.hpp>

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ferry/base/random.hpp>

namespace ferry::shm {
namespace {

TEST(BlockArena, BlocksOfEverySizeAndAlignmentAreAlignedAndApart) {
  constexpr std::uint64_t kSize = std::uint64_t{64} << 20;
  BlockArena arena(kSize);
  std::map<std::uint64_t, std::uint64_t> taken;  // offset to end
  for (std::size_t alignment = 1; alignment <= BlockArena::kLargestAlignment; alignment *= 2) {
    for (std::size_t bytes = 1; bytes <= BlockArena::kLargestBlock; bytes = bytes * 3 / 2 + 1) {
      const auto offset = arena.allocate(bytes, alignment);
      ASSERT_TRUE(offset.has_value());
      EXPECT_EQ(*offset % alignment, 0U) << bytes << " bytes at a multiple of " << alignment;
      EXPECT_EQ(*offset % 16, 0U);
      ASSERT_LE(*offset + bytes, kSize);
      ASSERT_TRUE(taken.emplace(*offset, *offset + bytes).second);
    }
  }
  std::uint64_t end = 0;
  for (const auto& [offset, block_end] : taken) {
    EXPECT_GE(offset, end);
    end = block_end;
  }
}

TEST(BlockArena, ABlockIsAtMostAQuarterLargerThanAsked) {
  for (const std::size_t bytes : {129, 200, 1000, 5000, 70'000, 262'144}) {
    BlockArena arena(bytes * 5 / 4 + 16);
    EXPECT_TRUE(arena.allocate(bytes, 8).has_value()) << bytes;
  }
}

TEST(BlockArena, AFullArenaSaysSoAndAnEmptyOneStartsAfresh) {
  BlockArena arena(4096);
  std::vector<std::uint64_t> offsets;
  while (const auto offset = arena.allocate(64, 8)) {
    offsets.push_back(*offset);
  }
  EXPECT_EQ(offsets.size(), 64U);
  for (const std::uint64_t offset : offsets) {
    EXPECT_FALSE(arena.empty());
    arena.deallocate(offset, 64, 8);
  }
  EXPECT_TRUE(arena.empty());
  EXPECT_TRUE(arena.allocate(4096, 4096).has_value());
}

TEST(BlockArena, RandomUseNeverGivesABlockTwice) {
  constexpr std::uint64_t kSeed = 42;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  struct Block {
    std::uint64_t offset;
    std::size_t bytes;
    std::size_t alignment;
  };
  BlockArena arena(std::uint64_t{1} << 20);
  std::map<std::uint64_t, Block> live;
  for (int round = 0; round < 20'000; ++round) {
    if (random.below(2) == 0 || live.empty()) {
      const std::size_t bytes = 1 + random.below(std::size_t{1} << random.below(15));
      const std::size_t alignment = std::size_t{1} << random.below(10);
      const auto offset = arena.allocate(bytes, alignment);
      if (!offset) {
        continue;
      }
      const auto after = live.lower_bound(*offset);
      ASSERT_TRUE(after == live.end() || *offset + bytes <= after->first);
      ASSERT_TRUE(after == live.begin() || std::prev(after)->second.offset + std::prev(after)->second.bytes <= *offset);
      live.emplace(*offset, Block{*offset, bytes, alignment});
    } else {
      auto at = live.lower_bound(random.below(std::uint64_t{1} << 20));
      at = at == live.end() ? live.begin() : at;
      arena.deallocate(at->second.offset, at->second.bytes, at->second.alignment);
      live.erase(at);
    }
  }
  for (const auto& [offset, block] : live) {
    arena.deallocate(offset, block.bytes, block.alignment);
  }
  EXPECT_TRUE(arena.empty());
}

}  // namespace
}  // namespace ferry::shm
