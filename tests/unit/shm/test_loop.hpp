// TestLoop: an Executor and Reactor of one thread, for nodes in tests: runs jobs, fires timers, polls, and sleeps when
// there is nothing to do. stop_polling() makes a process deaf without stopping it.
#pragma once

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include <ferry/base/executor.hpp>
#include <ferry/transport/reactor.hpp>

namespace ferry::shm::testing {

class TestLoop final : public Executor, public Reactor {
 public:
  explicit TestLoop(int spins = 300) : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), spins_(spins) {
    thread_ = std::thread([this] { run(); });
  }
  ~TestLoop() override {
    stop_.store(true);
    wake();
    thread_.join();
    ::close(wake_);
  }

  void post(Job& job) noexcept override {
    {
      const std::lock_guard lock(queue_mutex_);
      jobs_.push(job);
    }
    wake();
  }
  void offload(Job& job) noexcept override { post(job); }
  TimePoint now() const noexcept override {
    return TimePoint(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
  }
  void start_timer(Timer& timer, TimePoint due) noexcept override {
    {
      const std::lock_guard lock(timers_mutex_);
      timer.due = due;
      timer.started = true;
      timers_.emplace(due, &timer);
    }
    wake();
  }
  void cancel_timer(Timer& timer) noexcept override {
    const std::lock_guard lock(timers_mutex_);  // held while callbacks run
    for (auto at = timers_.begin(); at != timers_.end(); ++at) {
      if (at->second == &timer) {
        timers_.erase(at);
        break;
      }
    }
    timer.started = false;
  }
  bool has_ready_work() const noexcept override { return false; }
  void wait(const Latch& latch) noexcept override { latch.block(); }

  void add(EventSource& source) override {
    {
      const std::lock_guard lock(mutex_);
      sources_.push_back(&source);
    }
    wake();
  }
  void remove(EventSource& source) noexcept override {
    const std::lock_guard lock(mutex_);
    std::erase(sources_, &source);
  }
  void wake() noexcept override {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t sent = ::write(wake_, &one, sizeof one);
  }

  // From its return to the matching resume_polling() no source is polled.
  void stop_polling() { mutex_.lock(); }
  void resume_polling() { mutex_.unlock(); }

 private:
  void run() {
    int idle = 0;
    while (!stop_.load()) {
      if (work()) {
        idle = 0;
      } else if (++idle >= spins_) {
        sleep();
        idle = 0;
      }
    }
  }

  bool work() {
    bool any = false;
    for (;;) {
      Job* job = nullptr;
      {
        const std::lock_guard lock(queue_mutex_);
        job = jobs_.pop();
      }
      if (job == nullptr) {
        break;
      }
      job->run();
      any = true;
    }
    {
      const std::lock_guard lock(timers_mutex_);
      while (!timers_.empty() && timers_.begin()->first <= now()) {
        Timer& timer = *timers_.begin()->second;
        timers_.erase(timers_.begin());
        timer.started = false;
        timer.fire();
        any = true;
      }
    }
    const std::lock_guard lock(mutex_);
    const std::vector<EventSource*> sources = sources_;
    for (EventSource* source : sources) {
      if (std::find(sources_.begin(), sources_.end(), source) != sources_.end()) {
        any |= source->poll();
      }
    }
    return any;
  }

  void sleep() {
    std::vector<pollfd> waits{{wake_, POLLIN, 0}};
    std::vector<EventSource*> prepared;
    int timeout = 1000;
    {
      const std::lock_guard lock(mutex_);
      bool may_sleep = true;
      for (EventSource* source : sources_) {
        bool write = false;
        if (!source->prepare_to_sleep(write)) {
          may_sleep = false;
          break;
        }
        prepared.push_back(source);
        waits.push_back({source->descriptor(), POLLIN, 0});
      }
      const std::lock_guard timers_lock(timers_mutex_);
      if (!may_sleep) {
        timeout = 0;
      } else if (!timers_.empty()) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(timers_.begin()->first - now()).count();
        timeout = static_cast<int>(std::clamp<std::int64_t>(left + 1, 0, timeout));
      }
    }
    ::poll(waits.data(), waits.size(), timeout);
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(wake_, &count, sizeof count);
    const std::lock_guard lock(mutex_);
    for (EventSource* source : prepared) {
      if (std::find(sources_.begin(), sources_.end(), source) != sources_.end()) {
        source->woken();
      }
    }
  }

  const int wake_;
  const int spins_;
  std::atomic<bool> stop_{false};
  std::recursive_mutex mutex_;  // sources; held while they are called
  std::vector<EventSource*> sources_;
  // Of its own: timers are started under locks that a source takes while it is called.
  std::recursive_mutex timers_mutex_;  // held while timers fire
  std::multimap<TimePoint, Timer*> timers_;
  std::mutex queue_mutex_;
  JobQueue jobs_;
  std::thread thread_;
};

}  // namespace ferry::shm::testing
