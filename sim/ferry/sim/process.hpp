// Process: one life of a simulated process: an island in the OS process, with its own executor, port and memory.
//
// Its Program makes the NodeCore, if it wants one, of executor(), log(), bootstrap() and add_transport().
// Owner: the World, until the world ends, so that references to it stay valid after its death. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <ferry/process/process_host.hpp>
#include <ferry/sim/program.hpp>
#include <ferry/sim/sim_executor.hpp>
#include <ferry/sim/sim_log.hpp>
#include <ferry/sim/sim_process_host.hpp>
#include <ferry/transport/node_core.hpp>

namespace ferry::sim {

class SimChild;
class World;

class Process {
 public:
  enum class State : std::uint8_t { starting, running, exited, killed };

  // parent: null for those that the world starts itself.
  Process(World& world, Process* parent, ProcessNumber number, Port port, Host host, Bootstrap bootstrap, Entry entry);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  World& world() const noexcept { return world_; }
  ProcessNumber number() const noexcept { return number_; }
  Port port() const noexcept { return port_; }
  Host host_in_world() const noexcept { return host_in_world_; }
  const std::string& name() const noexcept { return bootstrap_.name; }
  State state() const noexcept { return state_; }
  bool is_alive() const noexcept { return state_ <= State::running; }
  Process* parent() const noexcept { return parent_; }
  const Entry& entry() const noexcept { return entry_; }

  // What its parent, or the world, told it. `parent` in it is empty for those that the world started.
  const Bootstrap& bootstrap() const noexcept { return bootstrap_; }

  // Adds this process's port on the fabric to a node, which must end no later than the Program. Once.
  void add_transport(NodeCore& node);

  SimExecutor& executor() noexcept { return executor_; }
  Log& log() noexcept { return log_; }
  ProcessHost& host() noexcept { return host_; }

  // Ends the process after the present step: its Program is destroyed. The first call counts.
  void exit(int status, std::string last_words = {}) noexcept;

  // Ends it now, as signal 9 does: nothing of it runs any more, its memory is gone for its peers, who notice after
  // their failure-detection time. A process that is running a step, perhaps this one, dies at the end of it.
  void kill() noexcept;

  // Of one that is not alive any more.
  const ProcessExit& how_ended() const noexcept { return exit_; }

  // Null while there is none: it was not constructed yet, has stopped, or the process is not alive.
  const Actor* find_actor(ActorId id) const noexcept {
    return is_alive() && program_ != nullptr ? program_->find_actor(id) : nullptr;
  }

  // "worker (process 3): …", what it waits for.
  std::string describe_waits() const;

 private:
  friend class World;
  friend class SimChild;
  struct Own : Step {
    Own(Function function, Process* owner) noexcept : Step(function), process(owner) {}
    Process* process;
  };

  static void begin(Step& step) noexcept;
  static void finish(Step& step) noexcept;
  static void follow_parent(Step& step) noexcept;
  void ended(const ProcessExit& exit) noexcept;
  void end_program() noexcept { program_.reset(); }

  World& world_;
  Process* const parent_;
  const ProcessNumber number_;
  const Port port_;
  const Host host_in_world_;
  const Bootstrap bootstrap_;
  const Entry entry_;
  State state_ = State::starting;
  SimExecutor executor_;
  ProcessLog log_;
  SimProcessHost host_;
  std::unique_ptr<Program> program_;
  SimChild* handle_ = nullptr;  // the parent's
  ProcessExit exit_{};
  Own begin_;
  Own finish_;
  Own follow_;
};

}  // namespace ferry::sim
