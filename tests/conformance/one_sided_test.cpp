#include <algorithm>
#include <atomic>
#include <numeric>
#include <vector>

#include <ferry/buffer/batch.hpp>

#include "patterns.hpp"
#include "scenario.hpp"

namespace ferry::conformance {
namespace {

FERRY_CONFORMANCE(OneSided);

Task<void> read_gives_the_bytes(Cluster& cluster) {
  Shared<std::byte> owner(cluster, 1, 100'003);
  fill_pattern(owner.values, 1);
  Guarded local(owner.values.size());
  co_await owner.ref(cluster, 0).read_into(local.bytes());
  EXPECT_TRUE(is_pattern(local.bytes(), 1));
  EXPECT_TRUE(local.guards_are_intact());
}
TEST_P(OneSided, ReadGivesTheBytesOfTheOwnerAndTouchesNothingBesides) {
  play(read_gives_the_bytes);
}

Task<void> write_changes_the_range(Cluster& cluster) {
  Shared<std::byte> owner(cluster, 1, 50'000, std::byte{0x11});
  Guarded local(30'001);
  fill_pattern(local.bytes(), 2);
  co_await owner.ref(cluster, 0).subrange(9'999, 30'001).write_from(local.bytes());
  const std::span<const std::byte> all(owner.values);
  EXPECT_TRUE(is_pattern(all.subspan(9'999, 30'001), 2));
  EXPECT_TRUE(all_are(all.first(9'999), std::byte{0x11}));
  EXPECT_TRUE(all_are(all.subspan(40'000), std::byte{0x11}));
  EXPECT_TRUE(is_pattern(local.bytes(), 2)) << "a write changed its source";
}
TEST_P(OneSided, WriteChangesTheReferencedRangeAndNothingBesides) {
  play(write_changes_the_range);
}

Task<void> values_of_any_trivial_type(Cluster& cluster) {
  struct Particle {
    double position[3];
    float mass;
    std::int16_t charge;
    std::int16_t none = 0;  // no padding: what stands there is moved too, and no seed would decide it
  };
  Shared<Particle> owner(cluster, 1, 10);
  const BufferRef third = owner.ref(cluster, 0).subrange(3 * sizeof(Particle), sizeof(Particle));
  std::array<Particle, 1> local{{{{1.5, -2.5, 1e300}, 0.25F, -7, 0}}};
  co_await third.write_from(std::span(local));
  EXPECT_EQ(owner.values[3].position[2], 1e300);
  EXPECT_EQ(owner.values[3].charge, -7);
  EXPECT_EQ(owner.values[2].mass, 0.0F);
  owner.values[3].mass = 8.0F;
  co_await third.read_into(std::span(local));
  EXPECT_EQ(local[0].mass, 8.0F);
}
TEST_P(OneSided, MovesValuesOfAnyTriviallyCopyableType) {
  play(values_of_any_trivial_type);
}

Task<void> atomics_return_the_old_value(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 3, 100);
  const BufferRef ref = owner.ref(cluster, 0);
  EXPECT_EQ(co_await ref.fetch_add(5, {.offset = 8}), 100U);
  EXPECT_EQ(co_await ref.swap(7, {.offset = 8}), 105U);
  EXPECT_EQ(co_await ref.compare_swap(6, 1, {.offset = 8}), 7U) << "a comparison that fails gives the present value";
  EXPECT_EQ(owner.values[1], 7U);
  EXPECT_EQ(co_await ref.compare_swap(7, ~std::uint64_t{0}, {.offset = 8}), 7U);
  EXPECT_EQ(co_await ref.fetch_add(2, {.offset = 8}), ~std::uint64_t{0}) << "additions wrap";
  EXPECT_EQ(co_await ref.fetch_add(static_cast<std::uint64_t>(-3), {.offset = 8}), 1U);
  EXPECT_EQ(owner.values[1], static_cast<std::uint64_t>(-2));
  EXPECT_EQ(owner.values[0], 100U);
  EXPECT_EQ(owner.values[2], 100U);
}
TEST_P(OneSided, AtomicsReturnTheOldValueAndChangeOneWord) {
  play(atomics_return_the_old_value);
}

Task<void> add_ones(BufferRef counter, int count) {
  for (int round = 0; round < count; ++round) {
    co_await counter.fetch_add(1);
  }
}

Task<void> add_locally(std::uint64_t& word, int count) {
  const std::atomic_ref<std::uint64_t> counter(word);
  for (int round = 0; round < count; ++round) {
    counter.fetch_add(1, std::memory_order_relaxed);
  }
  co_return;
}

Task<void> additions_add_up(Cluster& cluster) {
  const int count = cluster.traits().threads ? 5'000 : 100;
  Shared<std::uint64_t> owner(cluster, 1, 1);
  std::vector<Running<void>> adders;
  for (std::size_t node = 0; node < cluster.size(); ++node) {
    adders.push_back(start(cluster.on(node, add_ones(owner.ref(cluster, node), count))));
  }
  adders.push_back(start(cluster.on(1, add_locally(owner.values[0], 10 * count))));
  for (Running<void>& adder : adders) {
    co_await adder;
  }
  EXPECT_EQ(owner.values[0], static_cast<std::uint64_t>(count) * (cluster.size() + 10));
}
TEST_P(OneSided, AdditionsOfAllNodesAndTheOwnersOwnAddUp) {
  play(additions_add_up, {.nodes = 4});
}

// Takes the lock word, changes a plain number under it, gives the word back.
Task<void> count_under_a_lock(BufferRef lock, BufferRef number, std::uint64_t me, int count) {
  for (int round = 0; round < count; ++round) {
    while (co_await lock.compare_swap(0, me) != 0) {
    }
    std::array<std::uint64_t, 1> value{};
    co_await number.read_into(std::span(value));
    value[0] += 1;
    co_await number.write_from(std::span(value));
    const std::uint64_t held = co_await lock.swap(0);
    EXPECT_EQ(held, me);
  }
}

Task<void> compare_swap_makes_a_lock(Cluster& cluster) {
  const int count = cluster.traits().threads ? 300 : 20;
  Shared<std::uint64_t> owner(cluster, 1, 2);
  std::vector<Running<void>> counters;
  for (std::size_t node = 0; node < cluster.size(); ++node) {
    const BufferRef ref = owner.ref(cluster, node);
    counters.push_back(
        start(cluster.on(node, count_under_a_lock(ref.subrange(0, 8), ref.subrange(8, 8), node + 1, count))));
  }
  for (Running<void>& counter : counters) {
    co_await counter;
  }
  EXPECT_EQ(owner.values[1], static_cast<std::uint64_t>(count) * cluster.size());
}
TEST_P(OneSided, CompareSwapAdmitsOneHolderAtATime) {
  play(compare_swap_makes_a_lock, {.nodes = 3});
}

Task<void> chunks_go_where_they_belong(Cluster& cluster) {
  Shared<std::byte> owner(cluster, 1, 10'000);
  fill_pattern(owner.values, 3);
  const BufferRef ref = owner.ref(cluster, 0).subrange(1'000, 9'000);
  Guarded a(777, 3);
  Guarded b(4'097, 1);
  Guarded c(1, 7);
  const std::array<Chunk, 4> chunks{
      {{8'000, a.data(), a.size()}, {5, nullptr, 0}, {11, b.data(), b.size()}, {8'999, c.data(), c.size()}}};
  co_await ref.read_into(std::span(chunks));
  EXPECT_TRUE(is_pattern(a.bytes(), 3, 9'000));
  EXPECT_TRUE(is_pattern(b.bytes(), 3, 1'011));
  EXPECT_TRUE(is_pattern(c.bytes(), 3, 9'999));
  EXPECT_TRUE(a.guards_are_intact() && b.guards_are_intact() && c.guards_are_intact());

  fill_pattern(a.bytes(), 4, 9'000);
  fill_pattern(b.bytes(), 4, 1'011);
  fill_pattern(c.bytes(), 4, 9'999);
  co_await ref.write_from(std::span(chunks));
  const std::span<const std::byte> all(owner.values);
  EXPECT_TRUE(is_pattern(all.first(1'011), 3));
  EXPECT_TRUE(is_pattern(all.subspan(1'011, 4'097), 4, 1'011));
  EXPECT_TRUE(is_pattern(all.subspan(5'108, 3'892), 3, 5'108));
  EXPECT_TRUE(is_pattern(all.subspan(9'000, 777), 4, 9'000));
  EXPECT_TRUE(is_pattern(all.subspan(9'777, 222), 3, 9'777));
  EXPECT_TRUE(is_pattern(all.subspan(9'999), 4, 9'999));
}
TEST_P(OneSided, ChunkListsMoveEachPieceWhereItBelongs) {
  play(chunks_go_where_they_belong);
}

Task<void> many_chunks(Cluster& cluster) {
  const std::size_t count = cluster.traits().threads ? 20'000 : 300;
  constexpr std::size_t kStride = 24;
  constexpr std::size_t kLength = 13;
  Shared<std::byte> owner(cluster, 1, count * kStride);
  fill_pattern(owner.values, 5);
  std::vector<std::byte> local(count * kLength);
  std::vector<Chunk> chunks;
  for (std::size_t index = 0; index < count; ++index) {  // backwards at the owner
    chunks.push_back({(count - 1 - index) * kStride, local.data() + index * kLength, kLength});
  }
  co_await owner.ref(cluster, 0).read_into(std::span<const Chunk>(chunks));
  std::size_t wrong = 0;
  for (std::size_t index = 0; index < count; ++index) {
    wrong += is_pattern(std::span(local).subspan(index * kLength, kLength), 5, (count - 1 - index) * kStride) ? 0U : 1U;
  }
  EXPECT_EQ(wrong, 0U);
}
TEST_P(OneSided, ChunkListOfManySmallPiecesIsOneOperation) {
  play(many_chunks);
}

Task<void> read_and_write(Cluster& cluster, std::size_t from, BufferRef ref) {
  std::vector<std::byte> local(ref.size());
  co_await ref.read_into(std::span(local));
  EXPECT_TRUE(is_pattern(local, 6)) << "read by node " << from;
  fill_pattern(local, 100 + from);
  co_await ref.write_from(std::span(local));
  static_cast<void>(cluster);
}

Task<void> all_pairs(Cluster& cluster) {
  for (std::size_t owner = 0; owner < cluster.size(); ++owner) {
    for (std::size_t from = 0; from < cluster.size(); ++from) {
      Shared<std::byte> memory(cluster, owner, 5'000);
      fill_pattern(memory.values, 6);
      auto there = cluster.on(from, read_and_write(cluster, from, memory.ref(cluster, from)));
      co_await there;
      EXPECT_TRUE(is_pattern(memory.values, 100 + from)) << "node " << from << " to node " << owner;
    }
  }
}
TEST_P(OneSided, EveryNodeReachesEveryNodeItselfIncluded) {
  play(all_pairs, {.nodes = 3});
}

Task<void> dropped_before_the_await(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 1, 5);
  const BufferRef ref = owner.ref(cluster, 0);
  std::array<std::uint64_t, 1> local{9};
  {
    [[maybe_unused]] const Transfer never_awaited = ref.write_from(std::span(local));
    [[maybe_unused]] const AtomicTransfer neither = ref.fetch_add(1);
  }
  EXPECT_EQ(co_await ref.fetch_add(0), 5U);
}
TEST_P(OneSided, NothingStartsBeforeItIsAwaited) {
  play(dropped_before_the_await);
}

Task<void> reference_is_copied(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 2);
  owner.values[0] = 1;
  owner.values[1] = 2;
  BufferRef ref = owner.ref(cluster, 0).subrange(0, 8);
  std::array<std::uint64_t, 1> local{};
  Transfer first = ref.read_into(std::span(local));
  ref = owner.ref(cluster, 0).subrange(8, 8);
  co_await first;
  EXPECT_EQ(local[0], 1U);
}
TEST_P(OneSided, ReferencesAreCopiedIntoTheOperation) {
  play(reference_is_copied);
}

Task<void> many_at_once(Cluster& cluster) {
  constexpr std::size_t kCount = 200;
  constexpr std::size_t kBytes = 3'000;
  Shared<std::byte> owner(cluster, 1, kCount * kBytes);
  fill_pattern(owner.values, 7);
  const BufferRef ref = owner.ref(cluster, 0);
  std::vector<std::byte> local(kCount * kBytes);
  std::vector<Running<void>> reads;
  for (std::size_t index = 0; index < kCount; ++index) {
    reads.push_back(
        start(ref.subrange(index * kBytes, kBytes).read_into(std::span(local).subspan(index * kBytes, kBytes))));
  }
  for (Running<void>& read : reads) {
    co_await read;
  }
  EXPECT_TRUE(is_pattern(local, 7));
}
TEST_P(OneSided, ManyOperationsMayBeUnderWayAtOnce) {
  play(many_at_once);
}

// The NIC's own domain: atomic among all initiators, each executed once with the old value told.
Task<void> add_on_the_nic(BufferRef word, std::uint64_t times, std::vector<std::uint64_t>& olds) {
  for (std::uint64_t round = 0; round < times; ++round) {
    olds.push_back(co_await word.fetch_add(1));
  }
}

Task<void> nic_atomics(Cluster& cluster) {
  constexpr std::uint64_t kTimes = 20;
  if (!cluster.traits().has_nic_atomics) {
    co_return;  // registering such memory is refused: errors_one_sided_test.cpp
  }
  Shared<std::uint64_t> owner(cluster, 1, 2, 0, {.atomics = AtomicDomain::nic});
  std::array<std::vector<std::uint64_t>, 3> olds;
  std::vector<Running<void>> adding;
  // A real process reaches its own memory in place, where no NIC is; a simulated one by its NIC.
  const bool owner_too = !cluster.traits().threads;
  if (!owner_too) {
    const errc own = co_await code_of(owner.ref(cluster, 1).subrange(0, 8).fetch_add(1));
    EXPECT_EQ(own, errc::unsupported);
  }
  std::size_t initiators = 0;
  for (std::size_t node = 0; node < olds.size(); ++node) {
    if (node == 1 && !owner_too) {
      continue;
    }
    ++initiators;
    const BufferRef word = owner.ref(cluster, node).subrange(0, 8);
    adding.push_back(start(cluster.on(node, add_on_the_nic(word, kTimes, olds[node]))));
  }
  for (Running<void>& one : adding) {
    co_await one;
  }
  EXPECT_EQ(owner.values[0], kTimes * initiators);
  std::vector<std::uint64_t> all;
  for (const auto& own : olds) {
    EXPECT_TRUE(std::ranges::is_sorted(own));
    all.insert(all.end(), own.begin(), own.end());
  }
  std::ranges::sort(all);
  for (std::size_t index = 0; index < all.size(); ++index) {
    EXPECT_EQ(all[index], index) << "an addition was lost, or counted twice";
  }
  const BufferRef second = owner.ref(cluster, 0).subrange(8, 8);
  const std::uint64_t failed = co_await second.compare_swap(7, 1);
  EXPECT_EQ(failed, 0U);
  const std::uint64_t swapped = co_await second.compare_swap(0, 5);
  EXPECT_EQ(swapped, 0U);
  EXPECT_EQ(owner.values[1], 5U);
}
TEST_P(OneSided, AtomicsOfTheNICAreAtomicAmongAllInitiators) {
  play(nic_atomics, {.nodes = 3});
}

}  // namespace
}  // namespace ferry::conformance
