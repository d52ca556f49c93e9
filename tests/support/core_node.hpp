// CoreNode<E>: a node on an executor of the test (ManualExecutor, ThreadExecutor): its own memory and actors, and a
// fake transport toward others. For tests of core that link nothing else; local_node.hpp has it on real threads.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <ferry/base/block_on.hpp>
#include <ferry/base/random.hpp>
#include <ferry/mesh/proc_mesh.hpp>
#include <ferry/transport/local_transport.hpp>

#include <collecting_log.hpp>
#include <fake_transport.hpp>

namespace ferry::test {

// A host on which no process can be started.
class NoProcessHost final : public ProcessHost {
 public:
  Result<std::unique_ptr<ChildProcess>> start(const SpawnRequest&, ChildEvents&) override {
    return Failure(errc::spawn_failed, "this test starts no processes");
  }
};

// How a CoreNode comes by its executor.
template <class E>
struct NewExecutor {
  static std::unique_ptr<E> make() { return std::make_unique<E>(); }
};

template <class E>
class CoreNode {
 public:
  template <class... T>
  explicit CoreNode(ActorList<T...> actors, const NodeLimits& limits = {}, ProcessHost* host = nullptr)
      : stack_(std::make_unique<NodeStack>(NodeStack::Parts{*executor_, log_, host == nullptr ? no_host_ : *host,
                                                            Bootstrap{{}, ProcessId{1, 7}, "test", {}, "local", limits},
                                                            actors.classes(), [this] { return random_.next(); }})) {
    stack_->core().add_transport(std::make_unique<LocalTransport>(stack_->core()));
    auto fake = std::make_unique<FakeTransport>(TransportId::tcp);
    fake_ = fake.get();
    stack_->core().add_transport(std::move(fake));
    stack_->start().value();
  }
  CoreNode() : CoreNode(ferry::actors<>) {}
  ~CoreNode() { stack_->shut_down(); }

  Context context() { return Context(*stack_); }
  NodeCore& core() { return stack_->core(); }
  NodeStack& stack() { return *stack_; }
  E& executor() { return *executor_; }
  CollectingLog& log() { return log_; }
  FakeTransport& fake() { return *fake_; }
  // Another process, reached through the fake transport.
  Peer& other(std::uint64_t id = 2) { return core().peers().find_or_add(ProcessId{id, 1}); }

  template <class T>
  T run(Task<T> task) {
    return block_on(*executor_, &stack_->core(), std::move(task));
  }

 private:
  const std::unique_ptr<E> executor_ = NewExecutor<E>::make();
  Random random_{42};
  CollectingLog log_;
  NoProcessHost no_host_;
  FakeTransport* fake_ = nullptr;
  std::unique_ptr<NodeStack> stack_;
};

}  // namespace ferry::test
