#include <ferry/sim/sim_executor.hpp>

#include <utility>

namespace ferry::sim {

SimExecutor::SimExecutor(Scheduler& scheduler, ProcessNumber process, CannotWait cannot_wait)
    : Executor(1), scheduler_(scheduler), process_(process), cannot_wait_(std::move(cannot_wait)) {}

void SimExecutor::halt() noexcept {
  if (!std::exchange(halted_, true)) {
    dropped_ = scheduler_.drop(process_);
  }
}

void SimExecutor::bury() noexcept {
  buried_ = true;
  for (Job* job : std::exchange(dropped_, {})) {
    job->discard();
  }
}

void SimExecutor::end() noexcept {
  halted_ = true;
  buried_ = true;
  scheduler_.drop(process_);
}

void SimExecutor::post(Job& job) noexcept {
  if (!halted_) {
    scheduler_.post(process_, job);
  } else if (buried_) {
    job.discard();
  } else {
    dropped_.push_back(&job);
  }
}

void SimExecutor::offload(Job& job) noexcept {
  job.run();
}

void SimExecutor::start_timer(Timer& timer, TimePoint due) noexcept {
  if (!halted_) {
    scheduler_.start_timer(process_, timer, clock_.world(due));
  }
}

void SimExecutor::set_drift(std::int64_t millionths) {
  const ProcessClock before = clock_;
  clock_.set_drift(scheduler_.now(), millionths);
  scheduler_.retime(process_, [this, &before](TimePoint due) { return clock_.world(before.local(due)); });
}

void SimExecutor::wait(const Latch& latch) noexcept {
  if (const Scheduler::End end = scheduler_.run(&latch); end != Scheduler::End::set) {
    cannot_wait_(end);
  }
}

}  // namespace ferry::sim
