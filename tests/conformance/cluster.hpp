// Cluster: a few nodes that reach each other over one kind of transport, as the scenarios of this suite see them.
//
// A scenario runs on a strand of node 0 and puts work onto others with on(). It sees nothing but the public API of core
// and what stands here, so that the same text runs on real threads and in the simulator. Owner: the ClusterKind that
// plays the scenario. Used on the scenario's strand, except where it says "any thread".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ferry/base/random.hpp>
#include <ferry/base/sleep.hpp>
#include <ferry/base/start.hpp>
#include <ferry/buffer/allocator.hpp>
#include <ferry/buffer/buffer_ref.hpp>
#include <ferry/mesh/proc_mesh.hpp>

#include "remote_task.hpp"

namespace ferry::conformance {

// What differs between the kinds of clusters, for the few scenarios that must know.
struct Traits {
  bool separate = true;          // each node is a process of its own; false: all of them are the same node
  bool threads = true;           // nodes run in parallel and time is real; false: simulated
  bool completes_inline = true;  // one-sided operations mostly end without suspending
  bool needs_owner = true;       // no one-sided operation ends while the owner's process is stopped
  bool tears_words = false;      // the kernel copies (contract: exempt from the promise on words)
  bool can_restart = false;      // stop() and restart()
  bool can_freeze = false;       // freeze() and thaw()
  // Who holds a key reaches what it is the key of, whatever else the reference says: hardware knows keys alone.
  bool owner_checks_generations = true;
  bool has_nic_atomics = false;
  // A transmitted write may complete before its owner has seen it; whether it is refused, only a flush can say.
  bool transmits_unseen = false;
};

class Cluster {
 public:
  virtual ~Cluster() = default;

  virtual const Traits& traits() const noexcept = 0;
  virtual std::size_t size() const noexcept = 0;

  // Any thread. Valid until the node is stopped.
  virtual Context context(std::size_t node) = 0;
  NodeCore& node(std::size_t node) { return context(node).node(); }

  // Ends this life of the node: its channels break. Not node 0.
  virtual void stop(std::size_t node) = 0;
  // A new life of a stopped node, at the same addresses; ends when it runs.
  virtual Task<void> restart(std::size_t node) = 0;

  // Nothing of the node runs from when freeze() returns until thaw() is called: as a stopped process. Only a node that
  // ScenarioOptions::freezable names.
  virtual void freeze(std::size_t node) = 0;
  virtual void thaw(std::size_t node) = 0;

  // The lines that the node has logged. Any thread.
  virtual std::vector<std::string> log_of(std::size_t node) = 0;

  // How often a revocation on that node has found a peer inside the memory and waited for it; none: nobody counts it.
  virtual std::optional<std::uint64_t> busy_revocations(std::size_t) { return std::nullopt; }

  // Runs the task on a strand of its own of that node; awaiting it gives its value.
  template <class T>
  OnNode<T> on(std::size_t node, Task<T> task) {
    return OnNode<T>(this->node(node), std::move(task));
  }

  // Memory of that node, of the kind that this cluster is about: reached by mapping, or any memory.
  template <class T>
  vector<T> memory(std::size_t node, std::size_t count, T value = T{}) {
    return vector<T>(count, value, Allocator<T>(shared_memory(node)));
  }
  virtual std::shared_ptr<SharedMemory> shared_memory(std::size_t node) = 0;

  // Seeded and printed when first used.
  Random& random();

 protected:
  explicit Cluster(std::uint64_t seed) noexcept : seed_(seed), random_(seed) {}

 private:
  const std::uint64_t seed_;
  Random random_;
  bool seed_told_ = false;
};

// Awaited in loops that look at memory again and again: others get their turn, and simulated time goes on.
inline Sleep between_looks(const Cluster& cluster) {
  return sleep_for(cluster.traits().threads ? Duration::zero() : Duration(std::chrono::microseconds(2)));
}

// The reference as it arrives at a node that was told about it.
BufferRef carry(const BufferRef& reference, NodeCore& to);
inline BufferRef carry(const BufferRef& reference, Cluster& cluster, std::size_t to) {
  return carry(reference, cluster.node(to));
}
template <class T>
ActorRef<T> carry(const ActorRef<T>& reference, Cluster& cluster, std::size_t to) {
  wire::Bytes bytes;
  wire::encode(bytes, reference);
  return wire::decode<ActorRef<T>>(wire::ByteView(bytes.data(), bytes.size()), &cluster.node(to)).value();
}

// Registered memory of one node with all of its references; the memory dies with it.
template <class T>
struct Shared {
  vector<T> values;
  RDMABuffer buffer;

  Shared(Cluster& cluster, std::size_t node, std::size_t count, T value = T{}, const RegisterOptions& options = {})
      : values(cluster.memory<T>(node, count, value)),
        buffer(cluster.context(node).register_memory(std::span(values), options)) {}
  Shared(Shared&&) = default;

  // As node `at` holds it.
  BufferRef ref(Cluster& cluster, std::size_t at, Access rights = Access::all) const {
    return carry(buffer.ref(rights), cluster, at);
  }
};

// An actor on a node, as node 0 refers to it.
template <class T, class... A>
Task<ActorRef<T>> spawn_on(Cluster& cluster, std::size_t node, std::string_view name, A... arguments);

namespace detail {
template <class T, class... A>
Task<ActorRef<T>> spawn_here(Context context, std::string name, A... arguments) {
  auto spawned = context.this_proc().spawn<T>(name, arguments...);
  const ActorMesh<T> mesh = co_await spawned;
  co_return mesh.only();
}
}  // namespace detail

template <class T, class... A>
Task<ActorRef<T>> spawn_on(Cluster& cluster, std::size_t node, std::string_view name, A... arguments) {
  auto spawned =
      cluster.on(node, detail::spawn_here<T>(cluster.context(node), std::string(name), std::move(arguments)...));
  const ActorRef<T> there = co_await spawned;
  co_return carry(there, cluster, 0);
}

}  // namespace ferry::conformance
