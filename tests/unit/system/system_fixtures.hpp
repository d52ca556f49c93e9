// What the tests of system/ share: jobs and timers from lambdas, an event source that checks how it is treated, and
// waiting for an executor to fall asleep.
//
// Owner: each test its own objects. Nothing here sleeps in place of a synchronisation.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <ferry/base/executor.hpp>
#include <ferry/system/system_executor.hpp>
#include <ferry/transport/reactor.hpp>

namespace ferry::system {

using namespace std::chrono_literals;

class FunctionJob : public Job {
 public:
  explicit FunctionJob(std::function<void()> function) : Job(&FunctionJob::call), function_(std::move(function)) {}

 private:
  static void call(Job& job) noexcept { static_cast<FunctionJob&>(job).function_(); }
  std::function<void()> function_;
};

class FunctionTimer : public Timer {
 public:
  explicit FunctionTimer(std::function<void()> function)
      : Timer(&FunctionTimer::call), function_(std::move(function)) {}

 private:
  static void call(Timer& timer) noexcept { static_cast<FunctionTimer&>(timer).function_(); }
  std::function<void()> function_;
};

inline std::unique_ptr<SystemExecutor> make_executor(SystemExecutorOptions options = {}) {
  auto executor = SystemExecutor::create(options);
  EXPECT_TRUE(executor.has_value());
  return std::move(*executor);
}

inline SystemExecutorOptions with_threads(unsigned threads, Duration spin = 50us) {
  SystemExecutorOptions options;
  options.threads = threads;
  options.spin = spin;
  return options;
}

// An eventfd as an event source: counts the signals that it has read. Every breach of the EventSource rules counts.
class SignalSource : public EventSource {
 public:
  SignalSource() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  virtual ~SignalSource() { ::close(descriptor_); }

  bool poll() noexcept override {
    const Visit visit(*this);
    breaches += prepared_ ? 1 : 0;  // woken() comes first
    polls.fetch_add(1);
    std::uint64_t count = 0;
    if (::read(descriptor_, &count, sizeof count) != sizeof count) {
      return false;
    }
    signals.fetch_add(count);
    on_signal();
    return true;
  }
  int descriptor() const noexcept override { return descriptor_; }
  bool prepare_to_sleep(bool&) noexcept override {
    const Visit visit(*this);
    breaches += prepared_ ? 1 : 0;
    prepared_ = true;
    return true;
  }
  void woken() noexcept override {
    const Visit visit(*this);
    breaches += prepared_ ? 0 : 1;
    prepared_ = false;
  }

  void signal() const {
    const std::uint64_t one = 1;
    ASSERT_EQ(::write(descriptor_, &one, sizeof one), static_cast<ssize_t>(sizeof one));
  }

  std::function<void()> on_signal = [] {};
  std::atomic<std::uint64_t> signals{0};
  std::atomic<std::uint64_t> polls{0};
  std::atomic<int> breaches{0};

 private:
  // One thread at a time.
  struct Visit {
    explicit Visit(SignalSource& owner) noexcept : source(owner) { source.breaches += source.visited_.exchange(true); }
    ~Visit() { source.visited_.store(false); }
    SignalSource& source;
  };

  const int descriptor_;
  std::atomic<bool> visited_{false};
  bool prepared_ = false;
};

// Returns when the condition holds; the test's own time limit is the watchdog.
template <class Condition>
void wait_until(Condition condition) {
  while (!condition()) {
    std::this_thread::sleep_for(100us);
  }
}

inline bool operator==(const SystemExecutorStats& a, const SystemExecutorStats& b) {
  return a.jobs == b.jobs && a.polls == b.polls && a.progress_polls == b.progress_polls && a.ticks == b.ticks &&
         a.loop_waits == b.loop_waits && a.loop_kicks == b.loop_kicks && a.loop_arms == b.loop_arms &&
         a.loop_alarms == b.loop_alarms && a.parks == b.parks && a.unparks == b.unparks &&
         a.tick_changes == b.tick_changes;
}

// Returns when the executor has done nothing at all for 50 ms.
inline void wait_until_asleep(const SystemExecutor& executor) {
  SystemExecutorStats before{};
  wait_until([&] {
    before = executor.stats();
    std::this_thread::sleep_for(50ms);
    return executor.stats() == before;
  });
}

}  // namespace ferry::system
