// What one-sided operations allocate, counted.
#include <gtest/gtest.h>

#include <array>

#include <ferry/buffer/batch.hpp>
#include <ferry/buffer/rdma_buffer.hpp>

#include <allocation_counter.hpp>
#include <core_node.hpp>
#include <manual_executor.hpp>

namespace ferry {
namespace {

using Node = test::CoreNode<test::ManualExecutor>;

Task<std::size_t> read_often(BufferRef ref, std::span<std::byte> local) {
  const std::size_t before = test::allocations();
  for (int round = 0; round < 1000; ++round) {
    auto read = ref.read_into(local);
    co_await read;
  }
  co_return test::allocations() - before;
}

Task<std::size_t> add_often(BufferRef ref) {
  const std::size_t before = test::allocations();
  for (int round = 0; round < 1000; ++round) {
    auto add = ref.fetch_add(1);
    static_cast<void>(co_await add);
  }
  co_return test::allocations() - before;
}

TEST(Allocations, OfOperationsOnOwnMemoryAreNone) {
  Node node;
  alignas(8) std::array<std::byte, 64> memory{};
  std::array<std::byte, 64> local{};
  const RDMABuffer buffer = node.context().register_memory(std::span(memory));
  node.run(read_often(buffer.ref(), std::span(local)));
  EXPECT_EQ(node.run(read_often(buffer.ref(), std::span(local))), 0U);
  EXPECT_EQ(node.run(add_often(buffer.ref())), 0U);
}

constexpr std::size_t kMembers = 10'000;

Task<Outcomes> run_batch(Batch& batch) {
  auto run = batch.run();
  co_return co_await run;
}

TEST(Allocations, OfAReservedBatchDoNotGrowWithItsMembers) {
  Node node;
  RemoteRegion region;
  region.owner = node.other().id();
  region.slot = RegionSlot(1);
  region.generation = Generation(1);
  region.rights = Access::all;
  region.size = region.length = 8;
  const BufferRef ref(node.other(), region);
  std::array<std::byte, 8> local{};
  node.fake().prepare = [](test::FakeConnection& connection) { connection.records = false; };
  std::array<std::size_t, 2> seen{};
  for (std::size_t round = 0; round < 3; ++round) {
    Batch batch(kMembers);
    const std::size_t count = round == 1 ? 1 : kMembers;  // the first round opens the channel
    const std::size_t before = test::allocations();
    for (std::size_t index = 0; index < count; ++index) {
      batch.add(ref.read_into(std::span(local)));
    }
    Strand strand(node.executor(), &node.core());
    bool done = false;
    detail::RootTask<Outcomes> root(
        strand, run_batch(batch), [](auto&, void* flag) noexcept { *static_cast<bool*>(flag) = true; }, &done);
    root.post();
    node.executor().run();
    ASSERT_EQ(node.fake().only().in_flight(), count);  // all in flight at once
    while (node.fake().only().in_flight() > 0) {
      node.fake().only().finish();
    }
    node.executor().run();
    ASSERT_TRUE(done);
    if (round > 0) {
      seen[round - 1] = test::allocations() - before;
    }
  }
  EXPECT_EQ(seen[1], seen[0]) << "ten thousand members allocated more than one";
}

}  // namespace
}  // namespace ferry
