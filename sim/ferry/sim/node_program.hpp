// NodeProgram: a simulated process that runs a node as real programs do: the root its main task, children their
// parent's orders. Made of the same NodeStack as a real process; executor, fabric, log and process host are the
// simulator's.
//
// Owner: the Process. Ends its process when the main task has ended (status: what it returned), or the parent asks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ferry/base/root_task.hpp>
#include <ferry/mesh/node_stack.hpp>
#include <ferry/mesh/proc_mesh.hpp>
#include <ferry/sim/process.hpp>

namespace ferry::sim {

class NodeProgram final : public Program {
 public:
  // The root's task; the Context is its node's. Called in the process's first step.
  using Main = std::function<Task<int>(Context&)>;

  NodeProgram(Process& process, std::vector<ActorClass> classes, Main main);
  ~NodeProgram() override;

  std::string waits_for() const override;
  const Actor* find_actor(ActorId id) const noexcept override { return stack_.actors().peek(id); }

 private:
  Task<int> run();
  static void done(ferry::detail::RootTask<int>& root, void* user) noexcept;

  Process& process_;
  const Main main_;
  NodeStack stack_;
  Context context_;
  Strand strand_;
  std::optional<ferry::detail::RootTask<int>> root_;
};

// An Entry that makes NodePrograms: a process that the world starts runs `main`, one that a process spawned serves it.
Entry node_entry(std::vector<ActorClass> classes, NodeProgram::Main main);

}  // namespace ferry::sim
