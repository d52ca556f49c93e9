#include <ferry/system/system_executor.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include <ferry/base/check.hpp>
#include <ferry/system/event_loop.hpp>
#include <ferry/system/offload_pool.hpp>
#include <ferry/system/source_set.hpp>
#include <ferry/system/thread_setup.hpp>
#include <ferry/system/timer_queue.hpp>

namespace ferry::system {

class SystemExecutor::Machine {
 public:
  Machine(std::unique_ptr<EventLoop> event_loop, const SystemExecutorOptions& options)
      : loop(std::move(event_loop)), sources(*loop), offloaded(options.offload_threads), spin_(options.spin) {
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    const unsigned count = options.threads == 0 ? std::min(4U, cores) : options.threads;
    for (unsigned i = 0; i < count; ++i) {
      threads_.push_back(start_thread("ferry-executor", [this] { run_jobs(); }));
    }
    threads_.push_back(start_thread("ferry-progress", [this] { run_progress(); }));
  }

  ~Machine() {
    stopping_.store(true);
    { const std::lock_guard lock(mutex_); }
    posted_.notify_all();
    loop->kick();
    for (std::thread& thread : threads_) {
      thread.join();
    }
    FERRY_CHECK(jobs_.empty());
  }

  void post(Job& job) noexcept {
    {
      const std::lock_guard lock(mutex_);
      jobs_.push(job);
      queued.fetch_add(1, std::memory_order_relaxed);
    }
    posted_.notify_one();
  }

  void wake() noexcept {
    requests_.fetch_add(1);
    if (asleep_.load()) {
      loop->kick();
    }
  }

  bool is_asleep() const noexcept { return asleep_.load(); }

  static TimePoint now() noexcept {
    return TimePoint(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
  }

  std::unique_ptr<EventLoop> loop;
  SourceSet sources;
  TimerQueue timers;
  OffloadPool offloaded;
  std::atomic<std::size_t> queued{0};

 private:
  void run_jobs() noexcept {
    std::unique_lock lock(mutex_);
    for (;;) {
      posted_.wait(lock, [this] { return stopping_.load() || !jobs_.empty(); });
      Job* job = jobs_.pop();
      if (job == nullptr) {
        return;
      }
      queued.fetch_sub(1, std::memory_order_relaxed);
      lock.unlock();
      job->run();
      lock.lock();
    }
  }

  void run_progress() noexcept {
    EventLoop::Woken woken;
    while (!stopping_.load()) {
      const TimePoint until = now() + spin_;
      std::uint64_t seen = 0;
      TimePoint at{};
      do {
        seen = requests_.load();
        at = now();
        if (sources.poll() || timers.fire(at) > 0) {
          break;
        }
      } while (at < until);
      if (at < until) {
        continue;
      }
      asleep_.store(true);
      if (sources.prepare_to_sleep() && requests_.load() == seen && !stopping_.load()) {
        loop->set_alarm(timers.next_due());
        loop->wait(true, woken);
        sources.fired({woken.ids.data(), woken.count});
      }
      asleep_.store(false);
    }
  }

  const Duration spin_;
  std::mutex mutex_;
  std::condition_variable posted_;
  JobQueue jobs_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> asleep_{false};
  std::atomic<std::uint64_t> requests_{0};
  std::vector<std::thread> threads_;
};

Result<std::unique_ptr<SystemExecutor>> SystemExecutor::create(const SystemExecutorOptions& options) {
  auto loop = EventLoop::create();
  if (!loop) {
    return loop.error();
  }
  return std::unique_ptr<SystemExecutor>(new SystemExecutor(std::make_unique<Machine>(std::move(*loop), options)));
}

SystemExecutor::SystemExecutor(std::unique_ptr<Machine> machine) noexcept : machine_(std::move(machine)) {}
SystemExecutor::~SystemExecutor() = default;

void SystemExecutor::post(Job& job) noexcept {
  machine_->post(job);
}
void SystemExecutor::offload(Job& job) noexcept {
  if (!machine_->offloaded.post(job)) {
    machine_->post(job);  // no thread to be had: late is better than never
  }
}
TimePoint SystemExecutor::now() const noexcept {
  return Machine::now();
}
void SystemExecutor::start_timer(Timer& timer, TimePoint due) noexcept {
  if (machine_->timers.start(timer, due) && machine_->is_asleep()) {
    machine_->loop->set_alarm(due);
  }
}
void SystemExecutor::cancel_timer(Timer& timer) noexcept {
  machine_->timers.cancel(timer);
}
bool SystemExecutor::has_ready_work() const noexcept {
  return machine_->queued.load(std::memory_order_relaxed) != 0;
}
void SystemExecutor::wait(const Latch& latch) noexcept {
  latch.block();
}
void SystemExecutor::add(EventSource& source) {
  machine_->sources.add(source);
  machine_->wake();
}
void SystemExecutor::remove(EventSource& source) noexcept {
  machine_->sources.remove(source);
}
void SystemExecutor::wake() noexcept {
  machine_->wake();
}

}  // namespace ferry::system
