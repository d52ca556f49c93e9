// NodeStack: one node of a job, as core composes it: NodeCore, actors, children. Both real programs (transports/run)
// and the simulator build their nodes from it; they differ in executor, transports, log and process host.
//
// Owner: the composer, which adds transports, then calls start(), runs, and calls shut_down() (or destroys it).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ferry/actor/actor_runtime.hpp>
#include <ferry/base/executor.hpp>
#include <ferry/mesh/process_tree.hpp>
#include <ferry/process/bootstrap.hpp>
#include <ferry/transport/node_core.hpp>

namespace ferry {

class NodeStack {
 public:
  struct Parts {
    Executor& executor;
    Log& log;
    ProcessHost& host;
    Bootstrap bootstrap;  // for a root: made by the composer, without a parent
    std::vector<ActorClass> classes;
    std::function<std::uint64_t()> random;  // 64 bits for identities
  };

  explicit NodeStack(Parts parts);
  ~NodeStack();
  NodeStack(const NodeStack&) = delete;
  NodeStack& operator=(const NodeStack&) = delete;

  NodeCore& core() noexcept { return core_; }
  ActorRuntime& actors() noexcept { return actors_; }
  const ActorRuntime& actors() const noexcept { return actors_; }
  ProcessTree& processes() noexcept { return processes_; }

  // Transports are added to core() before; starts listening. The first transport that fails ends it.
  Result<void> start();

  // A child's life: says hello to its parent, then ends when the parent asks for it or is gone. Throws Error when the
  // parent cannot be reached.
  Task<void> serve_parent();
  bool is_child() const noexcept { return static_cast<bool>(parent_.id); }
  void request_end() noexcept { static_cast<void>(end_.try_push(true)); }

  // "a call of Store::get at actor 7 of process 1f3/00c0ffee (worker/2); …": what the node waits for, as far as core
  // knows: calls, mailboxes, endpoints, notifications, children, the same ones counted ("3 x a call of …"); empty for
  // nothing. For reports, only while nothing of it runs.
  std::string describe_waits();

  // Stops children, then actors, each in order; to be awaited before shut_down() where there is time.
  Task<void> wind_down();

  // Ends actors, children, peers and transports; blocks until nothing runs. From outside the node's strands.
  // Idempotent.
  void shut_down() noexcept;

 private:
  const Contact parent_;
  NodeCore core_;
  const ActorClass node_actor_class_;
  ActorRuntime actors_;
  ProcessTree processes_;
  Channel<bool> end_;
  bool shut_down_ = false;
};

}  // namespace ferry
