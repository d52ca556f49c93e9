#include <array>
#include <limits>
#include <vector>

#include "patterns.hpp"
#include "scenario.hpp"

namespace ferry::conformance {
namespace {

FERRY_CONFORMANCE(Bounds);

using testing::HasSubstr;

constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();

Task<void> ranges_beyond_the_region(Cluster& cluster) {
  constexpr std::uint64_t kSize = 4'096;
  Shared<std::byte> owner(cluster, 1, kSize, std::byte{0x22});
  const BufferRef ref = owner.ref(cluster, 0);
  Guarded local(64);
  struct Range {
    std::uint64_t offset;
    std::uint64_t length;
  };
  const std::array<Range, 9> ranges{{{kSize - 1, 2},
                                     {kSize, 1},
                                     {kSize + 1, 0},
                                     {kLargest - 7, 16},
                                     {0, kLargest},
                                     {1, kLargest},
                                     {kLargest, kLargest},
                                     {kLargest, 1},
                                     {0, kSize + 1}}};
  for (const Range& range : ranges) {
    const std::array<Chunk, 2> chunks{{{0, local.data(), 8}, {range.offset, local.data() + 8, range.length}}};
    const std::span<const Chunk> list(chunks);
    const Failure read = co_await failure_of(ref.read_into(list));
    const Failure write = co_await failure_of(ref.write_from(list));
    for (const Failure& failure : {read, write}) {
      if (!failure) {
        ADD_FAILURE() << "offset " << range.offset << ", length " << range.length << " was accepted";
        continue;
      }
      EXPECT_EQ(failure.code(), errc::invalid_range);
      EXPECT_EQ(failure.effect(), Effect::none);
      EXPECT_EQ(failure.offset(), range.offset);
      EXPECT_EQ(failure.length(), range.length);
      EXPECT_EQ(failure.size(), kSize);
      EXPECT_THAT(failure.to_text(), HasSubstr(std::to_string(range.offset)));
      EXPECT_THAT(failure.to_text(), HasSubstr(std::to_string(range.length)));
    }
    EXPECT_THROW(static_cast<void>(ref.subrange(range.offset, range.length)), Error);
  }
  EXPECT_TRUE(all_are(local.bytes(), Guarded::kGuardByte)) << "a refused read wrote";
  EXPECT_TRUE(all_are(owner.values, std::byte{0x22})) << "a refused write wrote";
  co_await ref.subrange(kSize - 64, 64).read_into(local.bytes());
  EXPECT_TRUE(all_are(local.bytes(), std::byte{0x22})) << "the next valid read";
}
TEST_P(Bounds, RangesBeyondTheRegionAreRefusedBeforeAnyTrafficAndTheNextReadWorks) {
  play(ranges_beyond_the_region);
}

Task<void> local_length_differs(Cluster& cluster) {
  Shared<std::byte> owner(cluster, 1, 100, std::byte{0x33});
  const BufferRef ref = owner.ref(cluster, 0);
  for (const std::size_t length : {std::size_t{0}, std::size_t{99}, std::size_t{101}}) {
    Guarded local(length);
    const Failure read = co_await failure_of(ref.read_into(local.bytes()));
    const Failure write = co_await failure_of(ref.write_from(local.bytes()));
    for (const Failure& failure : {read, write}) {
      EXPECT_TRUE(failure) << length << " bytes were accepted for 100";
      if (failure) {
        EXPECT_EQ(failure.code(), errc::invalid_range);
        EXPECT_THAT(failure.to_text(), HasSubstr("100"));
        EXPECT_THAT(failure.to_text(), HasSubstr("subrange"));
      }
    }
    EXPECT_TRUE(local.guards_are_intact());
  }
  EXPECT_TRUE(all_are(owner.values, std::byte{0x33}));
}
TEST_P(Bounds, LocalMemoryOfAnotherSizeThanTheReferenceIsRefused) {
  play(local_length_differs);
}

Task<void> zero_length(Cluster& cluster) {
  Shared<std::byte> owner(cluster, 1, 1'000);
  fill_pattern(owner.values, 1);
  const BufferRef ref = owner.ref(cluster, 0);
  std::array<std::byte, 1> local{std::byte{0x44}};
  const std::span<std::byte> nothing(local.data(), 0);
  const std::span<std::byte> null_span;
  for (const std::uint64_t offset : {0U, 500U, 1'000U}) {
    const BufferRef empty = ref.subrange(offset, 0);
    co_await empty.read_into(nothing);
    co_await empty.write_from(nothing);
    co_await empty.read_into(null_span);
    co_await empty.write_from(null_span);
  }
  EXPECT_EQ(local[0], std::byte{0x44});
  EXPECT_TRUE(is_pattern(owner.values, 1));

  const std::span<const Chunk> no_chunks(static_cast<const Chunk*>(nullptr), 0);
  static_cast<void>(no_chunks);
  Guarded a(100);
  Guarded b(50);
  const std::array<Chunk, 3> chunks{{{0, a.data(), 100}, {300, nullptr, 0}, {950, b.data(), 50}}};
  co_await ref.read_into(std::span<const Chunk>(chunks));
  EXPECT_TRUE(is_pattern(a.bytes(), 1) && is_pattern(b.bytes(), 1, 950)) << "segments beside an empty one";
}
TEST_P(Bounds, ZeroLengthSucceedsAnywhereInTheRegionAndTouchesNothing) {
  play(zero_length);
}

Task<void> empty_region(Cluster& cluster) {
  Shared<std::byte> owner(cluster, 1, 0);
  const BufferRef ref = owner.ref(cluster, 0);
  EXPECT_EQ(ref.size(), 0U);
  const std::span<std::byte> nothing;
  co_await ref.read_into(nothing);
  co_await ref.write_from(nothing);
  const errc code = co_await code_of(ref.fetch_add(1));
  EXPECT_EQ(code, errc::invalid_range);
}
TEST_P(Bounds, RegionOfZeroBytesCanBeRegisteredAndRead) {
  play(empty_region);
}

Task<void> misaligned_atomics(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 4, 7);
  const BufferRef whole = owner.ref(cluster, 0);
  // A registration whose base is 4 mod 8: there offset 4 is the aligned one.
  RDMABuffer odd = cluster.context(1).register_memory(std::as_writable_bytes(std::span(owner.values)).subspan(4, 24));
  const BufferRef odd_ref = carry(odd.ref(), cluster, 0);
  struct Try {
    BufferRef ref;
    std::uint64_t offset;
  };
  const std::array<Try, 5> wrong{{{whole, 4}, {whole, 1}, {whole.subrange(4, 16), 0}, {odd_ref, 0}, {odd_ref, 8}}};
  for (const Try& attempt : wrong) {
    const Failure add = co_await failure_of(attempt.ref.fetch_add(1, {.offset = attempt.offset}));
    const Failure compare = co_await failure_of(attempt.ref.compare_swap(7, 1, {.offset = attempt.offset}));
    const Failure swap = co_await failure_of(attempt.ref.swap(1, {.offset = attempt.offset}));
    for (const Failure& failure : {add, compare, swap}) {
      EXPECT_TRUE(failure && failure.code() == errc::misaligned) << "offset " << attempt.offset;
      if (failure) {
        EXPECT_THAT(failure.to_text(), HasSubstr("multiple of 8"));
        EXPECT_EQ(failure.effect(), Effect::none);
      }
    }
  }
  for (const std::uint64_t value : owner.values) {
    EXPECT_EQ(value, 7U) << "a refused atomic changed memory";
  }
  const std::uint64_t a = co_await whole.subrange(4, 16).fetch_add(1, {.offset = 4});
  const std::uint64_t b = co_await odd_ref.fetch_add(1, {.offset = 12});
  EXPECT_EQ(a, 7U);
  EXPECT_EQ(b, 7U);
  EXPECT_EQ(owner.values[1], 8U);
  EXPECT_EQ(owner.values[2], 8U);
}
TEST_P(Bounds, MisalignedAtomicsAreRefusedAndAlignedOnesWorkWhateverTheBase) {
  play(misaligned_atomics);
}

Task<void> atomics_beyond_the_range(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 4, 7);
  const BufferRef ref = owner.ref(cluster, 0).subrange(0, 16);
  for (const std::uint64_t offset : {std::uint64_t{16}, std::uint64_t{24}, std::uint64_t{9}, kLargest - 7, kLargest}) {
    const Failure failure = co_await failure_of(ref.fetch_add(1, {.offset = offset}));
    EXPECT_TRUE(failure && failure.code() == errc::invalid_range) << offset;
  }
  EXPECT_EQ(owner.values[2], 7U);
  EXPECT_EQ(owner.values[3], 7U);
}
TEST_P(Bounds, AtomicsBeyondTheReferencedRangeAreRefused) {
  play(atomics_beyond_the_range);
}

// Reads or writes [offset, +length) with a local start of its own misalignment and looks at every byte around.
Task<void> move_part(Shared<std::byte>& owner, BufferRef ref, std::size_t offset, std::size_t length,
                     std::size_t misalignment) {
  fill_pattern(owner.values, 1);
  Guarded local(length, misalignment);
  const BufferRef part = ref.subrange(offset, length);
  co_await part.read_into(local.bytes());
  EXPECT_TRUE(is_pattern(local.bytes(), 1, offset) && local.guards_are_intact())
      << "read of [" << offset << ", +" << length << ") to an address of " << misalignment;
  fill_pattern(local.bytes(), 2, offset);
  co_await part.write_from(local.bytes());
  const std::span<const std::byte> all(owner.values);
  EXPECT_TRUE(is_pattern(all.first(offset), 1) && is_pattern(all.subspan(offset, length), 2, offset) &&
              is_pattern(all.subspan(offset + length), 1, offset + length))
      << "write of [" << offset << ", +" << length << ") from an address of " << misalignment;
}

Task<void> misaligned_starts(Cluster& cluster) {
  const bool many = cluster.traits().threads;
  Shared<std::byte> owner(cluster, 1, many ? 4'200 : 300);
  const BufferRef ref = owner.ref(cluster, 0);
  const std::vector<std::size_t> lengths =
      many ? std::vector<std::size_t>{1, 2, 7, 8, 9, 15, 17, 63, 64, 65, 4'095, 4'097}
           : std::vector<std::size_t>{1, 9, 65};
  for (const std::size_t length : lengths) {
    for (std::size_t offset = 0; offset < 9; offset += many ? 1 : 4) {
      for (std::size_t misalignment = 0; misalignment < 9; misalignment += many ? 1 : 3) {
        auto part = move_part(owner, ref, offset, length, misalignment);
        co_await part;
      }
    }
  }
}
TEST_P(Bounds, AnyAlignmentOfBothSidesMovesEveryByteRight) {
  play(misaligned_starts, {.seeds = 4});
}

Task<void> sizes_around_limits(Cluster& cluster) {
  const std::size_t piece = limits::kPieceBytes;
  std::vector<std::size_t> sizes{limits::kSmallBytes - 1, limits::kSmallBytes, limits::kSmallBytes + 1};
  if (cluster.traits().threads) {
    sizes.insert(sizes.end(), {piece - 1, piece, piece + 1, 3 * piece + 5, limits::kWindowPieces * piece + 1});
  } else {
    sizes.push_back(64 * 1'024 + 1);
  }
  Shared<std::byte> owner(cluster, 1, sizes.back() + 16);
  const BufferRef ref = owner.ref(cluster, 0);
  for (const std::size_t size : sizes) {
    auto part = move_part(owner, ref, 3, size, 5);
    co_await part;
  }
}
TEST_P(Bounds, SizesAroundEveryLimitOfSplittingMoveEveryByteRight) {
  play(sizes_around_limits, {.seeds = 4});
}

}  // namespace
}  // namespace ferry::conformance
