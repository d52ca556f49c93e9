// start, all, race, TaskGroup, as_result: one thread, virtual time.
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include <ferry/base/sleep.hpp>
#include <ferry/base/start.hpp>

#include <manual_executor.hpp>

#include "test_awaits.hpp"

namespace ferry {
namespace {

using namespace std::chrono_literals;
using test::Event;
using test::ManualExecutor;
using test::text_of;

// A task on a strand of its own, driven step by step.
template <class T>
class Driven {
 public:
  Driven(ManualExecutor& executor, Task<T> task)
      : executor_(executor), strand_(executor), root_(std::in_place, strand_, std::move(task), &done, this) {
    root_->scope().stop = stop_.get_token();
    root_->post();
    executor_.run();
  }
  bool is_done() const { return done_; }
  void stop() {
    stop_.request_stop();
    executor_.run();
  }
  T take() {
    EXPECT_TRUE(done_);
    return root_->take();
  }

 private:
  static void done(detail::RootTask<T>&, void* self) noexcept { static_cast<Driven*>(self)->done_ = true; }
  ManualExecutor& executor_;
  StopSource stop_;
  bool done_ = false;
  Strand strand_;
  std::optional<detail::RootTask<T>> root_;
};

void finish(ManualExecutor& executor, Event& event) {
  event.complete();
  executor.run();
}

// --- start

Task<int> mark(std::vector<int>& order, int number, Event& event) {
  order.push_back(number);
  auto wait = event.wait();
  co_await wait;
  order.push_back(number + 10);
  co_return number;
}
Task<int> start_two(std::vector<int>& order, Event& first, Event& second) {
  auto one = start(mark(order, 1, first));
  order.push_back(0);
  auto two = start(mark(order, 2, second));
  const int b = co_await two;
  const int a = co_await one;
  co_return 10 * a + b;
}

TEST(Start, RunsTheFirstStepAtOnceAndGivesTheValueLater) {
  ManualExecutor executor;
  Event first;
  Event second;
  std::vector<int> order;
  Driven<int> root(executor, start_two(order, first, second));
  EXPECT_EQ(order, (std::vector<int>{1, 0, 2}));
  finish(executor, first);
  EXPECT_FALSE(root.is_done());
  finish(executor, second);
  EXPECT_EQ(root.take(), 12);
  EXPECT_EQ(order, (std::vector<int>{1, 0, 2, 11, 12}));
}

Task<void> start_and_drop(Event& event) {
  auto started = start(test::wait_for(event));
  auto moved = std::move(started);
  EXPECT_FALSE(moved.is_done());
  co_return;
}

TEST(Start, DroppedCancelsWhatItWaitsFor) {
  ManualExecutor executor;
  Event never;
  executor.run(start_and_drop(never));
  EXPECT_EQ(never.dropped(), 1);
}

Task<Failure> cancel_one(Event& event) {
  auto started = start(test::value_after(event, 1));
  started.cancel();
  auto outcome = as_result(std::move(started));
  const Result<int> result = co_await outcome;
  co_return result.error();
}

TEST(Start, CancelEndsThatTaskAlone) {
  ManualExecutor executor;
  Event never;
  EXPECT_EQ(executor.run(cancel_one(never)).to_text(), "cancelled: gave up");
}

Task<void> wait_started(Event& event) {
  auto started = start(test::value_after(event, 1));
  co_await started;
}

TEST(Start, StopOfTheStartingTaskReachesTheStartedOne) {
  ManualExecutor executor;
  Event never;
  Driven<void> root(executor, wait_started(never));
  EXPECT_FALSE(root.is_done());
  root.stop();
  EXPECT_EQ(text_of([&] { root.take(); }), "cancelled: gave up");
}

Task<int> wait_for_running(Running<int>& started) {
  co_return co_await started;
}
Task<std::string> limited_wait(Event& event) {
  auto started = start(test::value_after(event, 1));
  auto limited = wait_for_running(started).with({.timeout = 2s});
  auto outcome = as_result(std::move(limited));
  const Result<int> result = co_await outcome;
  EXPECT_TRUE(started.is_done());
  co_return result.error().to_text();
}

TEST(Start, DeadlineOfTheWaitingTaskCancelsTheStartedOneAndIsToldAsTimeOut) {
  ManualExecutor executor;
  Event never;
  EXPECT_EQ(executor.run(limited_wait(never)),
            "timed_out: the limit of the task that waits for it passed: cancelled: gave up");
}

Task<std::string> outcome_twice() {
  auto started = start(test::value(4));
  EXPECT_TRUE(started.is_done());
  EXPECT_EQ(co_await started, 4);
  try {
    co_await started;
  } catch (const Error& error) {
    co_return error.what();
  }
  co_return "no exception";
}

TEST(Start, GivesItsOutcomeOnce) {
  ManualExecutor executor;
  EXPECT_EQ(executor.run(outcome_twice()), "invalid_argument: the outcome of a started task can be awaited once");
}

Task<std::string> await_by_two(Event& event) {
  auto started = start(test::value_after(event, 4));
  auto first = start(wait_for_running(started));
  auto second = as_result(wait_for_running(started));
  const Result<int> result = co_await second;
  event.complete();
  EXPECT_EQ(co_await first, 4);
  co_return result.error().to_text();
}

TEST(Start, LetsOneTaskAtATimeWaitForItsEnd) {
  ManualExecutor executor;
  Event event;
  EXPECT_EQ(executor.run(await_by_two(event)), "invalid_argument: another task already waits for the end of this one");
}

TEST(Start, OutsideATaskIsRefused) {
  EXPECT_EQ(text_of([] { static_cast<void>(start(test::value(1))); }),
            "invalid_argument: start needs a ferry task: await it inside a ferry::Task, or use block_on");
}

// --- all

Task<std::tuple<int, std::monostate, int>> three(Event& a, Event& b, Event& c) {
  auto together = all(test::value_after(a, 1), test::wait_for(b), test::value_after(c, 3));
  co_return co_await together;
}

TEST(All, EndsWithEveryValueWhenTheLastHasEnded) {
  ManualExecutor executor;
  Event a;
  Event b;
  Event c;
  Driven<std::tuple<int, std::monostate, int>> root(executor, three(a, b, c));
  finish(executor, c);
  finish(executor, a);
  EXPECT_FALSE(root.is_done());
  finish(executor, b);
  EXPECT_EQ(root.take(), std::tuple(1, std::monostate(), 3));
}

Task<void> in_order(std::vector<int>& order, Event& event) {
  auto together = all(mark(order, 1, event), mark(order, 2, event), mark(order, 3, event));
  co_await together;
}

TEST(All, StartsInTheOrderOfItsArguments) {
  ManualExecutor executor;
  Event event;
  event.complete();
  std::vector<int> order;
  executor.run(in_order(order, event));
  EXPECT_EQ(order, (std::vector<int>{1, 11, 2, 12, 3, 13}));
}

Task<void> two_fail(Event& a, Event& b, Event& c) {
  auto together = all(test::wait_for(a), test::failure_after(b, "second"), test::failure_after(c, "third"));
  co_await together;
}

TEST(All, ThrowsTheFirstFailureInArgumentOrderAfterAllHaveEnded) {
  ManualExecutor executor;
  Event a;
  Event b;
  Event c;
  Driven<void> root(executor, two_fail(a, b, c));
  finish(executor, c);
  finish(executor, b);
  EXPECT_FALSE(root.is_done());
  finish(executor, a);
  EXPECT_EQ(text_of([&] { root.take(); }), "overloaded: second");
}

TEST(All, IsStoppedAsAWhole) {
  ManualExecutor executor;
  Event a;
  Event b;
  Event c;
  Driven<std::tuple<int, std::monostate, int>> root(executor, three(a, b, c));
  root.stop();
  EXPECT_TRUE(root.is_done());
  EXPECT_EQ(a.gave_up() + b.gave_up() + c.gave_up(), 3);
  EXPECT_THROW(root.take(), Error);
}

Task<std::tuple<>> all_of_none() {
  auto together = all();
  co_return co_await together;
}

TEST(All, OfNothingEndsAtOnce) {
  ManualExecutor executor;
  executor.run(all_of_none());
}

// --- race

Task<std::variant<int, std::monostate>> two_race(Event& a, Event& b) {
  auto first = race(test::value_after(a, 5), test::wait_for(b));
  co_return co_await first;
}

TEST(Race, GivesTheFirstOutcomeAndCancelsTheOthers) {
  ManualExecutor executor;
  Event a;
  Event b;
  Driven<std::variant<int, std::monostate>> root(executor, two_race(a, b));
  finish(executor, b);
  EXPECT_EQ(root.take().index(), 1U);
  EXPECT_EQ(a.gave_up(), 1);

  Event c;
  Event d;
  Driven<std::variant<int, std::monostate>> other(executor, two_race(c, d));
  finish(executor, c);
  EXPECT_EQ(std::get<0>(other.take()), 5);
  EXPECT_EQ(d.gave_up(), 1);
}

Task<int> stubborn(Event& event, Event& last, int& ended) {
  auto wait = as_result(event.wait());
  static_cast<void>(co_await wait);
  struct Unstoppable {
    static Task<void> wait(Event& event) {
      TaskScope::current()->stop = StopToken();
      auto wait = event.wait();
      co_await wait;
    }
  };
  auto rest = Unstoppable::wait(last);
  co_await rest;
  ++ended;
  co_return 0;
}
Task<std::variant<int, int>> race_with(Event& a, Event& b, Event& last, int& ended) {
  auto first = race(stubborn(a, last, ended), test::value_after(b, 2));
  co_return co_await first;
}

TEST(Race, WaitsForTheEndOfTheLosers) {
  ManualExecutor executor;
  Event a;
  Event b;
  Event last;
  int ended = 0;
  Driven<std::variant<int, int>> root(executor, race_with(a, b, last, ended));
  finish(executor, b);
  EXPECT_FALSE(root.is_done());
  finish(executor, last);
  EXPECT_EQ(std::get<1>(root.take()), 2);
  EXPECT_EQ(ended, 1);
}

Task<std::variant<int, int>> fail_first(Event& a, Event& b) {
  auto first = race(test::failure_after(a, "lost"), test::value_after(b, 2));
  co_return co_await first;
}

TEST(Race, ThrowsIfTheFirstToEndFails) {
  ManualExecutor executor;
  Event a;
  Event b;
  Driven<std::variant<int, int>> root(executor, fail_first(a, b));
  finish(executor, a);
  EXPECT_EQ(text_of([&] { root.take(); }), "overloaded: lost");
  EXPECT_EQ(b.gave_up(), 1);
}

Task<std::variant<int, int, int>> ends_at_once(std::vector<int>& order, Event& never, Event& complete) {
  auto first = race(mark(order, 1, never), mark(order, 2, complete), mark(order, 3, complete));
  co_return co_await first;
}

TEST(Race, DoesNotBeginWhatStandsBehindOneThatEndsAtOnce) {
  ManualExecutor executor;
  Event never;
  Event complete;
  complete.complete();
  std::vector<int> order;
  EXPECT_EQ(executor.run(ends_at_once(order, never, complete)).index(), 1U);
  EXPECT_EQ(order, (std::vector<int>{1, 2, 12}));
  EXPECT_EQ(never.gave_up(), 1);
}

TEST(Race, IsStoppedAsAWhole) {
  ManualExecutor executor;
  Event a;
  Event b;
  Driven<std::variant<int, std::monostate>> root(executor, two_race(a, b));
  root.stop();
  EXPECT_EQ(text_of([&] { root.take(); }), "cancelled: gave up");
  EXPECT_EQ(a.gave_up() + b.gave_up(), 2);
}

Task<Duration> first_nap(ManualExecutor& executor) {
  auto first = race(sleep_for(3s), sleep_for(1s), sleep_for(2s));
  const auto winner = co_await first;
  EXPECT_EQ(winner.index(), 1U);
  co_return executor.now().time_since_epoch();
}

TEST(Race, OfSleepsEndsWithTheShortest) {
  ManualExecutor executor;
  EXPECT_EQ(executor.run(first_nap(executor)), 1s);
}

Task<void> drop_race(Event& a, Event& b) {
  auto started = start(two_race(a, b));
  co_return;
}

TEST(Race, DroppedDropsAll) {
  ManualExecutor executor;
  Event a;
  Event b;
  executor.run(drop_race(a, b));
  EXPECT_EQ(a.dropped() + b.dropped(), 2);
}

// --- TaskGroup

Task<void> join_three(std::vector<Event>& events, std::vector<std::size_t>& running) {
  TaskGroup group;
  for (Event& event : events) {
    group.start(test::value_after(event, 1));
  }
  group.start(test::value(1));
  running.push_back(group.running());
  auto joined = group.join();
  co_await joined;
  running.push_back(group.running());
}

TEST(TaskGroup, JoinEndsWhenAllHaveEnded) {
  ManualExecutor executor;
  std::vector<Event> events(3);
  std::vector<std::size_t> running;
  Driven<void> root(executor, join_three(events, running));
  finish(executor, events[1]);
  finish(executor, events[0]);
  EXPECT_FALSE(root.is_done());
  finish(executor, events[2]);
  root.take();
  EXPECT_EQ(running, (std::vector<std::size_t>{3, 0}));
}

Task<void> grow(TaskGroup& group, Event& event, int depth) {
  if (depth > 0) {
    group.start(grow(group, event, depth - 1));
  }
  auto wait = event.wait();
  co_await wait;
  if (depth == 2) {
    group.start(test::value(1));
  }
}
Task<void> join_growing(Event& event) {
  TaskGroup group;
  group.start(grow(group, event, 2));
  auto joined = group.join();
  co_await joined;
}

TEST(TaskGroup, TakesTasksFromItsOwnTasks) {
  ManualExecutor executor;
  Event event;
  event.complete();
  executor.run(join_growing(event));
}

Task<std::string> join_failing(Event& a, Event& b, Event& c) {
  TaskGroup group;
  group.start(test::wait_for(a));
  group.start(test::failure_after(b, "first by time"));
  group.start(test::failure_after(c, "second by time"));
  auto joined = as_result(group.join());
  const Result<void> result = co_await joined;
  group.start(test::value(1));  // usable again
  auto again = group.join();
  co_await again;
  co_return result.error().to_text();
}

TEST(TaskGroup, FirstFailureCancelsTheOthersAndIsThrownByJoin) {
  ManualExecutor executor;
  Event a;
  Event b;
  Event c;
  Driven<std::string> root(executor, join_failing(a, b, c));
  finish(executor, b);
  EXPECT_EQ(root.take(), "overloaded: first by time");
  EXPECT_EQ(a.gave_up() + c.gave_up(), 2);
}

Task<void> start_after_cancel(Event& event, int& begun) {
  struct Count {
    static Task<void> up(int& begun) {
      ++begun;
      co_return;
    }
  };
  TaskGroup group;
  group.start(test::wait_for(event));
  group.cancel();
  group.start(Count::up(begun));
  auto joined = as_result(group.join());
  const Result<void> result = co_await joined;
  EXPECT_EQ(result.error().code(), errc::cancelled);
}

TEST(TaskGroup, BeginsNothingAfterCancel) {
  ManualExecutor executor;
  Event never;
  int begun = 0;
  executor.run(start_after_cancel(never, begun));
  EXPECT_EQ(begun, 0);
}

Task<void> cancel_own_group(TaskGroup& group, Event& event) {
  group.cancel();
  auto wait = event.wait();
  co_await wait;
}
Task<void> cancelled_in_first_step(Event& event) {
  TaskGroup group;
  group.start(cancel_own_group(group, event));
  auto joined = as_result(group.join());
  const Result<void> result = co_await joined;
  EXPECT_EQ(result.error().code(), errc::cancelled);
}

TEST(TaskGroup, CancelReachesATaskThatCallsItInItsFirstStep) {
  ManualExecutor executor;
  Event never;
  executor.run(cancelled_in_first_step(never));
}

Task<void> drop_group(std::vector<Event>& events) {
  TaskGroup group;
  for (Event& event : events) {
    group.start(test::wait_for(event));
  }
  co_return;
}

TEST(TaskGroup, DestroyedCancelsWhatRuns) {
  ManualExecutor executor;
  std::vector<Event> events(3);
  executor.run(drop_group(events));
  for (const Event& event : events) {
    EXPECT_EQ(event.dropped(), 1);
  }
}

Task<std::size_t> many_short_ones() {
  TaskGroup group;
  for (int round = 0; round < 100'000; ++round) {
    group.start(sleep_for(1ns));
    if (round % 100 == 0) {
      auto nap = sleep_for(1us);
      co_await nap;
    }
  }
  const std::size_t left = group.running();
  auto joined = group.join();
  co_await joined;
  co_return left;
}

TEST(TaskGroup, FreesEndedTasksAsOthersStart) {
  ManualExecutor executor;
  EXPECT_LE(executor.run(many_short_ones()), 100U);
}

// --- as_result

Task<void> throw_other() {
  throw std::runtime_error("not ours");
  co_return;
}
Task<void> other_passes() {
  auto outcome = as_result(throw_other());
  static_cast<void>(co_await outcome);
}
Task<int> results_of_everything(Event& complete) {
  auto of_task = as_result(test::value(1));
  auto of_scoped = as_result(test::value(2).with({.timeout = 1s}));
  auto of_running = as_result(start(test::value_after(complete, 3)));
  auto of_await = as_result(complete.wait());
  auto of_sleep = as_result(sleep_for(1ns));
  int sum = 0;
  sum += (co_await of_task).value();
  sum += (co_await of_scoped).value();
  sum += (co_await of_running).value();
  (co_await of_await).value();
  (co_await of_sleep).value();
  auto of_race = as_result(race(test::value(4), test::value(5)));
  sum += std::get<0>((co_await of_race).value());
  co_return sum;
}

TEST(AsResult, TakesEverythingThatCanBeAwaited) {
  ManualExecutor executor;
  Event complete;
  complete.complete();
  EXPECT_EQ(executor.run(results_of_everything(complete)), 10);
}

TEST(AsResult, LetsExceptionsPassThatAreNotFerrys) {
  ManualExecutor executor;
  EXPECT_EQ(text_of([&] { executor.run(other_passes()); }), "not ours");
}

}  // namespace
}  // namespace ferry
