#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "ferry/system/timer_queue.hpp"
#include "system_fixtures.hpp"

namespace ferry::system {
namespace {

TimePoint at(int nanoseconds) {
  return TimePoint(Duration(nanoseconds));
}

TEST(TimerQueue, FiresByDueTimeAndThenByOrderOfStart) {
  TimerQueue queue;
  std::vector<int> fired;
  std::deque<FunctionTimer> timers;
  const std::vector<int> due{5, 3, 5, 1, 3, 9};
  for (int i = 0; i < static_cast<int>(due.size()); ++i) {
    timers.emplace_back([&, i] { fired.push_back(i); });
    queue.start(timers.back(), at(due[static_cast<std::size_t>(i)]));
  }
  EXPECT_EQ(queue.next_due(), at(1));
  EXPECT_EQ(queue.fire(at(5)), 5U);
  EXPECT_EQ(fired, (std::vector<int>{3, 1, 4, 0, 2}));
  EXPECT_EQ(queue.next_due(), at(9));
  EXPECT_EQ(queue.fire(at(8)), 0U);
  queue.cancel(timers[5]);
  EXPECT_EQ(queue.next_due(), kNever);
  EXPECT_EQ(queue.fire(at(100)), 0U);
}

TEST(TimerQueue, SaysWhetherTheNewTimerIsTheFirst) {
  TimerQueue queue;
  FunctionTimer a([] {});
  FunctionTimer b([] {});
  FunctionTimer c([] {});
  EXPECT_TRUE(queue.start(a, at(10)));
  EXPECT_FALSE(queue.start(b, at(10)));
  EXPECT_TRUE(queue.start(c, at(9)));
  for (FunctionTimer* timer : {&a, &b, &c}) {
    queue.cancel(*timer);
    queue.cancel(*timer);  // not started: nothing
  }
}

TEST(TimerQueue, ACallbackMayRestartItsTimerAndStartAndCancelOthers) {
  TimerQueue queue;
  int runs = 0;
  int others = 0;
  FunctionTimer* own = nullptr;
  FunctionTimer other([&] { ++others; });
  FunctionTimer cancelled([&] { ADD_FAILURE() << "it was cancelled"; });
  FunctionTimer restarting([&] {
    ++runs;
    queue.cancel(cancelled);
    if (runs == 1) {
      queue.start(other, at(1));
    }
    if (runs < 3) {
      queue.start(*own, at(2));
    } else {
      queue.start(*own, at(2));
      queue.cancel(*own);  // from its own callback: at once
    }
  });
  own = &restarting;
  queue.start(restarting, at(2));
  queue.start(cancelled, at(2));
  EXPECT_EQ(queue.fire(at(2)), 4U);
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(others, 1);
  EXPECT_EQ(queue.next_due(), kNever);
}

TEST(TimerQueue, ATimerThatIsAlwaysDueDoesNotHoldUpTheRest) {
  TimerQueue queue;
  FunctionTimer* own = nullptr;
  FunctionTimer restarting([&] { queue.start(*own, at(0)); });
  own = &restarting;
  queue.start(restarting, at(0));
  EXPECT_EQ(queue.fire(at(1)), TimerQueue::kBatch);
  queue.cancel(restarting);
}

TEST(TimerQueue, CancelWaitsForACallbackInProgressAlsoIfItRestarts) {
  TimerQueue queue;
  Latch entered;
  Latch released;
  std::atomic<bool> ended{false};
  FunctionTimer* own = nullptr;
  FunctionTimer timer([&] {
    entered.set();
    released.block();
    queue.start(*own, at(0));
    ended.store(true);
  });
  own = &timer;
  queue.start(timer, at(0));
  std::thread firing([&] { queue.fire(at(0)); });
  entered.block();
  std::atomic<bool> cancelling{false};
  bool ended_before_return = false;
  std::thread canceller([&] {
    cancelling.store(true);
    queue.cancel(timer);
    ended_before_return = ended.load();
  });
  wait_until([&] { return cancelling.load(); });
  released.set();
  canceller.join();
  firing.join();
  EXPECT_TRUE(ended_before_return);
  EXPECT_FALSE(timer.started);
  EXPECT_EQ(queue.next_due(), kNever);
}

RC_GTEST_PROP(TimerQueue, AnyMixOfStartsAndCancelsFiresInOrder, ()) {
  const auto steps = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 8), rc::gen::inRange(0, 5)));  // timer, due; due 0: cancel
  TimerQueue queue;
  std::vector<int> fired;
  std::deque<FunctionTimer> timers;
  for (int i = 0; i < 8; ++i) {
    timers.emplace_back([&fired, i] { fired.push_back(i); });
  }
  std::vector<std::pair<int, int>> expected;  // due, timer: in the order of start
  for (const auto& [index, due] : steps) {
    auto& timer = timers[static_cast<std::size_t>(index)];
    queue.cancel(timer);
    std::erase_if(expected, [i = index](const auto& entry) { return entry.second == i; });
    if (due > 0) {
      queue.start(timer, at(due));
      expected.emplace_back(due, index);
    }
  }
  std::stable_sort(expected.begin(), expected.end(), [](auto& a, auto& b) { return a.first < b.first; });
  queue.fire(at(10));
  RC_ASSERT(fired.size() == expected.size());
  for (std::size_t i = 0; i < fired.size(); ++i) {
    RC_ASSERT(fired[i] == expected[i].second);
  }
}

