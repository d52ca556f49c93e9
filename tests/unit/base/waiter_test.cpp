// Waiter: every order of waking, giving up, ending and dropping; one thread, virtual time.
#include <gtest/gtest.h>

#include <functional>
#include <type_traits>
#include <vector>

#include <ferry/base/start.hpp>
#include <ferry/base/waiter.hpp>

#include <manual_executor.hpp>

#include "test_awaits.hpp"

namespace ferry {
namespace {

using namespace std::chrono_literals;
using test::ManualExecutor;
using test::text_of;

// What a test does at each point of an await's life.
struct Script {
  std::function<void(Waiter&)> before_begin;
  std::function<void(Waiter&)> before_commit;
  std::function<void(Waiter&, errc)> on_give_up = [](Waiter& asked, errc) { asked.wake(); };
  std::function<bool()> has_progressed;
  Limits limits{};
  Duration check_interval{};

  Waiter* waiter = nullptr;
  std::vector<errc> reasons;
  int resumed = 0;
};

class Scripted final : private Waiter {
 public:
  explicit Scripted(Script& script) noexcept : Waiter(&give_up, &has_progressed), script_(script) {
    script.waiter = this;
  }
  ~Scripted() {
    end();
    script_.waiter = nullptr;
  }
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> handle) {
    if (script_.before_begin) {
      script_.before_begin(*this);
    }
    begin(handle, script_.limits, script_.check_interval);
    if (script_.before_commit) {
      script_.before_commit(*this);
    }
    return commit();
  }
  void await_resume() noexcept {
    end();
    ++script_.resumed;
  }

 private:
  static void give_up(Waiter& waiter, errc reason) noexcept {
    Script& script = static_cast<Scripted&>(waiter).script_;
    script.reasons.push_back(reason);
    script.on_give_up(waiter, reason);
  }
  static bool has_progressed(Waiter& waiter) noexcept {
    return static_cast<Scripted&>(waiter).script_.has_progressed();
  }

