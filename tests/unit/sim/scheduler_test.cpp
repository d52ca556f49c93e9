#include <ferry/sim/scheduler.hpp>

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include <ferry/sim/sim_executor.hpp>

namespace ferry::sim {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

struct Note : Job {
  Note(std::vector<std::string>& log, std::string text) : Job(&Note::run_it), log_(log), text_(std::move(text)) {}
  static void run_it(Job& job) noexcept {
    auto& self = static_cast<Note&>(job);
    self.log_.push_back(self.text_);
  }
  std::vector<std::string>& log_;
  std::string text_;
};

struct Alarm : Timer {
  Alarm(std::vector<std::string>& log, std::string text) : Timer(&Alarm::fired), log_(log), text_(std::move(text)) {}
  static void fired(Timer& timer) noexcept {
    auto& self = static_cast<Alarm&>(timer);
    self.log_.push_back(self.text_);
  }
  std::vector<std::string>& log_;
  std::string text_;
};

struct Act : Step {
  explicit Act(std::function<void()> what) : Step(&Act::run_it), what_(std::move(what)) {}
  static void run_it(Step& step) noexcept { static_cast<Act&>(step).what_(); }
  std::function<void()> what_;
};

constexpr ProcessNumber kA{1};
constexpr ProcessNumber kB{2};

TEST(Scheduler, ChoiceZeroRunsJobsInTheOrderOfPosting) {
  InOrderChoices in_order;
  Scheduler scheduler(in_order, 100);
  std::vector<std::string> log;
  Note a(log, "a");
  Note b(log, "b");
  Note c(log, "c");
  scheduler.post(kA, a);
  scheduler.post(kB, b);
  scheduler.post(kA, c);
  EXPECT_EQ(scheduler.run(nullptr), Scheduler::End::nothing);
  EXPECT_THAT(log, ElementsAre("a", "b", "c"));
  EXPECT_EQ(scheduler.steps(), 3U);
}

TEST(Scheduler, SomeSeedRunsJobsInEveryOrder) {
  std::map<std::string, int> orders;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SeededChoices choices(seed);
    Scheduler scheduler(choices, 100);
    std::vector<std::string> log;
    Note a(log, "a");
    Note b(log, "b");
    Note c(log, "c");
    scheduler.post(kA, a);
    scheduler.post(kA, b);
    scheduler.post(kA, c);
    scheduler.run(nullptr);
    ++orders[log[0] + log[1] + log[2]];
  }
  EXPECT_EQ(orders.size(), 6U);
}

TEST(Scheduler, TimeStandsStillWhileAnythingCanRun) {
  InOrderChoices in_order;
  Scheduler scheduler(in_order, 100);
  std::vector<std::string> log;
  Alarm late(log, "late");
  Note last(log, "second job");
  Act first([&] {
    log.push_back("first job");
    EXPECT_EQ(scheduler.now(), TimePoint{});
    scheduler.post(kA, last);
  });
  scheduler.start_timer(kA, late, TimePoint(1ns));
  scheduler.schedule(first, StepKind::plan, kA, 0, 0ns);
  scheduler.run(nullptr);
  EXPECT_THAT(log, ElementsAre("first job", "second job", "late"));
  EXPECT_EQ(scheduler.now(), TimePoint(1ns));
}

TEST(Scheduler, TimersFireInTheOrderOfTheirTimesAndEqualOnesInTheOrderOfStart) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SeededChoices choices(seed);
    Scheduler scheduler(choices, 100);
    std::vector<std::string> log;
    Alarm third(log, "third");
    Alarm first(log, "first");
    Alarm second(log, "second");
    Alarm never(log, "never");
    scheduler.start_timer(kA, never, TimePoint(2us));
    scheduler.start_timer(kA, first, TimePoint(2us));
    scheduler.start_timer(kA, second, TimePoint(2us));
    scheduler.start_timer(kA, third, TimePoint(3us));
    scheduler.cancel_timer(never);
    scheduler.run(nullptr);
    ASSERT_THAT(log, ElementsAre("first", "second", "third")) << "seed " << seed;
  }
}

TEST(Scheduler, TimersOfTwoProcessesAtOneInstantFireInEitherOrder) {
  std::map<std::string, int> orders;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SeededChoices choices(seed);
    Scheduler scheduler(choices, 100);
    std::vector<std::string> log;
    Alarm a(log, "a");
    Alarm b(log, "b");
    scheduler.start_timer(kA, a, TimePoint(1us));
    scheduler.start_timer(kB, b, TimePoint(1us));
    scheduler.run(nullptr);
    ++orders[log[0] + log[1]];
  }
  EXPECT_EQ(orders.size(), 2U);
}

TEST(Scheduler, ATimerThatIsDueAndNotYetFiredCanBeCancelled) {
  InOrderChoices in_order;
  Scheduler scheduler(in_order, 100);
  std::vector<std::string> log;
  Alarm cancelled(log, "cancelled");
  Alarm other(log, "other");
  Act cancel([&] { scheduler.cancel_timer(cancelled); });
  scheduler.schedule(cancel, StepKind::plan, kA, 0, 1us);
  scheduler.start_timer(kA, cancelled, TimePoint(1us));
  scheduler.start_timer(kA, other, TimePoint(1us));
  scheduler.run(nullptr);
  EXPECT_THAT(log, ElementsAre("other"));
}

