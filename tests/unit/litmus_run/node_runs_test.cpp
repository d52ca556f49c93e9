// The harness itself: honest queues keep to portable, queues with a known fault are found, stuck runs are counted, and
// a failure ends everybody.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "one_process.hpp"
#include "software_queue.hpp"

#include "../../sim/litmus/litmus_programs.hpp"

namespace ferry::litmus_run {
namespace {

constexpr std::uint64_t kRuns = 60;

MakeQueue software(QueueFault fault) {
  return [fault](const litmus::Program& program, litmus::QueueIndex queue, const Layout& layout, Board& board,
                 const Memories& memories) {
    const auto [name, from, to] = program.queues[queue];
    return std::make_unique<SoftwareQueue>(queue, layout, board, memories[from], memories[to], fault);
  };
}

RunOrder order_of(std::uint64_t runs) {
  RunOrder order;
  order.runs = runs;
  order.seed = 1;
  return order;
}

Sightings run(const litmus::Program& program, QueueFault fault, std::uint64_t runs = kRuns) {
  OneProcess process(program, layout_of(program), software(fault));
  return process.run(order_of(runs)).front().value();
}

litmus::Program test_of_suite(std::string_view name) {
  const auto suite = litmus::suite();
  return *std::find_if(suite.begin(), suite.end(), [name](const litmus::Program& each) { return each.name == name; });
}

std::uint64_t all_runs(const Sightings& sightings) {
  std::uint64_t sum = sightings.stuck;
  for (const auto& [outcome, hits] : sightings.outcomes) {
    sum += hits;
  }
  return sum;
}

TEST(NodeRuns, HonestQueuesKeepToPortableInEveryTestOfTheSuite) {
  for (const litmus::Program& program : litmus::suite()) {
    const Sightings seen = run(program, QueueFault::none);
    EXPECT_EQ(runs_outside_portable(program, seen), 0U) << program.name;
    EXPECT_EQ(all_runs(seen), kRuns) << program.name;
    EXPECT_EQ(seen.stuck, 0U) << program.name;
  }
}

struct Canary {
  QueueFault fault;
  const char* test;
};

class FaultyQueue : public testing::TestWithParam<Canary> {};

TEST_P(FaultyQueue, ShowsOutcomesThatPortableForbids) {
  const litmus::Program program = test_of_suite(GetParam().test);
  EXPECT_GT(runs_outside_portable(program, run(program, GetParam().fault, 2000)), 0U);
}

INSTANTIATE_TEST_SUITE_P(Faults, FaultyQueue,
                         testing::Values(Canary{QueueFault::ignores_fences, "D02"}, Canary{QueueFault::reorders, "L20"},
                                         Canary{QueueFault::reorders, "L07"}, Canary{QueueFault::copies_late, "L03"},
                                         Canary{QueueFault::completes_early, "L02"},
                                         Canary{QueueFault::completes_early, "L06"},
                                         Canary{QueueFault::notifies_early, "L18"}),
                         [](const auto& each) {
                           return std::string(each.param.test) + "_" +
                                  std::to_string(static_cast<int>(each.param.fault));
                         });

TEST(NodeRuns, RacesOfPlainStoresAreSeenBothWays) {
  const auto program = only_program("litmus T\ninit x@A=0\nthread P on A\nst x@A 1\nthread Q on A\nst x@A 2\n");
  EXPECT_EQ(run(program, QueueFault::none, 5000).outcomes.size(), 2U);
}

TEST(NodeRuns, ARunThatWaitsForWhatNobodyWritesIsStuckAtOnce) {
  const auto program = only_program(
      "litmus T\ninit a@A=1 x@B=0\nqueue q A B\nthread A on A\nput q x@B <- a@A\nthread B on B\nwait x@B 2\n");
  const Sightings seen = run(program, QueueFault::none, 200);
  EXPECT_EQ(seen.stuck, 200U);
  EXPECT_TRUE(seen.outcomes.empty());
}

TEST(NodeRuns, APollForNothingAndAReceivePollForNothingAreStuck) {
  const auto program = only_program(
      "litmus T\ninit a@A=1 x@B=0\nqueue q A B\nthread A on A\nput q x@B <- a@A\npoll q\npoll q\nthread B on B\nrpoll "
      "q\n");
  EXPECT_EQ(run(program, QueueFault::none, 200).stuck, 200U);
}

TEST(NodeRuns, OnlyTheRunsThatGetStuckAreCountedSo) {
  const auto program = only_program(
      "litmus T\ninit x@A=0\nthread P on A\nst x@A 1\nthread Q on A\nst x@A 2\nthread R on A\nwait x@A 1\n");
  const Sightings seen = run(program, QueueFault::none, 5000);
  EXPECT_GT(seen.stuck, 0U);
  EXPECT_GT(seen.outcomes.size(), 0U);
  EXPECT_EQ(all_runs(seen), 5000U);
  EXPECT_EQ(runs_outside_portable(program, seen), 0U);
}

// The waiting thread has stood still, and goes on when the others' words arrive, again and again.
TEST(NodeRuns, AChainOfWaitsIsNotStuck) {
  const auto program = only_program(
      "litmus T\ninit one@A=1 two@B=2 three@C=3 x@B=0 y@C=0 z@A=0\nqueue q A B\nqueue p B C\nqueue r C A\n"
      "thread C on C\nwait y@C 2\nput r z@A <- three@C\nthread B on B\nwait x@B 1\nput p y@C <- two@B\n"
      "thread A on A\nput q x@B <- one@A\nwait z@A 3\n");
  const Sightings seen = run(program, QueueFault::none, 200);
  EXPECT_EQ(seen.stuck, 0U);
  EXPECT_EQ(all_runs(seen), 200U);
}

TEST(NodeRuns, MoreRunsThanFitBesideEachOtherAreAllMade) {
  const auto program = only_program("litmus T\ninit x@A=0\nthread P on A\nst x@A 1\nld r x@A\n");
  const std::uint64_t runs = 2 * layout_of(program).slots + 3;
  const Sightings seen = run(program, QueueFault::none, runs);
  ASSERT_EQ(seen.outcomes.size(), 1U);
  EXPECT_EQ(seen.outcomes.begin()->first, (std::vector<litmus::Value>{1, 1}));
  EXPECT_EQ(seen.outcomes.begin()->second, runs);
}

TEST(NodeRuns, AFailedOperationEndsAllNodesAndSaysWhy) {
  const auto program = only_program(
      "litmus T\ninit a@A=1 x@B=0\nqueue q A B\nthread B on B\nwait x@B 1\nthread A on A\nput q x@B <- a@A\n");
  const litmus::NodeIndex from = program.queues[0].from;
  OneProcess process(program, layout_of(program), software(QueueFault::fails));
  const auto results = process.run(order_of(10));
  ASSERT_FALSE(results[from]);
  EXPECT_EQ(results[from].error().code(), errc::peer_lost);
  ASSERT_FALSE(results[1U - from]);
  EXPECT_EQ(results[1U - from].error().code(), errc::shut_down);
}

}  // namespace
}  // namespace ferry::litmus_run