TEST(SystemTimers, FireAtOrAfterTheirTime) {
  auto executor = make_executor(with_threads(2));
  for (const Duration delay : {Duration(0), Duration(1us), Duration(300us), Duration(5ms)}) {
    Latch fired;
    TimePoint when{};
    FunctionTimer timer([&] {
      when = executor->now();
      fired.set();
    });
    const TimePoint due = executor->now() + delay;
    executor->start_timer(timer, due);
    executor->wait(fired);
    executor->cancel_timer(timer);
    EXPECT_GE(when, due);
  }
}

TEST(SystemTimers, AnEarlierTimerIsNotSleptThrough) {
  auto executor = make_executor(with_threads(2, 0us));
  FunctionTimer late([] { ADD_FAILURE() << "an hour has not passed"; });
  executor->start_timer(late, executor->now() + 1h);
  wait_until_asleep(*executor);
  for (int round = 0; round < 20; ++round) {
    Latch fired;
    FunctionTimer timer([&] { fired.set(); });
    executor->start_timer(timer, executor->now() + 1ms);
    executor->wait(fired);
    executor->cancel_timer(timer);
  }
  executor->cancel_timer(late);
}

// Every executor thread is in user code that ends only when the timer has fired; and the timer is not later than two
// ticks of the progress thread, which are a millisecond each.
TEST(SystemTimers, FireInTimeWhileUserCodeBlocksEveryExecutorThread) {
  for (const unsigned threads : {1U, 3U}) {
    auto executor = make_executor(with_threads(threads));
    for (int round = 0; round < 20; ++round) {
      Latch fired;
      std::atomic<unsigned> blocked{0};
      std::deque<FunctionJob> jobs;
      for (unsigned i = 0; i < threads; ++i) {
        jobs.emplace_back([&] {
          blocked.fetch_add(1);
          fired.block();
          blocked.fetch_sub(1);
        });
        executor->post(jobs.back());
      }
      wait_until([&] { return blocked.load() == threads; });
      std::uint64_t ticks_when_fired = 0;
      FunctionTimer timer([&] {
        ticks_when_fired = executor->stats().ticks;
        fired.set();
      });
      const TimePoint due = executor->now() + 3ms;
      executor->start_timer(timer, due);
      while (executor->now() < due) {
      }
      const std::uint64_t ticks_when_due = executor->stats().ticks;
      executor->wait(fired);
      executor->cancel_timer(timer);
      EXPECT_LE(ticks_when_fired, ticks_when_due + 2);
      wait_until([&] { return blocked.load() == 0; });
    }
  }
}

TEST(SystemTimers, ManyThreadsStartAndCancelWithoutACallbackAfterwards) {
  auto executor = make_executor(with_threads(2));
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] {
      for (unsigned i = 0; i < 2000; ++i) {
        auto alive = std::make_unique<std::atomic<bool>>(true);
        FunctionTimer timer([&] { alive->store(true); });  // a use after free if it comes too late
        executor->start_timer(timer, executor->now() + std::chrono::nanoseconds((seed * 7919 + i * 104729) % 60000));
        if (i % 3 == 0) {
          std::this_thread::yield();
        }
        executor->cancel_timer(timer);
        alive.reset();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace
}  // namespace ferry::system
