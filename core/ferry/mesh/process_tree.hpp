// ProcessTree: the processes that this one has started: their identities, their fates.
//
// Owner: the NodeStack. A child belongs to the tree until it has ended or the tree is destroyed, which kills it. Tasks
// run on the caller's strand; events come from any thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ferry/base/channel.hpp>
#include <ferry/base/task.hpp>
#include <ferry/mesh/shape.hpp>
#include <ferry/process/process_host.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry {

struct SpawnOptions {
  std::string_view program{};                // path; empty: this executable again
  std::span<const std::string> arguments{};  // for another program
  std::optional<Duration> timeout{};         // until a child has said hello; default NodeLimits::no_progress
};

class ProcessTree {
 public:
  // random: 64 random bits for each identity.
  ProcessTree(NodeCore& node, ProcessHost& host, std::string transports, std::function<std::uint64_t()> random);
  ~ProcessTree();

  // Starts a process per rank and waits until all have said hello. Throws MeshError (spawn_failed, timed_out): each
  // with what was run, exit status or signal, and the last lines of its stderr; those that did start are stopped again.
  Task<std::vector<Peer*>> spawn(Shape shape, SpawnOptions options);

  void on_hello(const Contact& child);

  // Asks the processes to end, waits, kills what has not ended within the failure-detection time.
  Task<void> stop(std::vector<Peer*> peers);
  Task<void> stop_all();

  // For reports, a phrase each: children that have not said hello. Only while nothing of the node runs.
  std::vector<std::string> describe_waits() const;

  // Kills what is left; blocks until it is gone.
  void clear() noexcept;

 private:
  struct Child;

  Task<Peer*> spawn_one(std::shared_ptr<Child> child, SpawnOptions options);
  Task<void> stop_one(std::shared_ptr<Child> child);
  std::shared_ptr<Child> find(ProcessId id);
  void forget(const Child& child);

  NodeCore& node_;
  ProcessHost& host_;
  const std::string transports_;
  const std::function<std::uint64_t()> random_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Child>> children_;
};

}  // namespace ferry
