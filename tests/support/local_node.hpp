// LocalNode: a real node without peers: executor threads, own memory, own actors. For tests of core above the
// transports.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ferry/base/block_on.hpp>
#include <ferry/mesh/proc_mesh.hpp>
#include <ferry/system/system_executor.hpp>
#include <ferry/transport/local_transport.hpp>

#include <core_node.hpp>

namespace ferry::test {

class LocalNode {
 public:
  template <class... T>
  explicit LocalNode(ActorList<T...> actors, const NodeLimits& limits = {})
      : executor_(system::SystemExecutor::create().value()),
        stack_(std::make_unique<NodeStack>(NodeStack::Parts{*executor_, log_, host_,
                                                            Bootstrap{{}, ProcessId{1, 7}, "test", {}, "local", limits},
                                                            actors.classes(), [this] { return random_.next(); }})) {
    stack_->core().add_transport(std::make_unique<LocalTransport>(stack_->core()));
    stack_->start().value();
  }
  LocalNode() : LocalNode(ferry::actors<>) {}
  ~LocalNode() { stack_->shut_down(); }

  Context context() { return Context(*stack_); }
  NodeCore& core() { return stack_->core(); }
  Executor& executor() { return *executor_; }
  CollectingLog& log() { return log_; }

  template <class T>
  T run(Task<T> task) {
    return block_on(*executor_, &stack_->core(), std::move(task));
  }

 private:
  Random random_{42};
  CollectingLog log_;
  NoProcessHost host_;
  std::unique_ptr<system::SystemExecutor> executor_;
  std::unique_ptr<NodeStack> stack_;
};

}  // namespace ferry::test
