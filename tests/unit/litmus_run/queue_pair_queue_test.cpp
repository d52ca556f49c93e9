// The suite on queue pairs: QueuePairQueue over a device of the fake fabric.
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ferry/litmus_run/queue_pair_queue.hpp>

#include "one_process.hpp"
#include "polled_fabric.hpp"

#include "../../sim/litmus/litmus_programs.hpp"

namespace ferry::litmus_run {
namespace {

using test::FakeDevice;

// Connects each litmus queue with a pair of its own.
class Pairs {
 public:
  MakeQueue maker() {
    return [this](const litmus::Program& program, litmus::QueueIndex index, const Layout& layout, Board& board,
                  const Memories& memories) -> std::unique_ptr<RealQueue> {
      const litmus::Queue& queue = program.queues[index];
      std::byte* const local = memories[queue.from];
      std::byte* const remote = memories[queue.to];
      const std::lock_guard lock(fabric_.mutex());
      const std::uint32_t remote_key = fabric_.device().add_region(remote, layout.bytes(), Access::all);
      const QueuePairQueue::Place place{&device_,
                                        {local, device_.register_local(local, layout.bytes()).value()},
                                        {remote_key, reinterpret_cast<std::uintptr_t>(remote)}};
      auto near = QueuePairQueue::create(program, index, layout, board, place).value();
      targets_.push_back(QueuePairTarget::create(board, device_).value());
      queue::QueuePair& far = targets_.back()->queue_pair();
      near->queue_pair().connect(far.address()).value();
      far.connect(near->queue_pair().address()).value();
      return near;
    };
  }
  PolledFabric<>& fabric() noexcept { return fabric_; }
  test::FakeDevice& device() noexcept { return device_; }

 private:
  PolledFabric<> fabric_;
  test::FakeDevice& device_ = fabric_.device();
  std::vector<std::unique_ptr<QueuePairTarget>> targets_;
};

RunOrder order_of(std::uint64_t runs) {
  RunOrder order;
  order.runs = runs;
  order.seed = 1;
  return order;
}

TEST(QueuePairQueue, KeepsToPortableInEveryTestOfTheSuite) {
  std::vector<std::string> not_run;
  Pairs pairs;
  for (const litmus::Program& program : litmus::suite()) {
    if (why_not_on_queue_pairs(program, pairs.device().limits(), false)) {
      not_run.push_back(program.name);
      continue;
    }
    OneProcess process(program, layout_for_queue_pairs(program), pairs.maker());
    const auto seen = process.run(order_of(100));
    ASSERT_TRUE(seen.front()) << program.name << ": " << seen.front().error().detail();
    EXPECT_EQ(runs_outside_portable(program, *seen.front()), 0U) << program.name;
    EXPECT_EQ(seen.front()->stuck, 0U) << program.name;
  }
  // The atomics of D03 exclude the processor, and the words of T10 are not declared in the order of its message.
  EXPECT_THAT(not_run, testing::ElementsAre("D03", "T10"));
}

TEST(QueuePairQueue, PostsTheFencesOfTheTestAndNoOthers) {
  for (const bool is_fenced : {false, true}) {
    const auto program = only_program(std::string("litmus T\ninit a@A=0 b@A=0 x@B=7 y@B=0\nqueue q A B\nthread A on A\n"
                                                  "get q a@A <- x@B\nput") +
                                      (is_fenced ? ".fence" : "") + " q y@B <- b@A\npoll q\npoll q\n");
    Pairs pairs;
    OneProcess process(program, layout_for_queue_pairs(program), pairs.maker());
    const auto seen = process.run(order_of(3));
    ASSERT_TRUE(seen.front());
    const std::lock_guard lock(pairs.fabric().mutex());
    std::size_t fenced = 0;
    for (const queue::WorkRequest& request : pairs.fabric().device().executed) {
      fenced += request.fenced ? 1 : 0;
      EXPECT_TRUE(!request.fenced || request.verb == queue::Verb::put);
    }
    EXPECT_EQ(fenced, is_fenced ? 3U : 0U);
  }
}

TEST(QueuePairQueue, AFailedRequestEndsTheRunsAndIsNamed) {
  const auto program =
      only_program("litmus T\ninit a@A=1 x@B=0\nqueue q A B\nthread A on A\nput q x@B <- a@A\npoll q\n");
  Pairs pairs;
  OneProcess process(program, layout_for_queue_pairs(program), pairs.maker());
  {
    const std::lock_guard lock(pairs.fabric().mutex());
    pairs.fabric().device().fault = FakeDevice::Fault{2, queue::WorkStatus::unreachable};
  }
  const auto results = process.run(order_of(10));
  ASSERT_FALSE(results.front());
  EXPECT_THAT(results.front().error().detail(), testing::HasSubstr("a request of the test ended"));
}

TEST(QueuePairQueue, SaysWhichTestsItCannotRun) {
  queue::DeviceLimits limits;
  limits.atomics = false;
  const auto adds = only_program("litmus T\ninit r@A=9 x@B=0\nqueue q A B\nthread A on A\nrfaa q r@A <- x@B + 1\n");
  EXPECT_EQ(why_not_on_queue_pairs(adds, limits, false), "the device has no atomics");
  limits.atomics = true;
  EXPECT_EQ(why_not_on_queue_pairs(adds, limits, false), std::nullopt);
  const auto apart = only_program(
      "litmus T\ninit a@A=1 b@A=1 x@B=0 y@B=0\nqueue q A B\nthread A on A\nput q x@B <- b@A, y@B <- a@A\n");
  EXPECT_THAT(why_not_on_queue_pairs(apart, limits, false).value_or(""), testing::HasSubstr("one range on each side"));
  limits.order = queue::OrderClass::iwarp;
  EXPECT_NE(why_not_on_queue_pairs(adds, limits, false), std::nullopt);
}

}  // namespace
}  // namespace ferry::litmus_run
