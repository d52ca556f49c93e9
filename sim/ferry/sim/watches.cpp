#include <ferry/sim/watches.hpp>

#include <utility>

#include <ferry/sim/world.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry::sim {

TimePoint View::now() const noexcept {
  return world_.now();
}

const Actor* View::find(const ActorAddress& address) const noexcept {
  if (address.peer == nullptr) {
    return nullptr;
  }
  for (const auto& process : world_.processes()) {
    if (process->bootstrap().self == address.peer->id()) {
      return process->find_actor(address.actor);
    }
  }
  return nullptr;
}

void Watches::after_step() {
  const View view(world_);
  for (const Invariant& invariant : invariants_) {
    if (!invariant.holds(view)) {
      world_.fail(invariant.name, Outcome::invariant);
      return;
    }
  }
  // What is reached may add waits.
  for (std::size_t index = 0; index < waits_.size();) {
    if (!waits_[index].condition(view)) {
      ++index;
      continue;
    }
    const auto reached = std::move(waits_[index].reached);
    waits_.erase(waits_.begin() + static_cast<std::ptrdiff_t>(index));
    world_.at(Duration::zero(), reached);
  }
}

}  // namespace ferry::sim
