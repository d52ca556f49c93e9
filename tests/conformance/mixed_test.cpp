// One region reached over two transports and by its owner's own instructions.
#include <atomic>
#include <vector>

#include <ferry/buffer/sequence.hpp>

#include "patterns.hpp"
#include "scenario.hpp"

namespace ferry::conformance {
namespace {

FERRY_CONFORMANCE(Mixed);

using testing::HasSubstr;

std::string way_from(Cluster& cluster, std::size_t from, std::size_t to) {
  return cluster.node(from).peers().find_or_add(cluster.node(to).self()).explain();
}

// The number of additions that each of many does at once.
constexpr std::uint64_t kAdditions = 3'000;

Task<void> add_ones(BufferRef word) {
  for (std::uint64_t round = 0; round < kAdditions; ++round) {
    co_await word.fetch_add(1);
  }
}
Task<void> compare_swap_ones(BufferRef word) {
  std::uint64_t known = 0;
  for (std::uint64_t done = 0; done < kAdditions;) {
    const std::uint64_t old = co_await word.compare_swap(known, known + 1);
    done += old == known ? 1U : 0U;
    known = old == known ? known + 1 : old;
  }
}
Task<void> add_locally(std::uint64_t& word) {
  for (std::uint64_t round = 0; round < kAdditions; ++round) {
    std::atomic_ref<std::uint64_t>(word).fetch_add(1, std::memory_order_relaxed);
  }
  co_return;
}

Task<void> atomics_add_up(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 1);
  std::vector<Running<void>> adders;
  for (const std::size_t node : {0U, 1U, 2U}) {
    adders.push_back(start(cluster.on(node, add_ones(owner.ref(cluster, node)))));
    adders.push_back(start(cluster.on(node, compare_swap_ones(owner.ref(cluster, node)))));
  }
  adders.push_back(start(cluster.on(1, add_locally(owner.values[0]))));
  for (Running<void>& adder : adders) {
    co_await adder;
  }
  EXPECT_EQ(owner.values[0], 7 * kAdditions);
  EXPECT_THAT(way_from(cluster, 0, 1), HasSubstr("shm: used"));
  EXPECT_THAT(way_from(cluster, 2, 1), HasSubstr("tcp: used"));
}
TEST_P(Mixed, AtomicsOverTwoTransportsAndTheOwnersOwnAddUp) {
  play(atomics_add_up, {.nodes = 3});
}

Task<void> write_pattern(BufferRef ref, std::uint64_t number) {
  std::vector<std::byte> local(ref.size());
  fill_pattern(local, number);
  co_await ref.write_from(std::span(local));
}
Task<bool> reads_pattern(BufferRef ref, std::uint64_t number) {
  std::vector<std::byte> local(ref.size());
  co_await ref.read_into(std::span(local));
  co_return is_pattern(local, number);
}

Task<void> completion_orders_across(Cluster& cluster) {
  Shared<std::byte> owner(cluster, 1, 30'000);
  for (std::uint64_t round = 1; round <= 100; ++round) {
    const std::size_t writer = round % 2 == 0 ? 0 : 2;
    auto written = cluster.on(writer, write_pattern(owner.ref(cluster, writer), round));
    co_await written;
    auto read = cluster.on(2 - writer, reads_pattern(owner.ref(cluster, 2 - writer), round));
    const bool seen = co_await read;
    EXPECT_TRUE(seen) << "written by node " << writer << ", read over the other transport";
  }
}
TEST_P(Mixed, DeliveredOverOneTransportIsVisibleOverTheOther) {
  play(completion_orders_across, {.nodes = 3});
}

Task<void> revoked_everywhere(Cluster& cluster) {
  for (int round = 0; round < 100; ++round) {
    Shared<std::uint64_t> owner(cluster, 1, 8);
    const BufferRef by_shm = owner.ref(cluster, 0);
    const BufferRef by_tcp = owner.ref(cluster, 2);
    auto revoked = cluster.on(1, owner.buffer.revoke());
    co_await revoked;
    const errc first = co_await code_of(by_shm.fetch_add(1));
    auto elsewhere = cluster.on(2, code_of(by_tcp.fetch_add(1)));
    const errc second = co_await elsewhere;
    EXPECT_EQ(first, errc::revoked);
    EXPECT_EQ(second, errc::revoked);
    EXPECT_EQ(owner.values[0], 0U);
  }
}
TEST_P(Mixed, RevocationHoldsOverEveryTransport) {
  play(revoked_everywhere, {.nodes = 3});
}

}  // namespace
}  // namespace ferry::conformance
