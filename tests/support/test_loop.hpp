// TestLoop: an Executor and Reactor for the tests of transports that link no other: everything happens in step(),
// called by the test itself or by a thread of the loop's own, which sleeps on the descriptors when there is nothing to
// do. Any thread, where not said otherwise.
#pragma once

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include <ferry/base/executor.hpp>
#include <ferry/transport/reactor.hpp>

namespace ferry::test {

class TestLoop final : public Executor, public Reactor {
 public:
  // spins: steps without work before its thread sleeps.
  explicit TestLoop(int spins = 64) : event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), spins_(spins) {}
  ~TestLoop() override {
    stop();
    ::close(event_);
  }

  void start() {
    stopping_ = false;
    thread_ = std::thread([this] {
      while (!stopping_) {
        for (int idle = 0; idle < spins_ && !stopping_;) {
          idle = step() ? 0 : idle + 1;
        }
        sleep();
      }
    });
  }
  void stop() {
    stopping_ = true;
    wake();
    if (thread_.joinable()) {
      thread_.join();
    }
  }

  // Polls every source once, fires what is due, runs what was posted; true if that was anything.
  bool step() {
    const std::lock_guard turn(turn_);
    bool any = fire_timers();
    any |= run_jobs();
    for (EventSource* source : sources()) {
      if (enter(*source)) {
        if (was_prepared(*source)) {
          source->woken();
        }
        any |= source->poll();
        leave();
      }
    }
    return any;
  }

  // What a sleeping thread would be told: false if a source has work.
  bool can_sleep() {
    const std::lock_guard turn(turn_);
    std::vector<pollfd> ready;
    return prepare(ready);
  }

  // From its return to the matching resume_polling(), by the same thread, no source is polled: a process that is deaf,
  // and not stopped.
  void stop_polling() { turn_.lock(); }
  void resume_polling() { turn_.unlock(); }

  void post(Job& job) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      jobs_.push(job);
    }
    wake();
  }
  void offload(Job& job) noexcept override { post(job); }
  TimePoint now() const noexcept override { return TimePoint(std::chrono::steady_clock::now().time_since_epoch()); }
  void start_timer(Timer& timer, TimePoint due) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      timer.due = due;
      timer.started = true;
      timers_.emplace(due, &timer);
    }
    wake();
  }
  void cancel_timer(Timer& timer) noexcept override {
    std::unique_lock lock(mutex_);
    std::erase_if(timers_, [&](const auto& entry) { return entry.second == &timer; });
    timer.started = false;
    if (std::this_thread::get_id() != stepping_) {
      changed_.wait(lock, [&] { return firing_ != &timer; });
      std::erase_if(timers_, [&](const auto& entry) { return entry.second == &timer; });
    }
  }
  bool has_ready_work() const noexcept override { return false; }
  void wait(const Latch& latch) noexcept override { latch.block(); }

  void add(EventSource& source) override {
    {
      const std::lock_guard lock(mutex_);
      ASSERT_EQ(std::count(sources_.begin(), sources_.end(), &source), 0);
      sources_.push_back(&source);
    }
    wake();
  }
  void remove(EventSource& source) noexcept override {
    std::unique_lock lock(mutex_);
    std::erase(prepared_, &source);
    ASSERT_EQ(std::erase(sources_, &source), 1u) << "removed, but not there";
    if (std::this_thread::get_id() != stepping_) {
      changed_.wait(lock, [&] { return visited_ != &source; });
    }
  }
  void wake() noexcept override {
    wakes_.fetch_add(1);
    if (sleeping_.load()) {
      const std::uint64_t one = 1;
      [[maybe_unused]] const ssize_t written = ::write(event_, &one, sizeof one);
    }
  }

  std::size_t source_count() const {
    const std::lock_guard lock(mutex_);
    return sources_.size();
  }

 private:
  std::vector<EventSource*> sources() const {
    const std::lock_guard lock(mutex_);
    return sources_;
  }

  // False: it was removed meanwhile.
  bool enter(EventSource& source) {
    const std::lock_guard lock(mutex_);
    if (std::find(sources_.begin(), sources_.end(), &source) == sources_.end()) {
      return false;
    }
    visited_ = &source;
    stepping_ = std::this_thread::get_id();
    return true;
  }
  // And is not any more.
  bool was_prepared(EventSource& source) {
    const std::lock_guard lock(mutex_);
    return std::erase(prepared_, &source) != 0;
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    visited_ = nullptr;
    stepping_ = {};
    changed_.notify_all();
  }

  bool run_jobs() {
    bool any = false;
    for (;;) {
      Job* job = nullptr;
      {
        const std::lock_guard lock(mutex_);
        job = jobs_.pop();
      }
      if (job == nullptr) {
        return any;
      }
      job->run();
      any = true;
    }
  }

  bool fire_timers() {
    bool any = false;
    for (;;) {
      std::unique_lock lock(mutex_);
      if (timers_.empty() || timers_.begin()->first > now()) {
        return any;
      }
      Timer* timer = timers_.begin()->second;
      timers_.erase(timers_.begin());
      timer->started = false;
      firing_ = timer;
      stepping_ = std::this_thread::get_id();
      lock.unlock();
      timer->fire();
      lock.lock();
      firing_ = nullptr;
      stepping_ = {};
      changed_.notify_all();
      any = true;
    }
  }

  bool prepare(std::vector<pollfd>& ready) {
    ready.push_back({event_, POLLIN, 0});
    for (EventSource* source : sources()) {
      if (!enter(*source)) {
        return false;
      }
      bool write = false;
      const bool sleeps = source->prepare_to_sleep(write);
      if (sleeps) {
        const std::lock_guard lock(mutex_);
        prepared_.push_back(source);
      }
      ready.push_back({source->descriptor(), static_cast<short>(POLLIN | (write ? POLLOUT : 0)), 0});
      leave();
      if (!sleeps) {
        return false;
      }
    }
    return true;
  }

  void sleep() {
    sleeping_ = true;
    const std::uint64_t wakes = wakes_.load();
    std::vector<pollfd> ready;
    {
      const std::lock_guard turn(turn_);
      if (!prepare(ready) || wakes != wakes_.load() || stopping_) {
        sleeping_ = false;
        return;
      }
    }
    int wait = 1000;
    {
      const std::lock_guard lock(mutex_);
      if (!timers_.empty()) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(timers_.begin()->first - now()).count();
        wait = static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000));
      }
    }
    ::poll(ready.data(), ready.size(), wait);
    sleeping_ = false;
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t read = ::read(event_, &count, sizeof count);
  }

  const int event_;
  const int spins_;
  std::thread thread_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> sleeping_{false};
  std::atomic<std::uint64_t> wakes_{0};
  std::mutex turn_;  // one step at a time

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<EventSource*> sources_;
  std::multimap<TimePoint, Timer*> timers_;
  JobQueue jobs_;
  EventSource* visited_ = nullptr;
  Timer* firing_ = nullptr;
  std::thread::id stepping_{};
  std::vector<EventSource*> prepared_;  // for a sleep, and not woken() since
};

}  // namespace ferry::test
