// NodeActor: the control actor of every process: what a parent asks of its children and children tell their parent.
//
// Always ActorRuntime::kNodeActor. Made by the NodeStack, which outlives it.
#pragma once

#include <string>

#include <ferry/actor/actor.hpp>
#include <ferry/actor/actor_class.hpp>
#include <ferry/actor/actor_runtime.hpp>
#include <ferry/transport/address.hpp>

namespace ferry {

class NodeStack;

class NodeActor final : public Actor {
 public:
  explicit NodeActor(NodeStack& stack) noexcept : stack_(stack) {}

  // A child says that it runs, and where it can be reached.
  void hello(const Contact& child);
  // Constructs an actor in this process.
  Task<ActorId> spawn_actor(ActorSpec spec);
  // Ends when the actor has been destroyed.
  Task<void> stop_actor(ActorId id);
  // The parent wants this process to end.
  void shut_down();

  static constexpr auto endpoints =
      ferry::endpoints<concurrent<&NodeActor::hello>, concurrent<&NodeActor::spawn_actor>,
                       concurrent<&NodeActor::stop_actor>, concurrent<&NodeActor::shut_down>>;

 private:
  NodeStack& stack_;
};

}  // namespace ferry
