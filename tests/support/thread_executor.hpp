// ThreadExecutor: a small executor of real threads, for tests of core that look for races: executor threads, a thread
// for timers and one for offloaded jobs. Simple on purpose; programs use system's.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <ferry/base/block_on.hpp>
#include <ferry/base/executor.hpp>

namespace ferry::test {

class ThreadExecutor final : public Executor {
 public:
  explicit ThreadExecutor(int threads = 2) {
    for (int index = 0; index < threads; ++index) {
      threads_.emplace_back([this] { run_jobs(ready_, &waiting_jobs_); });
    }
    threads_.emplace_back([this] { run_jobs(offloaded_, nullptr); });
    threads_.emplace_back([this] { run_timers(); });
  }
  ~ThreadExecutor() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }

  void post(Job& job) noexcept override {
    waiting_jobs_.fetch_add(1, std::memory_order_relaxed);
    push(ready_, job);
  }
  void offload(Job& job) noexcept override { push(offloaded_, job); }
  TimePoint now() const noexcept override { return TimePoint(std::chrono::steady_clock::now().time_since_epoch()); }
  void start_timer(Timer& timer, TimePoint due) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      timer.due = due;
      timer.order = ++order_;
      timer.started = true;
      timers_.emplace(std::pair(due, timer.order), &timer);
    }
    changed_.notify_all();
  }
  void cancel_timer(Timer& timer) noexcept override {
    std::unique_lock lock(mutex_);
    if (std::this_thread::get_id() != timer_thread_) {
      changed_.wait(lock, [&] { return firing_ != &timer; });
    }
    if (std::exchange(timer.started, false)) {
      timers_.erase(std::pair(timer.due, timer.order));
    }
  }
  bool has_ready_work() const noexcept override { return waiting_jobs_.load(std::memory_order_relaxed) > 0; }
  void wait(const Latch& latch) noexcept override { latch.block(); }

  template <class T>
  T run(Task<T> task) {
    return block_on(*this, nullptr, std::move(task));
  }

 private:
  using Queue = std::deque<Job*>;

  void push(Queue& queue, Job& job) noexcept {
    {
      const std::lock_guard lock(mutex_);
      queue.push_back(&job);
    }
    changed_.notify_all();
  }

  void run_jobs(Queue& queue, std::atomic<int>* counter) {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return ending_ || !queue.empty(); });
      if (queue.empty()) {
        return;
      }
      Job* job = queue.front();
      queue.pop_front();
      lock.unlock();
      if (counter != nullptr) {
        counter->fetch_sub(1, std::memory_order_relaxed);
      }
      job->run();
      lock.lock();
    }
  }

  void run_timers() {
    std::unique_lock lock(mutex_);
    timer_thread_ = std::this_thread::get_id();
    while (!ending_) {
      if (timers_.empty()) {
        changed_.wait(lock);
      } else if (const TimePoint due = timers_.begin()->first.first; due > now()) {
        changed_.wait_for(lock, std::min<Duration>(due - now(), std::chrono::hours(1)));
      } else {
        Timer* timer = timers_.begin()->second;
        timers_.erase(timers_.begin());
        timer->started = false;
        firing_ = timer;
        lock.unlock();
        timer->fire();
        lock.lock();
        firing_ = nullptr;
        changed_.notify_all();
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Queue ready_;
  Queue offloaded_;
  std::map<std::pair<TimePoint, std::uint64_t>, Timer*> timers_;
  std::uint64_t order_ = 0;
  Timer* firing_ = nullptr;
  std::thread::id timer_thread_;
  bool ending_ = false;
  std::atomic<int> waiting_jobs_{0};
  std::vector<std::thread> threads_;
};

}  // namespace ferry::test
