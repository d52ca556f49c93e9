// Tasks, scopes, limits, block_on: one thread, virtual time.
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <vector>

#include <ferry/base/offload.hpp>
#include <ferry/base/sleep.hpp>
#include <ferry/base/start.hpp>

#include <manual_executor.hpp>

#include "test_awaits.hpp"

namespace ferry {
namespace {

using namespace std::chrono_literals;
using test::code_of;
using test::Event;
using test::ManualExecutor;
using test::text_of;

Task<std::unique_ptr<int>> boxed(int number) {
  co_return std::make_unique<int>(number);
}
Task<int> unboxed() {
  auto box = boxed(7);
  const std::unique_ptr<int> value = co_await box;
  co_return *value;
}

TEST(Task, GivesValuesThatCanOnlyBeMoved) {
  ManualExecutor executor;
  EXPECT_EQ(executor.run(unboxed()), 7);
}

Task<int> throwing(bool deep) {
  if (deep) {
    auto inner = throwing(false);
    co_return co_await inner;
  }
  throw std::runtime_error("deep down");
}

TEST(Task, PassesExceptionsOfAnyType) {
  ManualExecutor executor;
  EXPECT_EQ(text_of([&] { executor.run(throwing(true)); }), "deep down");
}

Task<void> throw_number() {
  throw 7;
  co_return;
}

TEST(Task, PassesExceptionsThatAreNoStdExceptions) {
  ManualExecutor executor;
  EXPECT_THROW(executor.run(throw_number()), int);
}

Task<std::uint64_t> await_many(int count) {
  std::uint64_t sum = 0;
  for (int round = 0; round < count; ++round) {
    auto one = test::value(round % 3);
    sum += static_cast<std::uint64_t>(co_await one);
  }
  co_return sum;
}

TEST(Task, AwaitsAMillionTimesInlineWithoutGrowingTheStack) {
  ManualExecutor executor;
  EXPECT_EQ(executor.run(await_many(1'000'000)), 999'999U);
}

Task<std::uint64_t> await_after_suspending(Event& event, int count) {
  auto wait = event.wait();
  co_await wait;
  auto many = await_many(count);
  co_return co_await many;
}

TEST(Task, AwaitsAMillionTimesInlineAfterItWasResumed) {
  ManualExecutor executor;
  Event event;
  Strand strand(executor);
  std::uint64_t sum = 0;
  detail::RootTask<std::uint64_t> root(
      strand, await_after_suspending(event, 1'000'000),
      [](detail::RootTask<std::uint64_t>& self, void* out) noexcept {
        *static_cast<std::uint64_t*>(out) = self.take();
      },
      &sum);
  root.post();
  executor.run();
  event.complete();
  executor.run();
  EXPECT_EQ(sum, 999'999U);
}

Task<void> suspend_often(int count) {
  for (int round = 0; round < count; ++round) {
    auto nap = sleep_for(1ns);
    co_await nap;
  }
}

TEST(Task, SuspendsAHundredThousandTimes) {
  ManualExecutor executor;
  executor.run(suspend_often(100'000));
  EXPECT_GE(executor.now().time_since_epoch(), 100'000ns);
}

Task<void> await_twice() {
  auto one = test::value(1);
  co_await one;
  co_await one;
}
Task<void> await_nothing() {
  Task<int> none;
  co_await none;
}

TEST(Task, IsAwaitedOnce) {
  ManualExecutor executor;
  const std::string text = "invalid_argument: the task is empty (moved from), or was awaited before";
  EXPECT_EQ(text_of([&] { executor.run(await_twice()); }), text);
  EXPECT_EQ(text_of([&] { executor.run(await_nothing()); }), text);
}

struct Tracker {
  explicit Tracker(std::vector<int>& out, int number) : order(out), id(number) {}
  ~Tracker() { order.push_back(id); }
  std::vector<int>& order;
  int id;
};

Task<void> nested(Event& event, std::vector<int>& order, int depth) {
  const Tracker tracker(order, depth);
  if (depth > 0) {
    auto inner = nested(event, order, depth - 1);
    co_await inner;
  } else {
    auto wait = event.wait();
    co_await wait;
  }
}

void ignore(detail::RootTask<void>&, void*) noexcept {}

// Runs the function as a job of the strand.
template <class F>
void run_on(ManualExecutor& executor, Strand& strand, F function) {
  struct Call : Job {
    explicit Call(F& f) : Job([](Job& job) noexcept { static_cast<Call&>(job).body(); }), body(f) {}
    F& body;
  } call(function);
  strand.post(call);
  executor.run();
}

TEST(Task, DroppedWhileSuspendedDestroysItsFramesInnermostFirst) {
  ManualExecutor executor;
  Event event;
  std::vector<int> order;
  Strand strand(executor);
  std::optional<detail::RootTask<void>> root;
  root.emplace(strand, nested(event, order, 3), &ignore, nullptr);
  root->post();
  executor.run();
  EXPECT_TRUE(event.is_awaited());
  run_on(executor, strand, [&] { root.reset(); });
  EXPECT_FALSE(event.is_awaited());
  EXPECT_EQ(event.dropped(), 1);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
}

TEST(Task, DroppedAfterItWasWokenIsNotResumed) {
  ManualExecutor executor;
  Event event;
  std::vector<int> order;
  Strand strand(executor);
  std::optional<detail::RootTask<void>> root;
  root.emplace(strand, nested(event, order, 1), &ignore, nullptr);
  root->post();
  executor.run();
  run_on(executor, strand, [&] {
    event.complete();  // its resumption is queued behind this job
    root.reset();
  });
  EXPECT_EQ(order, (std::vector<int>{0, 1}));
  EXPECT_EQ(executor.run(), 0U);
}

TEST(Task, DroppedBeforeItsFirstStepNeverRuns) {
  ManualExecutor executor;
  Event event;
  std::vector<int> order;
  Strand strand(executor);
  run_on(executor, strand, [&] {
    std::optional<detail::RootTask<void>> root;
    root.emplace(strand, nested(event, order, 1), &ignore, nullptr);
    root->post();
  });
  EXPECT_TRUE(order.empty());
}

// --- Scopes and limits.

Task<void> check_scope(TaskScope*& seen) {
  seen = TaskScope::current();
  co_return;
}

Task<void> scopes_nest(Event& event) {
  TaskScope* const own = TaskScope::current();
  TaskScope* inner = nullptr;
  auto plain = check_scope(inner);
  co_await plain;
  EXPECT_EQ(inner, own);
  auto limited = check_scope(inner).with({.timeout = 1s});
  co_await limited;
  EXPECT_NE(inner, own);
  EXPECT_EQ(TaskScope::current(), own);
  auto suspending = test::wait_for(event).with({.timeout = 1s});
  co_await suspending;
  EXPECT_EQ(TaskScope::current(), own);
  auto failing = test::failure_after(event, "no").with({.timeout = 1s});
  try {
    co_await failing;
    ADD_FAILURE() << "it did not fail";
  } catch (const Error&) {
  }
  EXPECT_EQ(TaskScope::current(), own);
}

TEST(Scope, IsThatOfTheAwaitingTaskAgainAfterATaskWithLimits) {
  ManualExecutor executor;
  Event event;
  Strand strand(executor);
  detail::RootTask<void> root(strand, scopes_nest(event), &ignore, nullptr);
  root.post();
  executor.run();
  event.complete();
  executor.run();
  root.take();
}

Task<Duration> time_until_given_up(ManualExecutor& executor, Event& event, std::vector<Duration> limits) {
  const TimePoint begin = executor.now();
  Task<void> task = test::wait_for(event);
  struct Wrap {
    static Task<void> with(Task<void> inner, Duration limit) {
      auto limited = std::move(inner).with({.timeout = limit});
      co_await limited;
    }
  };
  for (const Duration limit : limits) {
    task = Wrap::with(std::move(task), limit);
  }
  auto outcome = as_result(std::move(task));
  const Result<void> result = co_await outcome;
  EXPECT_FALSE(result);
  EXPECT_EQ(result.error().code(), errc::timed_out);
  co_return executor.now() - begin;
}

TEST(Limits, OfNestedTasksCountTheEarliestDeadline) {
  ManualExecutor executor;
  Event never;
  EXPECT_EQ(executor.run(time_until_given_up(executor, never, {3s, 1s, 2s})), 1s);
  EXPECT_EQ(executor.run(time_until_given_up(executor, never, {5s, 7s})), 5s);
  EXPECT_EQ(executor.run(time_until_given_up(executor, never, {0s, 7s})), 0s);
  EXPECT_EQ(executor.run(time_until_given_up(executor, never, {-1s, 7s})), 0s);
  EXPECT_EQ(executor.timers(), 0U);
}

Task<Failure> stopped_by(Event& event, StopToken inner, StopToken outer) {
  struct Nest {
    static Task<void> with(Event& event, StopToken token) {
      auto limited = test::wait_for(event).with({.stop = token});
      co_await limited;
    }
  };
  auto limited = Nest::with(event, std::move(inner)).with({.stop = outer});
  auto outcome = as_result(std::move(limited));
  const Result<void> result = co_await outcome;
  co_return result.error();
}

TEST(Limits, StopOfAnyEnclosingTaskEndsTheAwait) {
  for (const int which : {0, 1}) {
    ManualExecutor executor;
    Event never;
    StopSource inner;
    StopSource outer;
    Strand strand(executor);
    detail::RootTask<Failure> root(
        strand, stopped_by(never, inner.get_token(), outer.get_token()), [](auto&, void*) noexcept {}, nullptr);
    root.post();
    executor.run();
    EXPECT_TRUE(never.is_awaited());
    (which == 0 ? inner : outer).request_stop();
    executor.run();
    EXPECT_EQ(root.take().code(), errc::cancelled);
    EXPECT_EQ(never.gave_up(), 1);
  }
}

TEST(Limits, StopRequestedBeforeTheAwaitEndsItAtOnce) {
  ManualExecutor executor;
  Event never;
  StopSource stopped;
  stopped.request_stop();
  const Failure failure = executor.run(stopped_by(never, stopped.get_token(), StopToken()));
  EXPECT_EQ(failure.code(), errc::cancelled);
}

Task<void> drop_scoped(ManualExecutor& executor, Event& event, StopToken stop) {
  auto started = start(test::wait_for(event).with({.timeout = 1s, .stop = stop}));
  EXPECT_EQ(executor.timers(), 1U);
  co_return;
}

TEST(Limits, OfADroppedTaskLeaveNothingBehind) {
  ManualExecutor executor;
  Event never;
  StopSource source;
  executor.run(drop_scoped(executor, never, source.get_token()));
  EXPECT_EQ(never.dropped(), 1);
  EXPECT_EQ(executor.timers(), 0U);
  source.request_stop();
  EXPECT_EQ(never.gave_up(), 0);
}

// --- sleep_for, offload.

Task<Duration> sleep_measured(ManualExecutor& executor, Duration duration) {
  const TimePoint begin = executor.now();
  auto nap = sleep_for(duration);
  co_await nap;
  co_return executor.now() - begin;
}

TEST(Sleep, LastsAsLongAsAskedOnTheExecutorsClock) {
  ManualExecutor executor;
  EXPECT_EQ(executor.run(sleep_measured(executor, 3s)), 3s);
  EXPECT_EQ(executor.run(sleep_measured(executor, 0s)), 0s);
  EXPECT_EQ(executor.run(sleep_measured(executor, -3s)), 0s);
}

Task<std::string> sleep_cut_short(Limits limits) {
  struct Sleeper {
    static Task<void> sleep() {
      auto nap = sleep_for(10s);
      co_await nap;
    }
  };
  auto limited = Sleeper::sleep().with(limits);
  try {
    co_await limited;
  } catch (const Error& error) {
    co_return error.what();
  }
  co_return "it slept";
}

TEST(Sleep, ThrowsWhereTheEnclosingDeadlineOrAStopComesFirst) {
  ManualExecutor executor;
  EXPECT_EQ(executor.run(sleep_cut_short({.timeout = 1s})), "sleep_for: timed_out: the sleep was cut short");
  StopSource source;
  source.request_stop();
  const StopToken token = source.get_token();
  EXPECT_EQ(executor.run(sleep_cut_short({.stop = token})), "sleep_for: cancelled: the sleep was cut short");
}

TEST(Sleep, OutsideATaskIsRefusedWithTheRemedy) {
  auto nap = sleep_for(1s);
  EXPECT_EQ(text_of([&] { nap.await_suspend(std::noop_coroutine()); }),
            "invalid_argument: sleep_for needs a ferry task: await it inside a ferry::Task, or use block_on");
}

template <class F>
Task<std::invoke_result_t<F&>> offloaded(F function) {
  auto work = offload(std::move(function));
  co_return co_await work;
}

TEST(Offload, GivesWhatTheFunctionReturnsOrThrows) {
  ManualExecutor executor;
  EXPECT_EQ(executor.run(offloaded([] { return 7; })), 7);
  EXPECT_EQ(*executor.run(offloaded([box = std::make_unique<int>(8)]() mutable { return std::move(box); })), 8);
  bool ran = false;
  executor.run(offloaded([&ran] { ran = true; }));
  EXPECT_TRUE(ran);
  EXPECT_EQ(text_of([&] { executor.run(offloaded([]() -> int { throw std::runtime_error("no disk"); })); }), "no disk");
}

// --- block_on.

Task<void> block_inside(ManualExecutor& executor) {
  executor.run(test::value(1));
  co_return;
}

TEST(BlockOn, IsRefusedInsideATaskAndForAnEmptyTask) {
  ManualExecutor executor;
  EXPECT_EQ(text_of([&] { executor.run(block_inside(executor)); }),
            "invalid_argument: block_on inside a task would block its own executor; use co_await");
  EXPECT_EQ(text_of([&] { executor.run(Task<int>()); }), "invalid_argument: block_on of an empty task (moved from)");
}

Task<void> holds(Running<int> started) {
  static_cast<void>(started.is_done());
  co_return;
}
Task<Task<void>> passes_on(Event& event) {
  auto inner = holds(start(test::value_after(event, 1)));
  co_return inner;
}
Task<void> ends_with_parameters_that_still_run(Event& event) {
  auto outer = passes_on(event);
  auto inner = co_await outer;
  co_await inner;
}

TEST(BlockOn, EndsTheFrameOnItsStrandSoThatParametersMayStillBeRunning) {
  ManualExecutor executor;
  Event never;
  executor.run(ends_with_parameters_that_still_run(never));
  EXPECT_EQ(never.dropped(), 1);
}

}  // namespace
}  // namespace ferry
