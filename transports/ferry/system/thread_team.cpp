#include <ferry/system/thread_team.hpp>

#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>

#include <ferry/base/check.hpp>
#include <ferry/system/thread_setup.hpp>

namespace ferry::system {
namespace {

using namespace std::chrono_literals;

// A thread that runs jobs back to back polls once in this many.
constexpr std::uint32_t kJobsPerPoll = 64;

// So many passes without a pause first: an answer may come at any moment. More than nine in ten waits that end by
// something in a run of calls, over shm or tcp, end within them (in four passes on average), and behind them a pause is
// a tenth of a pass: neither four times as many nor none at all show in a call's time. What idling costs does not
// depend on it, as a spin is bounded by time; the pauses leave the core to its other hardware thread meanwhile.
constexpr std::uint32_t kPassesWithoutPause = 16;

// The only job in a busy thread's queue is left to that thread for this long: it mostly runs it next, and hot.
constexpr Duration kStealAfter = 1us;

constexpr unsigned kDefaultThreads = 4;

unsigned usable_cores() noexcept {
  cpu_set_t set;
  const bool known = ::sched_getaffinity(0, sizeof set, &set) == 0;
  return known ? static_cast<unsigned>(CPU_COUNT(&set)) : std::max(1U, std::thread::hardware_concurrency());
}

void relax_core() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

}  // namespace

TimePoint ThreadTeam::now() noexcept {
  return TimePoint(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}

ThreadTeam::Worker*& ThreadTeam::current_worker() noexcept {
  constinit thread_local static Worker* worker = nullptr;
  return worker;
}

ThreadTeam::ThreadTeam(std::unique_ptr<EventLoop> loop, FileDescriptor tick, const SystemExecutorOptions& options)
    : loop_(std::move(loop)),
      tick_(std::move(tick)),
      spin_time_(options.spin),
      driven_(options.driven_from_outside),
      sources_(*loop_) {
  const unsigned wanted = options.threads == 0 ? std::min(kDefaultThreads, usable_cores()) : options.threads;
  const std::size_t count = driven_ ? 1 : std::min<std::size_t>(wanted, kMaxWorkers);
  for (std::size_t i = 0; i < count; ++i) {
    workers_.push_back(std::make_unique<Worker>(*this, i, count));
  }
  parked_.reserve(count);
  if (driven_) {
    begin_driven();
    return;
  }
  try {
    for (const auto& worker : workers_) {
      threads_.push_back(start_thread("ferry-executor", [this, &worker = *worker] { run_executor(worker); }));
    }
    threads_.push_back(start_thread("ferry-progress", [this] { run_progress(); }));
  } catch (...) {
    stop();
    throw;
  }
}

ThreadTeam::~ThreadTeam() {
  stop();
  FERRY_CHECK(injector_.empty() && !has_waiting_jobs());
}

void ThreadTeam::stop() noexcept {
  stopping_.store(true);
  while (wake_one()) {
  }
  loop_->kick();  // whoever sits or is about to
  set_tick(true);
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void ThreadTeam::post(Job& job) noexcept {
  Worker* worker = current_worker();
  if (worker != nullptr && &worker->team == this && worker->ring.push(job)) {
    if (wants_wake(idle_.load())) {
      wake_for_local_job(*worker);
    }
    return;
  }
  injector_.push(job);
  if (wants_wake(idle_.load())) {
    wake_one();
  }
}

// The poster will mostly come to its job itself. Whether a wake is worth its price shows in what the last ones did;
// while none is given, the tick looks after jobs that are stuck behind a long one.
void ThreadTeam::wake_for_local_job(Worker& worker) noexcept {
  if (worker.ring.size() < 2 && worker.quiet_posts > 0) {
    --worker.quiet_posts;
    keep_ticking();
    return;
  }
  constexpr std::uint32_t kMostDoublings = 16;
  worker.quiet_posts = (1U << std::min(wasted_wakes_.load(std::memory_order_relaxed), kMostDoublings)) - 1;
  wake_one();
}

bool ThreadTeam::has_ready_work() const noexcept {
  const Worker* worker = current_worker();
  return (worker != nullptr && &worker->team == this && !worker->ring.seems_empty()) || !injector_.seems_empty();
}

void ThreadTeam::wait(const Latch& latch) noexcept {
  Worker* worker = current_worker();
  const bool inside = worker != nullptr && &worker->team == this;
  if (driven_ && !inside) {
    wait_driven(latch);
    return;
  }
  if (inside && worker->ring.size() > 0) {
    wake_one();  // for the jobs that this thread will not come to
  }
  latch.block();
}

void ThreadTeam::run_executor(Worker& worker) noexcept {
  current_worker() = &worker;
  while (Job* job = look_for_job(worker)) {
    run_jobs(worker, *job);
  }
  current_worker() = nullptr;
}

void ThreadTeam::run_jobs(Worker& worker, Job& first) noexcept {
  cover_sources();
  for (Job* job = &first; job != nullptr; job = next_job(worker)) {
    run_job(worker, *job);
    if (++worker.since_poll == kJobsPerPoll) {
      worker.since_poll = 0;
      poll_between_jobs();
    }
  }
}

void ThreadTeam::run_job(Worker& worker, Job& job) noexcept {
  worker.started.store(worker.started.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  job.run();
}

// What a thread that runs jobs takes next. Every kJobsPerPoll jobs those from outside go first.
Job* ThreadTeam::next_job(Worker& worker) noexcept {
  if (worker.since_poll == 0) {
    if (Job* job = injector_.take(worker.ring, workers_.size())) {
      return job;
    }
  }
  Job* job = worker.ring.pop();
  return job != nullptr ? job : injector_.take(worker.ring, workers_.size());
}

Job* ThreadTeam::find_job(Worker& worker, TimePoint at) noexcept {
  Job* job = next_job(worker);
  return job != nullptr ? job : steal(worker, at);
}

Job* ThreadTeam::steal(Worker& worker, TimePoint at) noexcept {
  for (std::size_t i = 1; i < workers_.size(); ++i) {
    Worker& victim = *workers_[(worker.index + i) % workers_.size()];
    Worker::Seen& seen = worker.seen[victim.index];
    const std::uint32_t waiting = victim.ring.size();
    const std::uint64_t started = victim.started.load(std::memory_order_relaxed);
    if (waiting == 0 || (waiting == 1 && started != seen.started)) {
      seen = {started, at};
      continue;
    }
    if (waiting == 1 && at - seen.since < kStealAfter) {
      continue;
    }
    std::array<Job*, RunRing::kSteal> jobs;
    const std::uint32_t count = victim.ring.steal(jobs);
    if (count > 0) {
      worker.stolen.store(worker.stolen.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
      for (std::uint32_t job = 1; job < count; ++job) {
        const bool fits = worker.ring.push(*jobs[job]);
        FERRY_CHECK(fits);  // a thief's own queue was empty
      }
      return jobs[0];
    }
  }
  return nullptr;
}

// Null: the team stops.
Job* ThreadTeam::look_for_job(Worker& worker) noexcept {
  idle_.fetch_add(kLooking);
  Job* job = nullptr;
  while (job == nullptr && !stopping_.load(std::memory_order_relaxed)) {
    if (take_lead(SourceSet::Leader::executor)) {
      job = lead(worker);
    } else {
      job = find_job(worker, now());
      if (job == nullptr && sources_.leader() == SourceSet::Leader::progress) {
        std::this_thread::yield();  // it makes room after one pass
      } else if (job == nullptr) {
        park(worker);
      }
    }
  }
  stop_looking(worker, job != nullptr);
  return job;
}

// The calling thread leads, and no longer does when it returns: with a job, or after a sleep.
Job* ThreadTeam::lead(Worker& worker) noexcept {
  TimePoint at = now();
  TimePoint since = at;
  TimePoint until = at + spin_time_.next(at);
  for (std::uint32_t pass = 1;; ++pass) {
    const std::uint64_t seen = requests_.load();
    const TimePoint before = at;
    bool busy = sources_.poll();
    if (!busy) {
      at = now();  // what came is not kept waiting for the clock
    }
    busy |= fire_timers(at);
    polls_.store(polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    Job* job = find_job(worker, at);
    if (busy || job != nullptr) {
      spin_time_.found(before - since);
    }
    if (job != nullptr || stopping_.load(std::memory_order_relaxed)) {
      sources_.stop_leading();
      return job;
    }
    if (busy) {
      since = at = now();
      until = at + spin_time_.next(at);
    } else if (at >= until) {
      spin_time_.in_vain(at);
      if (fall_asleep(worker, seen)) {
        return nullptr;
      }
    }
    if (pass > kPassesWithoutPause) {
      relax_core();
    }
  }
}

bool ThreadTeam::fire_timers(TimePoint at) noexcept {
  return timers_.next_due() <= at && timers_.fire(at) > 0;
}

bool ThreadTeam::poll_once() noexcept {
  const bool busy = sources_.poll();
  return fire_timers(now()) || busy;
}

// Whoever runs short jobs without end serves the sources as well; nobody has to be woken for it.
void ThreadTeam::poll_between_jobs() noexcept {
  if (!sources_.try_lead(SourceSet::Leader::executor)) {
    return;
  }
  if (!is_covered()) {
    asleep_.store(false);
    poll_once();
    polls_.store(polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  sources_.stop_leading();
  cover_sources();
}

SystemExecutorStats ThreadTeam::stats() const noexcept {
  const auto read = [](const std::atomic<std::uint64_t>& counter) { return counter.load(std::memory_order_relaxed); };
  SystemExecutorStats stats;
  for (const auto& worker : workers_) {
    stats.jobs += read(worker->started);
    stats.stolen += read(worker->stolen);
  }
  stats.polls = read(polls_);
  stats.progress_polls = read(progress_polls_);
  stats.ticks = read(ticks_);
  stats.loop_waits = read(loop_->counts().waits);
  stats.loop_kicks = read(loop_->counts().kicks);
  stats.loop_arms = read(loop_->counts().arms);
  stats.loop_alarms = read(loop_->counts().alarms);
  stats.parks = read(parks_);
  stats.unparks = read(unparks_);
  stats.tick_changes = read(tick_changes_);
  return stats;
}

}  // namespace ferry::system
