// What a node holds in memory: 100,000 registered buffers and 10,000 idle actors, measured by its own resident size.
#include <gtest/gtest.h>

#include <cstdio>
#include <vector>

#include <core_node.hpp>
#include <manual_executor.hpp>
#include <resident_memory.hpp>

namespace ferry {
namespace {

using Node = test::CoreNode<test::ManualExecutor>;

class Idle final : public Actor {
 public:
  explicit Idle(ActorContext&) {}
  void nothing() {}
  static constexpr auto endpoints = ferry::endpoints<&Idle::nothing>;
};

Task<void> spawn_many(Context context, int count) {
  for (int index = 0; index < count; ++index) {
    auto spawned = context.this_proc().spawn<Idle>("");
    static_cast<void>(co_await spawned);
  }
}

TEST(Memory, OfManyBuffersAndIdleActorsStaysUnderItsBound) {
  Node node(actors<Idle>);
  std::vector<std::byte> memory(64);
  node.run(spawn_many(node.context(), 10));  // what is made once
  const std::size_t before = test::resident_bytes();
  std::vector<RDMABuffer> buffers;
  buffers.reserve(100'000);
  for (int index = 0; index < 100'000; ++index) {
    buffers.push_back(node.context().register_memory(std::span(memory)));
  }
  const std::size_t with_buffers = test::resident_bytes();
  node.run(spawn_many(node.context(), 10'000));
  const std::size_t after = test::resident_bytes();
  RecordProperty("buffer_bytes", std::to_string((with_buffers - before) / 100'000));
  RecordProperty("actor_bytes", std::to_string((after - with_buffers) / 10'000));
  std::printf("%zu bytes a buffer, %zu bytes an idle actor\n", (with_buffers - before) / 100'000,
              (after - with_buffers) / 10'000);
  EXPECT_LT(after - before, std::size_t{200} << 20);
}

}  // namespace
}  // namespace ferry
