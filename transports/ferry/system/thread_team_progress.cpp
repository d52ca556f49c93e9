// The progress thread: never runs a job. While it ticks it looks whether anybody polls; where nobody can, it leads.
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>

#include <ferry/base/check.hpp>
#include <ferry/system/thread_team.hpp>

namespace ferry::system {
namespace {

constexpr long kTickNanoseconds = 1'000'000;

}  // namespace

void ThreadTeam::set_tick(bool on) noexcept {
  itimerspec spec{};
  if (on) {
    spec.it_value.tv_nsec = kTickNanoseconds;
    spec.it_interval.tv_nsec = kTickNanoseconds;
  }
  tick_changes_.fetch_add(1, std::memory_order_relaxed);
  FERRY_CHECK(::timerfd_settime(tick_.get(), 0, &spec, nullptr) == 0);
}

void ThreadTeam::wait_for_tick() noexcept {
  std::uint64_t expirations = 0;
  while (::read(tick_.get(), &expirations, sizeof expirations) < 0) {
    FERRY_CHECK(errno == EINTR);
  }
  ticks_.fetch_add(1, std::memory_order_relaxed);
}

void ThreadTeam::keep_ticking() noexcept {
  if (!ticking_.load() && !ticking_.exchange(true)) {
    set_tick(true);
  }
}

void ThreadTeam::stop_ticking() noexcept {
  set_tick(false);
  ticking_.store(false);
  // Whoever needed the tick meanwhile saw that it was on.
  if (!is_covered() || has_waiting_jobs()) {
    keep_ticking();
  }
}

bool ThreadTeam::has_waiting_jobs() const noexcept {
  for (const auto& worker : workers_) {
    if (worker->ring.size() > 0) {
      return true;
    }
  }
  return false;
}

// Jobs that wait behind one that has run since the last tick; `started` is the count of each worker at that time.
bool ThreadTeam::has_stuck_jobs(std::vector<std::uint64_t>& started) const noexcept {
  bool stuck = false;
  for (const auto& worker : workers_) {
    const std::uint64_t count = worker->started.load(std::memory_order_relaxed);
    stuck |= worker->ring.size() > 0 && started[worker->index] == count;
    started[worker->index] = count;
  }
  return stuck;
}

void ThreadTeam::run_progress() noexcept {
  std::vector<std::uint64_t> started(workers_.size());
  std::uint64_t polls = 0;
  for (;;) {
    wait_for_tick();
    if (stopping_.load()) {
      return;
    }
    if (has_stuck_jobs(started) && wants_wake(idle_.load())) {
      wake_one();
    }
    if (is_covered()) {
      if (!has_waiting_jobs()) {
        stop_ticking();
      }
      continue;
    }
    const bool stands_still = polls_.load() == polls;
    if (stands_still && wants_wake(idle_.load())) {
      wake_one();  // it will lead
    } else if (stands_still || timers_.next_due() <= now()) {
      lead_as_progress();
    }
    polls = polls_.load();
  }
}

// Until an executor thread polls, or could.
void ThreadTeam::lead_as_progress() noexcept {
  const std::uint64_t polls = polls_.load();
  while (polls_.load() == polls && !stopping_.load() && take_lead(SourceSet::Leader::progress)) {
    const std::uint64_t seen = requests_.load();
    const bool busy = poll_once();
    progress_polls_.fetch_add(1, std::memory_order_relaxed);
    const bool sits = !busy && prepare_to_sit_as_progress(seen);
    sources_.stop_leading();
    if (sits) {
      if (idle_.load() == 0) {
        sit();
      }
      sitter_.store(Sitter::nobody);
    }
    if (const std::uint32_t idle = idle_.load(); idle != 0) {
      if (wants_wake(idle)) {
        wake_one();
      }
      return;
    }
  }
}

bool ThreadTeam::prepare_to_sit_as_progress(std::uint64_t seen) noexcept {
  Sitter nobody = Sitter::nobody;
  progress_kicked_.store(false);
  if (!sitter_.compare_exchange_strong(nobody, Sitter::progress)) {
    return false;
  }
  asleep_.store(true);
  if (sources_.prepare_to_sleep() && requests_.load() == seen && !stopping_.load()) {
    loop_->set_alarm(timers_.next_due());
    return true;
  }
  asleep_.store(false);
  sitter_.store(Sitter::nobody);
  return false;
}

void ThreadTeam::make_progress_leave() noexcept {
  if (!progress_kicked_.exchange(true)) {
    loop_->kick();
  }
}

}  // namespace ferry::system
