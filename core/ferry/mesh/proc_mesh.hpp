// ProcMesh: processes that were started together; Host: where they can be started; Context: what a program's root gets.
//
// Values that point to the node's stack, which outlives them. A ProcMesh owns nothing: its processes live until stop()
// or the end of the node.
#pragma once

#include <concepts>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <ferry/buffer/rdma_buffer.hpp>
#include <ferry/mesh/actor_mesh.hpp>
#include <ferry/mesh/node_actor.hpp>
#include <ferry/mesh/node_stack.hpp>
#include <ferry/mesh/shape.hpp>

namespace ferry {

namespace detail {

// One constructor argument, encoded alone; string literals as strings.
template <class A>
std::vector<std::byte> encode_argument(const A& argument) {
  wire::Bytes bytes;
  if constexpr (std::convertible_to<const A&, std::string_view>) {
    wire::encode(bytes, std::string_view(argument));
  } else {
    wire::encode(bytes, argument);
  }
  return {bytes.begin(), bytes.end()};
}

}  // namespace detail

class ProcMesh {
 public:
  ProcMesh(NodeStack& stack, const Shape& shape, std::vector<Peer*> peers)
      : stack_(&stack), shape_(shape), peers_(std::move(peers)) {}

  const Shape& shape() const noexcept { return shape_; }
  std::size_t size() const noexcept { return peers_.size(); }
  Peer& peer(std::size_t rank) const { return *peers_[check_rank(rank, peers_.size())]; }

  // Those with this index in the named dimension.
  ProcMesh slice(std::string_view dimension, std::size_t index) const;

  // An actor of class T in each process, constructed from the arguments behind its context. The name is unique in each
  // process; empty for none. Throws MeshError: spawn_failed with the constructor's exception, no_such_actor_class, …;
  // those that were made are stopped again.
  template <std::derived_from<Actor> T, class... A>
  Task<ActorMesh<T>> spawn(std::string_view name, const A&... arguments) {
    static_assert(std::constructible_from<T, ActorContext&, const A&...>,
                  "the arguments of spawn behind the name do not fit a constructor of the actor class, which takes an "
                  "ActorContext& first");
    ActorSpec spec{std::string(wire::class_name<T>()), actor_fingerprint<T>(), std::string(name), {}};
    (spec.arguments.push_back(detail::encode_argument(arguments)), ...);
    return spawn_spec<T>(shape_, peers_, std::move(spec));
  }

  // Asks the processes to end and waits; kills those that do not.
  Task<void> stop() { return stack_->processes().stop(peers_); }

 private:
  template <class T>
  static Task<ActorMesh<T>> spawn_spec(Shape shape, std::vector<Peer*> peers, ActorSpec spec) {
    const std::string operation = fmt::format("spawn of {} \"{}\"", spec.class_name, spec.name);
    std::vector<Call<ActorId>> calls;
    for (Peer* peer : peers) {
      const ActorRef<NodeActor> control(ActorAddress{peer, ActorRuntime::kNodeActor});
      calls.push_back(control.call<&NodeActor::spawn_actor>(spec));
    }
    auto all = detail::outcomes_of(std::move(calls));
    std::vector<Result<ActorId>> outcomes = co_await all;
    detail::tell_as(operation, peers, outcomes);
    std::vector<ActorRef<T>> actors;
    for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
      if (outcomes[rank]) {
        actors.push_back(ActorRef<T>(ActorAddress{peers[rank], *outcomes[rank]}));
      }
    }
    if (actors.size() < outcomes.size() && !actors.empty()) {
      // Some could not be made: those that were end again, and the name is free everywhere.
      const Shape left{Dimension("ranks", actors.size())};
      auto undo = as_result(ActorMesh<T>(left, std::move(actors)).stop());
      static_cast<void>(co_await undo);
    }
    detail::require_all(shape, outcomes);
    co_return ActorMesh<T>(shape, std::move(actors));
  }

  NodeStack* stack_;
  Shape shape_;
  std::vector<Peer*> peers_;
};

class Host {
 public:
  explicit Host(NodeStack& stack) noexcept : stack_(&stack) {}

  // Starts a process per rank and waits until all run. Throws MeshError, see ProcessTree::spawn.
  Task<ProcMesh> spawn_procs(Shape shape, SpawnOptions options = {}) { return spawn(*stack_, shape, options); }

 private:
  static Task<ProcMesh> spawn(NodeStack& stack, Shape shape, SpawnOptions options) {
    auto started = stack.processes().spawn(shape, options);
    co_return ProcMesh(stack, shape, co_await started);
  }

  NodeStack* stack_;
};

class Context {
 public:
  explicit Context(NodeStack& stack) noexcept : stack_(&stack) {}

  NodeCore& node() const noexcept { return stack_->core(); }
  operator NodeCore&() const noexcept { return node(); }  // NOLINT: where a node is asked for, its context will do

  Host this_host() const noexcept { return Host(*stack_); }
  // This very process as a mesh of one, to host actors in it.
  ProcMesh this_proc() const;

  // Registers memory that peers may reach through references. Throws Error.
  template <class T, std::size_t N>
  RDMABuffer register_memory(std::span<T, N> memory, const RegisterOptions& options = {}) const {
    return ferry::register_memory(node(), memory, options);
  }
  template <detail::NotASpan Memory>
  RDMABuffer register_memory(Memory&&, const RegisterOptions& = {}) const {
    return detail::refuse_memory<Memory>();
  }

  NodeStack& stack() const noexcept { return *stack_; }

 private:
  NodeStack* stack_;
};

}  // namespace ferry
