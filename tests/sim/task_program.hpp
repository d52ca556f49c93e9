// TaskProgram: a simulated process whose program is one coroutine; what the simulator's own tests run.
// Board: memory that all processes of a test see, to hand over references without messages. Test code only.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ferry/base/root_task.hpp>
#include <ferry/base/sleep.hpp>
#include <ferry/base/start.hpp>
#include <ferry/base/strand.hpp>
#include <ferry/base/task.hpp>
#include <ferry/buffer/buffer_ref.hpp>
#include <ferry/buffer/rdma_buffer.hpp>
#include <ferry/sim/process.hpp>
#include <ferry/sim/world.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry::sim::test {

using namespace std::chrono_literals;

// A process with a node: what a main task sees.
class Island {
 public:
  explicit Island(Process& process)
      : process_(process),
        node_(process.executor(), process.log(), process.bootstrap().self, process.bootstrap().name,
              process.bootstrap().secret, process.bootstrap().limits) {
    process.add_transport(node_);
    node_.transports().front()->listen().value();
  }

  Process& process() noexcept { return process_; }
  NodeCore& node() noexcept { return node_; }
  World& world() noexcept { return process_.world(); }
  Executor& executor() noexcept { return process_.executor(); }

 private:
  Process& process_;
  NodeCore node_;
};

class TaskProgram final : public Program {
 public:
  using Main = std::function<Task<void>(Island&)>;

  TaskProgram(Process& process, const Main& main)
      : island_(process),
        strand_(process.executor(), &island_.node()),
        root_(strand_, main(island_), &TaskProgram::done, this) {
    root_.post();
  }

  std::string waits_for() const override { return "its main task has not ended"; }

 private:
  static void done(ferry::detail::RootTask<void>& root, void* user) noexcept {
    Process& process = static_cast<TaskProgram*>(user)->island_.process();
    try {
      root.take();
      process.exit(0);
    } catch (...) {
      process.exit(1, describe_exception(std::current_exception(), 4096));
    }
  }

  Island island_;
  Strand strand_;
  ferry::detail::RootTask<void> root_;
};

// main: a plain function or lambda that calls a coroutine; captures live as long as the Entry.
inline Entry run_task(TaskProgram::Main main) {
  return [main = std::move(main)](Process& process) { return std::make_unique<TaskProgram>(process, main); };
}

struct Board {
  struct Posted {
    Contact owner;
    RemoteRegion region;
  };
  std::map<std::string, Posted> references;
  std::map<std::string, std::uint64_t> numbers;

  void post(const std::string& name, Island& process, const RDMABuffer& buffer) {
    references[name] = {process.node().contact(), buffer.ref().region()};
  }
  bool has(const std::string& name) const { return references.contains(name); }
  BufferRef get(const std::string& name, Island& process) const {
    const Posted& posted = references.at(name);
    return BufferRef(process.node().peers().find_or_add(posted.owner), posted.region);
  }
};

// The posted reference, once it is there.
inline Task<BufferRef> wait_for(Board& board, std::string name, Island& process) {
  while (!board.has(name)) {
    co_await sleep_for(10us);
  }
  co_return board.get(name, process);
}

// Fails the process, and so the world, unless the condition holds.
inline void require(bool condition, const std::string& what) {
  if (!condition) {
    throw std::runtime_error(what);
  }
}

}  // namespace ferry::sim::test
