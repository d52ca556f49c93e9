// What the owner's side does to pinned memory: copies by pieces, atomics, and what they say when the region goes away.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <numeric>
#include <vector>

#include <ferry/memory/execute.hpp>

namespace ferry {
namespace {

struct Fixture : ::testing::Test {
  RegionHandle insert(std::byte* base, std::uint64_t size, Access rights = Access::all) {
    LocalRegion region;
    region.base = base;
    region.size = size;
    region.rights = rights;
    return table.insert(region).value();
  }
  RegionTable table{3};
};
using Execute = Fixture;

TEST_F(Execute, CopiesRangesOfManyPiecesWithGuardsIntact) {
  const std::size_t size = 3 * limits::kPieceBytes + 77;
  std::vector<std::byte> memory(size + 2);
  for (std::size_t index = 0; index < memory.size(); ++index) {
    memory[index] = static_cast<std::byte>(index * 7 / 3);
  }
  const RegionHandle region = insert(memory.data() + 1, size);
  std::vector<std::byte> local(size + 2, std::byte{0xee});
  ASSERT_TRUE(copy_from_region(table, region, 0, local.data() + 1, size));
  EXPECT_TRUE(std::equal(memory.begin() + 1, memory.end() - 1, local.begin() + 1));
  EXPECT_EQ(local.front(), std::byte{0xee});
  EXPECT_EQ(local.back(), std::byte{0xee});
  std::vector<std::byte> other(size, std::byte{0x11});
  const auto before = memory.front();
  const auto after = memory.back();
  ASSERT_TRUE(copy_to_region(table, region, 0, other.data(), size));
  EXPECT_TRUE(std::equal(other.begin(), other.end(), memory.begin() + 1));
  EXPECT_EQ(memory.front(), before);
  EXPECT_EQ(memory.back(), after);
}

TEST_F(Execute, CopiesNothingWhereTheLengthIsZeroButStillChecks) {
  std::vector<std::byte> memory(8);
  const RegionHandle region = insert(memory.data(), 8, Access::read);
  EXPECT_TRUE(copy_from_region(table, region, 8, nullptr, 0));
  EXPECT_EQ(copy_from_region(table, region, 9, nullptr, 0).error().code(), errc::invalid_range);
  EXPECT_EQ(copy_to_region(table, region, 0, nullptr, 0).error().code(), errc::access_denied);
}

TEST_F(Execute, ExecutesAtomicsAndGivesTheOldValue) {
  alignas(8) std::uint64_t words[2] = {5, 9};
  const RegionHandle region = insert(reinterpret_cast<std::byte*>(words), sizeof(words));
  EXPECT_EQ(atomic_on_region(table, region, 0, AtomicKind::fetch_add, 3, 0).value(), 5U);
  EXPECT_EQ(words[0], 8U);
  EXPECT_EQ(atomic_on_region(table, region, 0, AtomicKind::fetch_add, ~std::uint64_t{0}, 0).value(), 8U);
  EXPECT_EQ(words[0], 7U);
  EXPECT_EQ(atomic_on_region(table, region, 8, AtomicKind::swap, 1, 0).value(), 9U);
  EXPECT_EQ(words[1], 1U);
  EXPECT_EQ(atomic_on_region(table, region, 8, AtomicKind::compare_swap, 4, 2).value(), 1U);
  EXPECT_EQ(words[1], 1U);
  EXPECT_EQ(atomic_on_region(table, region, 8, AtomicKind::compare_swap, 4, 1).value(), 1U);
  EXPECT_EQ(words[1], 4U);
}

TEST_F(Execute, RefusesAtomicsOnWordsThatAreNotAligned) {
  alignas(8) std::uint64_t words[3] = {1, 2, 3};
  const RegionHandle region = insert(reinterpret_cast<std::byte*>(words) + 4, 20);
  EXPECT_EQ(atomic_on_region(table, region, 0, AtomicKind::fetch_add, 3, 0).error().to_text(),
            "misaligned: an atomic needs a word whose address in the owner's memory is a multiple of 8");
  EXPECT_EQ(atomic_on_region(table, region, 4, AtomicKind::fetch_add, 3, 0).value(), 2U);
  EXPECT_EQ(atomic_on_region(table, region, 13, AtomicKind::fetch_add, 3, 0).error().code(), errc::invalid_range);
  EXPECT_EQ(words[0], 1U);
  EXPECT_EQ(words[2], 3U);
}

TEST_F(Execute, SaysWhetherAnythingWasWrittenWhenTheRegionGoesAwayInBetween) {
  std::vector<std::byte> memory(2 * limits::kPieceBytes);
  std::vector<std::byte> local(2 * limits::kPieceBytes, std::byte{1});
  const RegionHandle region = insert(memory.data(), limits::kPieceBytes);  // the second piece lies outside
  EXPECT_EQ(copy_to_region(table, region, 0, local.data(), local.size()).error().effect(), Effect::unknown);
  EXPECT_EQ(copy_to_region(table, region, limits::kPieceBytes, local.data(), 1).error().effect(), Effect::none);
  EXPECT_EQ(copy_from_region(table, region, 0, local.data(), local.size()).error().effect(), Effect::none);
}

}  // namespace
}  // namespace ferry