TEST(Scheduler, DroppingAProcessDropsItsJobsAndTimersOnly) {
  InOrderChoices in_order;
  Scheduler scheduler(in_order, 100);
  std::vector<std::string> log;
  Note job_a(log, "job of a");
  Note job_b(log, "job of b");
  Alarm timer_a(log, "timer of a");
  Alarm timer_b(log, "timer of b");
  scheduler.post(kA, job_a);
  scheduler.post(kB, job_b);
  scheduler.start_timer(kA, timer_a, TimePoint(1us));
  scheduler.start_timer(kB, timer_b, TimePoint(1us));
  scheduler.drop(kA);
  scheduler.run(nullptr);
  EXPECT_THAT(log, ElementsAre("job of b", "timer of b"));
  EXPECT_FALSE(timer_a.started);
}

TEST(Scheduler, AWithdrawnStepDoesNotRun) {
  InOrderChoices in_order;
  Scheduler scheduler(in_order, 100);
  Act now([] { FAIL(); });
  Act later([] { FAIL(); });
  scheduler.schedule(now, StepKind::plan, kA, 0, 0ns);
  scheduler.schedule(later, StepKind::plan, kA, 0, 1us);
  scheduler.withdraw(now);
  scheduler.withdraw(later);
  EXPECT_EQ(scheduler.run(nullptr), Scheduler::End::nothing);
  EXPECT_EQ(scheduler.steps(), 0U);
}

TEST(Scheduler, AProcessThatSpinsDoesNotStopTheClock) {
  InOrderChoices in_order;
  Scheduler scheduler(in_order, 10 * Scheduler::kPatience);
  Latch fired;
  Act spin([] {});
  spin.what_ = [&] { scheduler.schedule(spin, StepKind::plan, kA, 0, 0ns); };
  Act stop([&] { fired.set(); });
  spin.what_();
  scheduler.schedule(stop, StepKind::plan, kB, 0, 1s);
  EXPECT_EQ(scheduler.run(&fired), Scheduler::End::set);
  scheduler.close();
}

TEST(Scheduler, TheStepBudgetEndsARunThatWouldNotEnd) {
  InOrderChoices in_order;
  Scheduler scheduler(in_order, 50);
  Act spin([] {});
  spin.what_ = [&] { scheduler.schedule(spin, StepKind::plan, kA, 0, 1us); };
  spin.what_();
  EXPECT_EQ(scheduler.run(nullptr), Scheduler::End::budget);
  EXPECT_EQ(scheduler.steps(), 50U);
  scheduler.close();
}

TEST(Scheduler, HashTellsTimesIdsAndChoicesApart) {
  const auto hash_of = [](Duration delay, std::uint64_t number, std::uint64_t seed) {
    SeededChoices choices(seed);
    Scheduler scheduler(choices, 100);
    Act step([] {});
    scheduler.schedule(step, StepKind::plan, kA, number, delay);
    scheduler.run(nullptr);
    scheduler.choose(ChoiceKind::cut, 1'000'000);
    return scheduler.hash();
  };
  EXPECT_EQ(hash_of(1us, 1, 1), hash_of(1us, 1, 1));
  EXPECT_NE(hash_of(1us, 1, 1), hash_of(2us, 1, 1));
  EXPECT_NE(hash_of(1us, 1, 1), hash_of(1us, 2, 1));
  EXPECT_NE(hash_of(1us, 1, 1), hash_of(1us, 1, 2));
}

TEST(SimExecutor, WaitRunsTheRestOfTheWorld) {
  InOrderChoices in_order;
  Scheduler scheduler(in_order, 100);
  SimExecutor executor(scheduler, kA, [](Scheduler::End) { FAIL(); });
  Latch latch;
  Act set([&] { latch.set(); });
  scheduler.schedule(set, StepKind::plan, kB, 0, 1ms);
  executor.wait(latch);
  EXPECT_EQ(executor.now(), TimePoint(1ms));
}

TEST(SimExecutor, AWaitThatCannotEndIsReported) {
  InOrderChoices in_order;
  Scheduler scheduler(in_order, 100);
  std::optional<Scheduler::End> reported;
  SimExecutor executor(scheduler, kA, [&](Scheduler::End end) { reported = end; });
  Latch latch;
  executor.wait(latch);
  EXPECT_EQ(reported, Scheduler::End::nothing);
}

TEST(SimExecutor, OffloadRunsInPlaceAndNothingRunsAfterAHalt) {
  InOrderChoices in_order;
  Scheduler scheduler(in_order, 100);
  SimExecutor executor(scheduler, kA, [](Scheduler::End) { FAIL(); });
  std::vector<std::string> log;
  Note offloaded(log, "offloaded");
  Note queued(log, "queued");
  Note late(log, "late");
  Alarm timer(log, "timer");
  executor.offload(offloaded);
  EXPECT_THAT(log, ElementsAre("offloaded"));
  executor.post(queued);
  executor.halt();
  executor.post(late);
  executor.start_timer(timer, TimePoint(1us));
  EXPECT_EQ(scheduler.run(nullptr), Scheduler::End::nothing);
  EXPECT_THAT(log, ElementsAre("offloaded"));
}

}  // namespace
}  // namespace ferry::sim
