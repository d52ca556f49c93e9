// View: what invariants and other watches of a world may look at, between steps. Reads; changes nothing.
#pragma once

#include <functional>

#include <ferry/actor/actor.hpp>
#include <ferry/actor/actor_ref.hpp>
#include <ferry/base/time.hpp>
#include <ferry/memory/process_id.hpp>

namespace ferry::sim {

class World;

class View {
 public:
  explicit View(const World& world) noexcept : world_(world) {}

  TimePoint now() const noexcept;
  const World& world() const noexcept { return world_; }

  // The actor itself, in its process's memory; null while it is down: not constructed yet, stopped, or its process has
  // ended. Valid until the next step.
  template <class T>
  const T* peek(const ActorRef<T>& ref) const noexcept {
    return dynamic_cast<const T*>(find(ref.address()));
  }

 private:
  const Actor* find(const ActorAddress& address) const noexcept;

  const World& world_;
};

using Condition = std::function<bool(const View&)>;

}  // namespace ferry::sim
