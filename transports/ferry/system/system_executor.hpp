// SystemExecutor: the Executor and Reactor of real programs: executor threads that run jobs, and poll when idle; one
// progress thread that polls and fires timers while jobs keep them all busy, and never runs a job.
//
// Owner: the Node's composer. Every function may be called from any thread. Before it is destroyed every posted job
// has run, every timer is cancelled or fired and every source removed: anything else is a bug of ferry and aborts.
#pragma once

#include <cstdint>
#include <memory>

#include <ferry/base/executor.hpp>
#include <ferry/base/result.hpp>
#include <ferry/transport/reactor.hpp>

namespace ferry::system {

struct SystemExecutorOptions {
  // Executor threads. 0: as many as the process may use cores, but at most 4.
  unsigned threads = 0;
  // How long an idle thread polls before it sleeps.
  Duration spin = std::chrono::microseconds(50);
  // Threads for offload() at most. They are started as they are needed; jobs beyond wait for one of them.
  std::size_t offload_threads = 64;
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

 private:
  class Machine;

  explicit SystemExecutor(std::unique_ptr<Machine> machine) noexcept;

  std::unique_ptr<Machine> machine_;
};

}  // namespace ferry::system
