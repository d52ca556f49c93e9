// SimExecutor: the Executor of one simulated process. Its jobs, timers and clock are the world's.
//
// A job is one step; a strand runs one of its jobs per step. offload() runs the job in place, in no virtual time;
// wait() runs the rest of the world meanwhile. After halt() nothing that was queued runs any more. Owner: the Process.
// One thread, the world's.
#pragma once

#include <functional>
#include <vector>

#include <ferry/base/executor.hpp>
#include <ferry/sim/process_clock.hpp>
#include <ferry/sim/scheduler.hpp>

namespace ferry::sim {

class SimExecutor final : public Executor {
 public:
  // cannot_wait: told when a wait() can never end, with the reason; must not return.
  using CannotWait = std::function<void(Scheduler::End)>;

  SimExecutor(Scheduler& scheduler, ProcessNumber process, CannotWait cannot_wait);

  // The process was killed, or the world is given up: its jobs and timers, and those to come, do not run. The jobs are
  // kept until bury(), which discards them: they may own memory.
  void halt() noexcept;
  void bury() noexcept;
  // The process has exited: nothing of it is left but what it forgot.
  void end() noexcept;

  const ProcessClock& clock() const noexcept { return clock_; }
  // Timers that are started keep the moment of this clock at which they fire, but for a nanosecond or two.
  void set_drift(std::int64_t millionths);

  void post(Job& job) noexcept override;
  void offload(Job& job) noexcept override;
  // The process's own clock shows it; timers are of that clock too.
  TimePoint now() const noexcept override { return clock_.local(scheduler_.now()); }
  void start_timer(Timer& timer, TimePoint due) noexcept override;
  void cancel_timer(Timer& timer) noexcept override { scheduler_.cancel_timer(timer); }
  bool has_ready_work() const noexcept override { return scheduler_.has_ready(); }
  void wait(const Latch& latch) noexcept override;

 private:
  Scheduler& scheduler_;
  const ProcessNumber process_;
  ProcessClock clock_;
  CannotWait cannot_wait_;
  std::vector<Job*> dropped_;
  bool buried_ = false;
};

}  // namespace ferry::sim
