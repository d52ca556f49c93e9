// Strands, turns and fairness: one thread, every step in the test's hands.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include <ferry/base/channel.hpp>
#include <ferry/base/offload.hpp>
#include <ferry/base/sleep.hpp>
#include <ferry/base/start.hpp>

#include <manual_executor.hpp>

#include "test_awaits.hpp"

namespace ferry {
namespace {

using namespace std::chrono_literals;
using test::Inline;
using test::ManualExecutor;

struct Note : Job {
  Note(std::vector<int>& out, int id) : Job(&Note::run_it), order(out), number(id) {}
  static void run_it(Job& job) noexcept {
    auto& self = static_cast<Note&>(job);
    self.order.push_back(self.number);
    if (self.then) {
      self.then();
    }
  }
  std::vector<int>& order;
  int number;
  std::function<void()> then;
};

TEST(Strand, RunsJobsInTheOrderOfPosting) {
  ManualExecutor executor;
  Strand strand(executor);
  std::vector<int> order;
  std::vector<std::unique_ptr<Note>> notes;
  for (int number = 0; number < 200; ++number) {
    notes.push_back(std::make_unique<Note>(order, number));
    strand.post(*notes.back());
    if (number % 7 == 0) {
      executor.step();
    }
  }
  executor.run();
  ASSERT_EQ(order.size(), 200U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(Strand, WithdrawsAJobThatHasNotRun) {
  ManualExecutor executor;
  Strand strand(executor);
  std::vector<int> order;
  Note first(order, 1);
  Note second(order, 2);
  Note third(order, 3);
  first.then = [&] {
    EXPECT_TRUE(strand.has_waiting());
    EXPECT_TRUE(strand.withdraw(second));
    EXPECT_FALSE(strand.withdraw(second));
  };
  third.then = [&] {
    EXPECT_FALSE(strand.has_waiting());
    EXPECT_FALSE(strand.withdraw(first));
  };
  strand.post(first);
  strand.post(second);
  strand.post(third);
  executor.run();
  EXPECT_EQ(order, (std::vector<int>{1, 3}));
}

TEST(Strand, GivesWayToOthersAfterItsTurn) {
  ManualExecutor executor(3);
  Strand one(executor);
  Strand two(executor);
  std::vector<int> order;
  std::vector<std::unique_ptr<Note>> notes;
  for (int number = 0; number < 8; ++number) {
    notes.push_back(std::make_unique<Note>(order, number % 2 == 0 ? 1 : 2));
    (number % 2 == 0 ? one : two).post(*notes.back());
  }
  executor.run();
  EXPECT_EQ(order, (std::vector<int>{1, 1, 1, 2, 2, 2, 1, 2}));
}

TEST(Strand, EndsItsTurnWhenAJobAsksForIt) {
  ManualExecutor executor;
  Strand one(executor);
  Strand two(executor);
  std::vector<int> order;
  Note first(order, 1);
  Note second(order, 2);
  Note other(order, 3);
  first.then = [] { Strand::end_turn(); };
  one.post(first);
  one.post(second);
  two.post(other);
  executor.run();
  EXPECT_EQ(order, (std::vector<int>{1, 3, 2}));
}

TEST(Strand, IsCurrentInItsOwnJobsOnly) {
  ManualExecutor executor;
  Strand one(executor);
  Strand two(executor);
  std::vector<int> order;
  Note job(order, 1);
  job.then = [&] {
    EXPECT_TRUE(one.is_current());
    EXPECT_FALSE(two.is_current());
  };
  one.post(job);
  executor.run();
  EXPECT_EQ(Strand::current(), nullptr);
  EXPECT_EQ(order.size(), 1U);
}

// --- Fairness: what ends in place must not starve what waits.

struct Other {
  Strand strand;
  std::vector<int> order;
  Note note{order, 1};
  explicit Other(Executor& executor) : strand(executor) {}
  bool has_run() const { return !order.empty(); }
};

// Awaits until the other strand's job has run; how often.
template <class Await>
Task<int> await_until_run(Other& other, Await make) {
  other.strand.post(other.note);
  int count = 0;
  while (!other.has_run() && count < 1'000'000) {
    auto one = make();
    static_cast<void>(co_await one);
    ++count;
  }
  co_return count;
}

TEST(Fairness, AnotherStrandRunsAfterSixtyFourAwaitsThatEndInPlace) {
  ManualExecutor executor;
  Other other(executor);
  EXPECT_EQ(executor.run(await_until_run(other, [] { return Inline(); })), 64);
}

TEST(Fairness, AnotherStrandRunsAfterAMebibyteCopiedInPlace) {
  ManualExecutor executor;
  Other other(executor);
  EXPECT_EQ(executor.run(await_until_run(other, [] { return Inline(std::size_t{1} << 18); })), 4);
  Other second(executor);
  EXPECT_EQ(executor.run(await_until_run(second, [] { return Inline(std::size_t{1} << 40); })), 1);
}

TEST(Fairness, ValuesThatWaitInAChannelDoNotStarveOthers) {
  ManualExecutor executor;
  Channel<int> channel(1000);
  for (int value = 0; value < 1000; ++value) {
    ASSERT_TRUE(channel.try_push(value));
  }
  Other other(executor);
  EXPECT_EQ(executor.run(await_until_run(other, [&] { return channel.next(); })), 64);
  EXPECT_EQ(channel.try_pop(), 64);  // none is lost to the yield
}

Task<void> set_after_nap(bool& done) {
  auto nap = sleep_for(0ns);
  co_await nap;
  done = true;
}
// The sleeper's resumption is queued on the very strand that the loop keeps busy.
Task<int> loop_beside_a_sleeper(ManualExecutor& executor) {
  bool done = false;
  auto sleeper = start(set_after_nap(done));
  auto let_time_pass = offload([&executor] { executor.advance(0ns); });
  co_await let_time_pass;
  int count = 0;
  while (!done && count < 1'000'000) {
    Inline one;
    co_await one;
    ++count;
  }
  co_await sleeper;
  co_return count;
}

TEST(Fairness, TimersAndSiblingsOfTheSameActorAreNotStarved) {
  ManualExecutor executor;
  EXPECT_LE(executor.run(loop_beside_a_sleeper(executor)), 64);
}

Task<int> count_yields(int rounds) {
  int yields = 0;
  for (int round = 0; round < rounds; ++round) {
    Inline one;
    yields += co_await one ? 1 : 0;
  }
  co_return yields;
}

TEST(Fairness, NothingYieldsWhileNobodyWaits) {
  ManualExecutor executor;
  EXPECT_EQ(executor.run(count_yields(10'000)), 0);
}

Task<void> yield_once(Other& other) {
  other.strand.post(other.note);
  for (int round = 0; round < 64; ++round) {
    Inline one;
    co_await one;
  }
}
Task<void> drop_while_yielding(Other& other) {
  {
    auto started = start(yield_once(other));
    EXPECT_FALSE(started.is_done());
  }
  co_return;
}

TEST(Fairness, ADroppedTaskThatHasYieldedIsNotResumed) {
  ManualExecutor executor;
  Other other(executor);
  executor.run(drop_while_yielding(other));
  executor.run();
  EXPECT_TRUE(other.has_run());
}

}  // namespace
}  // namespace ferry
