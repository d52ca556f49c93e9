#include <poll.h>

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "system_fixtures.hpp"

namespace ferry::system {
namespace {

std::unique_ptr<SystemExecutor> make_driven() {
  SystemExecutorOptions options;
  options.driven_from_outside = true;
  return make_executor(options);
}

// A foreign event loop in its smallest form.
template <class Condition>
void drive_until(SystemExecutor& executor, Condition condition) {
  while (!condition()) {
    pollfd ready{executor.fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&ready, 1, -1), 1);
    executor.poll();
  }
}

bool is_readable(const SystemExecutor& executor) {
  pollfd ready{executor.fd(), POLLIN, 0};
  return ::poll(&ready, 1, 0) == 1;
}

TEST(DrivenExecutor, JobsTimersAndSourcesRunInTheThreadThatPolls) {
  auto executor = make_driven();
  const std::thread::id here = std::this_thread::get_id();
  std::atomic<int> elsewhere{0};
  std::atomic<int> events{0};
  const auto event = [&] {
    elsewhere += std::this_thread::get_id() != here;
    ++events;
  };
  FunctionJob job(event);
  FunctionTimer timer(event);
  SignalSource source;
  source.on_signal = event;
  executor->add(source);
  executor->start_timer(timer, executor->now() + 2ms);
  executor->post(job);
  source.signal();
  drive_until(*executor, [&] { return events.load() == 3; });
  EXPECT_EQ(elsewhere.load(), 0);
  executor->cancel_timer(timer);
  executor->remove(source);
  EXPECT_EQ(source.breaches.load(), 0);
}

TEST(DrivenExecutor, TheDescriptorIsQuietWhenThereIsNothingToDo) {
  auto executor = make_driven();
  SignalSource source;
  executor->add(source);
  while (executor->poll() || is_readable(*executor)) {
  }
  EXPECT_FALSE(executor->poll());
  EXPECT_FALSE(is_readable(*executor));
  source.signal();
  EXPECT_TRUE(is_readable(*executor));
  EXPECT_TRUE(executor->poll());
  while (executor->poll() || is_readable(*executor)) {
  }
  executor->remove(source);
}

TEST(DrivenExecutor, PostsAndWakesOfOtherThreadsReachThePoller) {
  auto executor = make_driven();
  constexpr int kRounds = 3000;
  std::atomic<int> ran{0};
  std::thread other([&] {
    for (int i = 0; i < kRounds; ++i) {
      FunctionJob job([&] { ran.fetch_add(1); });
      executor->post(job);
      while (ran.load() != i + 1) {
        std::this_thread::yield();
      }
    }
  });
  drive_until(*executor, [&] { return ran.load() == kRounds; });
  other.join();
}

TEST(DrivenExecutor, ALotOfWorkIsDoneInBoundedTurns) {
  auto executor = make_driven();
  FunctionJob* own = nullptr;
  bool stop = false;
  int runs = 0;
  FunctionJob endless([&] {
    ++runs;
    if (!stop) {
      executor->post(*own);
    }
  });
  own = &endless;
  executor->post(endless);
  executor->poll();
  EXPECT_GT(runs, 1);
  EXPECT_TRUE(is_readable(*executor));  // there is more
  stop = true;
  executor->poll();
}

TEST(DrivenExecutor, WaitDrivesIt) {
  auto executor = make_driven();
  Latch fired;
  FunctionTimer timer([&] { fired.set(); });
  executor->start_timer(timer, executor->now() + 1ms);
  executor->wait(fired);
  executor->cancel_timer(timer);

  Latch set_elsewhere;
  FunctionJob away([&] { set_elsewhere.set(); });
  executor->offload(away);
  executor->wait(set_elsewhere);
}

}  // namespace
}  // namespace ferry::system