  Script& script_;
};

// Another thread may ask it to give up while the destructors of what derives from it run: through a pointer to virtual
// functions that would be a race, in every awaitable with a base of its own.
static_assert(!std::is_polymorphic_v<Waiter>);

Task<void> await(Script& script) {
  Scripted scripted(script);
  co_await scripted;
}

TEST(Waiter, WokenBeforeItBeganDoesNotSuspend) {
  ManualExecutor executor;
  Script script;
  script.before_begin = [](Waiter& waiter) { waiter.wake(); };
  executor.run(await(script));
  EXPECT_EQ(script.resumed, 1);
}

TEST(Waiter, WokenBetweenBeginAndCommitDoesNotSuspend) {
  ManualExecutor executor;
  Script script;
  script.limits.timeout = 1s;
  script.before_commit = [](Waiter& waiter) { waiter.wake(); };
  executor.run(await(script));
  EXPECT_EQ(script.resumed, 1);
  EXPECT_EQ(executor.timers(), 0U);
}

TEST(Waiter, IsAskedToGiveUpAtItsDeadlineAndEndsWhenItWakes) {
  ManualExecutor executor;
  Script script;
  script.limits.timeout = 1s;
  executor.run(await(script));
  EXPECT_EQ(script.reasons, std::vector<errc>{errc::timed_out});
  EXPECT_EQ(executor.now().time_since_epoch(), 1s);
}

Task<void> give_up_late(ManualExecutor& executor, Script& script) {
  auto started = start(await(script));
  auto pass = [&executor] { executor.advance(5s); };
  pass();
  EXPECT_EQ(script.reasons, std::vector<errc>{errc::timed_out});
  EXPECT_FALSE(started.is_done());
  script.waiter->wake();  // silenced at last
  co_await started;
}

TEST(Waiter, StaysSuspendedAfterGivingUpUntilItIsWoken) {
  ManualExecutor executor;
  Script script;
  script.limits.timeout = 1s;
  script.on_give_up = [](Waiter&, errc) {};
  executor.run(give_up_late(executor, script));
  EXPECT_EQ(script.resumed, 1);
}

Task<void> stop_and_time_out(ManualExecutor& executor, Script& script, StopSource source) {
  auto started = start(await(script));
  source.request_stop();
  executor.advance(5s);
  EXPECT_EQ(script.reasons, (std::vector<errc>{errc::cancelled, errc::timed_out}));
  script.waiter->wake();
  script.waiter->wake();  // once more does nothing
  co_await started;
}

TEST(Waiter, ResumesOnceHoweverOftenItIsAskedAndWoken) {
  ManualExecutor executor;
  Script script;
  StopSource source;
  const StopToken token = source.get_token();
  script.limits = {.timeout = 1s, .stop = token};
  script.on_give_up = [](Waiter&, errc) {};
  executor.run(stop_and_time_out(executor, script, source));
  EXPECT_EQ(script.resumed, 1);
  EXPECT_EQ(executor.run(), 0U);
}

TEST(Waiter, IsAskedAtOnceWhereTheStopCameBefore) {
  ManualExecutor executor;
  Script script;
  StopSource source;
  source.request_stop();
  const StopToken token = source.get_token();
  script.limits.stop = token;
  executor.run(await(script));
  EXPECT_EQ(script.reasons, std::vector<errc>{errc::cancelled});
}

TEST(Waiter, GivesUpAfterTheFirstIntervalWithoutProgress) {
  ManualExecutor executor;
  Script script;
  int left = 3;
  script.check_interval = 10s;
  script.has_progressed = [&left] { return left-- > 0; };
  executor.run(await(script));
  EXPECT_EQ(script.reasons, std::vector<errc>{errc::timed_out});
  EXPECT_EQ(executor.now().time_since_epoch(), 40s);
}

TEST(Waiter, DeadlineCountsAlsoWhileThereIsProgress) {
  ManualExecutor executor;
  Script script;
  script.check_interval = 10s;
  script.limits.timeout = 25s;
  script.has_progressed = [] { return true; };
  executor.run(await(script));
  EXPECT_EQ(executor.now().time_since_epoch(), 25s);
}

Task<void> drop_suspended(ManualExecutor& executor, Script& script, StopSource source) {
  {
    auto started = start(await(script));
    EXPECT_EQ(executor.timers(), 1U);
  }
  EXPECT_EQ(executor.timers(), 0U);
  source.request_stop();
  executor.advance(1h);
  co_return;
}

TEST(Waiter, DroppedIsNeverAskedNorResumed) {
  ManualExecutor executor;
  Script script;
  StopSource source;
  const StopToken token = source.get_token();
  script.limits = {.timeout = 1s, .stop = token};
  executor.run(drop_suspended(executor, script, source));
  EXPECT_TRUE(script.reasons.empty());
  EXPECT_EQ(script.resumed, 0);
}

Task<void> drop_woken(Script& script) {
  auto started = start(await(script));
  script.waiter->wake();
  co_return;
}

TEST(Waiter, DroppedAfterItWasWokenTakesItsResumptionBack) {
  ManualExecutor executor;
  Script script;
  executor.run(drop_woken(script));
  EXPECT_EQ(script.resumed, 0);
  EXPECT_EQ(executor.run(), 0U);
}

TEST(Waiter, OutsideATaskIsRefused) {
  Script script;
  Scripted scripted(script);
  EXPECT_EQ(text_of([&] { scripted.await_suspend(std::noop_coroutine()); }),
            "invalid_argument: waiting needs a ferry task: await it inside a ferry::Task, or use block_on");
}

TEST(Waiter, OfAHaltedExecutorIsDroppedWithoutItsStrand) {
  ManualExecutor executor;
  Script script;
  Strand strand(executor);
  std::optional<detail::RootTask<void>> root;
  root.emplace(
      strand, await(script), [](detail::RootTask<void>&, void*) noexcept {}, nullptr);
  root->post();
  executor.run();
  script.waiter->wake();
  executor.halt();
  root.reset();  // not on the strand: nothing runs there any more
  EXPECT_EQ(script.resumed, 0);
}

}  // namespace
}  // namespace ferry
