// Worlds of a thousand nodes hold a million queue pairs: what an idle one costs.
#include <malloc.h>

#include <cstdio>

#include <sanitizers.hpp>

#include "nic_rig.hpp"

namespace ferry::sim::test {
namespace {

constexpr std::size_t kQueues = 1000;
constexpr std::size_t kBytes = 1024;

std::size_t heap_in_use() {
  return mallinfo2().uordblks;
}

// Two ends each; one read is done on each, so that what is idle has worked.
TEST(QueueSize, AnIdleQueuePairTakesAtMostAKiB) {
  if (ferry::test::kSanitized) {
    GTEST_SKIP() << "a sanitizer's allocator keeps no account";
  }
  NicRig rig({}, 1);
  std::vector<std::unique_ptr<End>> ends;
  for (std::size_t index = 0; index < 2 * kQueues; ++index) {
    ends.push_back(std::make_unique<End>());
  }
  rig.run();
  const std::size_t before = heap_in_use();
  for (std::size_t index = 0; index < kQueues; ++index) {
    End& near = *ends[2 * index];
    End& far = *ends[2 * index + 1];
    near.pair = rig.a().nic().create_queue_pair({}, near).value();
    far.pair = rig.b().nic().create_queue_pair({}, far).value();
    near.pair->connect(far.pair->address()).value();
    far.pair->connect(near.pair->address()).value();
    const queue::WorkRequest read = rig.get(0, 0);
    near.pair->post(std::span(&read, 1)).value();
    rig.run();
    near.ended = {};
  }
  const std::size_t each = (heap_in_use() - before) / (2 * kQueues);
  RecordProperty("bytes", std::to_string(each));
  std::printf("  %zu bytes each\n", each);
  EXPECT_LE(each, kBytes);
  for (auto& end : ends) {
    end->pair.reset();
  }
}

}  // namespace
}  // namespace ferry::sim::test
