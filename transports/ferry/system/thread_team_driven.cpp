// A team without threads: a foreign event loop calls drive() when the descriptor is readable. In between the caller
// counts as an executor thread that sits in the event loop.
#include <poll.h>

#include <utility>

#include <ferry/system/thread_team.hpp>

namespace ferry::system {
namespace {

// Of one call, so that the foreign loop gets its turn: rounds of polling, and jobs in a round.
constexpr int kRounds = 16;
constexpr int kJobsPerRound = 64;

// A latch that another thread sets wakes nobody who waits for the descriptor.
constexpr int kLatchCheckMilliseconds = 5;

}  // namespace

void ThreadTeam::begin_driven() noexcept {
  sitter_.store(Sitter::executor);
  asleep_.store(true);
  idle_.store(kInLoop);
}

bool ThreadTeam::drive() noexcept {
  Worker& worker = *workers_.front();
  Worker* const outer = std::exchange(current_worker(), &worker);
  EventLoop::Woken woken;
  loop_->wait(false, woken);
  sources_.fired({woken.ids.data(), woken.count});
  stop_sitting();
  bool any = false;
  bool busy = true;
  std::uint64_t seen = 0;
  while (!take_lead(SourceSet::Leader::executor)) {
  }
  for (int round = 0; busy && round < kRounds; ++round) {
    seen = requests_.load();
    busy = poll_once();
    polls_.store(polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    Job* job = nullptr;
    for (int count = 0; count < kJobsPerRound && (job = next_job(worker)) != nullptr; ++count) {
      run_job(worker, *job);
      busy = true;
    }
    any |= busy;
  }
  sitter_.store(Sitter::executor);
  asleep_.store(true);
  idle_.fetch_add(kInLoop - kLooking);
  if (!busy && sources_.prepare_to_sleep() && requests_.load() == seen && injector_.empty()) {
    loop_->set_alarm(timers_.next_due());
  } else {
    loop_->kick();  // the descriptor stays readable
  }
  sources_.stop_leading();
  current_worker() = outer;
  return any;
}

void ThreadTeam::wait_driven(const Latch& latch) noexcept {
  while (!latch.is_set()) {
    drive();
    pollfd ready{loop_->descriptor(), POLLIN, 0};
    if (!latch.is_set()) {
      ::poll(&ready, 1, kLatchCheckMilliseconds);
    }
  }
}

}  // namespace ferry::system
