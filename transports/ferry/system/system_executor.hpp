// SystemExecutor: the Executor and Reactor of real programs: executor threads that run jobs, and poll when idle; one
// progress thread that polls and fires timers while jobs keep them all busy, and never runs a job.
//
// Owner: the Node's composer. Every function may be called from any thread. Before it is destroyed every posted job
// has run, every timer is cancelled or fired and every source removed: anything else is a bug of ferry and aborts.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <ferry/base/executor.hpp>
#include <ferry/base/result.hpp>
#include <ferry/transport/reactor.hpp>

namespace ferry::system {

class OffloadPool;
class ThreadTeam;

struct SystemExecutorOptions {
  // Executor threads. 0: as many as the process may use cores, but at most 4.
  unsigned threads = 0;
  // How long an idle thread polls before it sleeps.
  Duration spin = std::chrono::microseconds(50);
  // Threads for offload() at most. They are started as they are needed; jobs beyond wait for one of them.
  std::size_t offload_threads = 64;
  // No executor threads and no progress thread: everything happens inside poll(), which a foreign event loop calls
  // when fd() is readable. Nothing of this process is served in between.
  bool driven_from_outside = false;
};

// What an executor has done since it was made. For tests and measurements; read without stopping anything.
struct SystemExecutorStats {
  std::uint64_t jobs = 0;            // run by executor threads
  std::uint64_t stolen = 0;          // of them taken from another thread's queue
  std::uint64_t polls = 0;           // passes over all sources by executor threads
  std::uint64_t progress_polls = 0;  // by the progress thread
  std::uint64_t ticks = 0;           // of the progress thread

  // System calls.
  std::uint64_t loop_waits = 0;   // epoll_wait
  std::uint64_t loop_kicks = 0;   // writes of the eventfd
  std::uint64_t loop_arms = 0;    // epoll_ctl of sources
  std::uint64_t loop_alarms = 0;  // timerfd_settime
  std::uint64_t parks = 0;        // of a thread beside the event loop
  std::uint64_t unparks = 0;
  std::uint64_t tick_changes = 0;  // starting and stopping the tick

  // Those that wake a thread.
  std::uint64_t wakes() const noexcept { return loop_kicks + unparks; }
};

class SystemExecutor final : public Executor, public Reactor {
 public:
  // resource_exhausted if the system gives no descriptor or thread.
  static Result<std::unique_ptr<SystemExecutor>> create(const SystemExecutorOptions& options = {});
  ~SystemExecutor() override;

  void post(Job& job) noexcept override;
  void offload(Job& job) noexcept override;
  TimePoint now() const noexcept override;
  void start_timer(Timer& timer, TimePoint due) noexcept override;
  void cancel_timer(Timer& timer) noexcept override;
  bool has_ready_work() const noexcept override;
  void wait(const Latch& latch) noexcept override;

  void add(EventSource& source) override;
  void remove(EventSource& source) noexcept override;
  void wake() noexcept override;

  // For a foreign event loop, if driven_from_outside: readable when poll() has something to do. Owned by the executor.
  int fd() const noexcept;
  // Polls, fires timers and runs jobs for a bounded time; true if it did anything. One thread at a time, and not
  // from inside a job. Only if driven_from_outside.
  bool poll() noexcept;

  SystemExecutorStats stats() const noexcept;

 private:
  SystemExecutor(std::unique_ptr<ThreadTeam> team, const SystemExecutorOptions& options);

  std::unique_ptr<ThreadTeam> team_;
  std::unique_ptr<OffloadPool> offloaded_;  // after team_: its jobs post to the team
};

}  // namespace ferry::system
