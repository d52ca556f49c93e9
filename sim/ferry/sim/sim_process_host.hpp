// SimProcessHost: the ProcessHost of one simulated process: a process that it starts is another island of the world.
// SimChild: the handle of one.
//
// Owner: the Process. One thread. A child whose parent has died is killed soon after.
#pragma once

#include <cstdint>
#include <memory>

#include <ferry/process/process_host.hpp>
#include <ferry/sim/step.hpp>

namespace ferry::sim {

class Process;

class SimProcessHost final : public ProcessHost {
 public:
  explicit SimProcessHost(Process& process) noexcept : process_(process) {}

  // program: empty for the parent's own Entry, else a name given to World::add_program; spawn_failed for others.
  Result<std::unique_ptr<ChildProcess>> start(const SpawnRequest& request, ChildEvents& events) override;

 private:
  Process& process_;
};

class SimChild final : public ChildProcess {
 public:
  SimChild(Process& child, ChildEvents& events) noexcept;
  ~SimChild() override;

  std::int64_t pid() const noexcept override;
  void kill() noexcept override;

  // The child has ended; the parent is told in a step of its own.
  void ended() noexcept;

 private:
  struct News : Step {
    explicit News(SimChild* owner) noexcept : Step(&SimChild::tell), child(owner) {}
    SimChild* child;
  };

  static void tell(Step& step) noexcept;

  Process& child_;
  ChildEvents& events_;
  News news_;
};

}  // namespace ferry::sim
