// wrong_process: what was made before a fork refuses in the child, at once and with the remedy.
#include <gtest/gtest.h>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include <ferry/base/channel.hpp>
#include <ferry/base/offload.hpp>
#include <ferry/base/process_mark.hpp>
#include <ferry/base/sleep.hpp>
#include <ferry/base/start.hpp>

#include <manual_executor.hpp>

#include "test_awaits.hpp"

namespace ferry {
namespace {

using namespace std::chrono_literals;
using test::ManualExecutor;

constexpr const char* kText =
    "wrong_process: this process is a fork of the one in which the object was made; start processes by exec, or make "
    "a node of its own in the fork";

// As `system` does it.
void mark_forks() {
  static const int installed = ::pthread_atfork(nullptr, nullptr, [] { mark_fork(); });
  ASSERT_EQ(installed, 0);
}

// Runs the function in a fork; what it returns.
bool in_fork(const std::function<bool()>& function) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(function() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(Fork, LeavesTheParentAsItIs) {
  mark_forks();
  ManualExecutor executor;
  EXPECT_TRUE(in_fork([] { return process_mark() == 1; }));
  EXPECT_EQ(process_mark(), 0U);
  EXPECT_EQ(executor.run(test::value(3)), 3);
}

TEST(Fork, RefusesBlockOnOnAnExecutorOfTheParent) {
  mark_forks();
  ManualExecutor executor;
  EXPECT_TRUE(in_fork([&] { return test::text_of([&] { executor.run(test::value(3)); }) == kText; }));
}

TEST(Fork, WorksOnAnExecutorOfItsOwn) {
  mark_forks();
  EXPECT_TRUE(in_fork([] {
    ManualExecutor executor;
    return executor.run(test::value(3)) == 3;
  }));
}

template <class A>
Task<bool> refused(A awaitable) {
  auto outcome = as_result(std::move(awaitable));
  const auto result = co_await outcome;
  co_return !result && result.error().to_text() == kText;
}

// The forking thread goes on inside the task: everything that would wait for another thread must refuse.
Task<bool> awaits_in_fork() {
  test::Event never;
  Channel<int> channel(1);
  bool all = true;
  auto wait = refused(never.wait());
  all = co_await wait && all;
  auto nap = refused(sleep_for(1s));
  all = co_await nap && all;
  auto next = refused(channel.next());
  all = co_await next && all;
  auto work = refused(offload([] { return 1; }));
  all = co_await work && all;
  auto started = refused(start(test::wait_for(never)));
  all = co_await started && all;
  co_return all;
}
Task<int> forks(pid_t& child) {
  child = ::fork();
  if (child == 0) {
    auto awaits = awaits_in_fork();
    const bool all = co_await awaits;
    ::_exit(all ? 0 : 1);
  }
  co_return 0;
}

TEST(Fork, InsideATaskRefusesEveryAwaitThatWouldSuspend) {
  mark_forks();
  ManualExecutor executor;
  pid_t child = 0;
  executor.run(forks(child));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace ferry
