#include <ferry/sim/watches.hpp>

#include <exception>
#include <utility>

#include <fmt/format.h>

#include <ferry/base/limits.hpp>
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

void Watches::add_invariant(const Process* owner, std::string name, Condition holds) {
  if (!holds) {
    throw Error(Failure(errc::invalid_argument, fmt::format("the condition of always(\"{}\") is empty", name)));
  }
  watches_.push_back(std::make_shared<Watch>(Watch{owner, std::move(holds), std::move(name)}));
}

void Watches::add_wait(const Process* owner, Condition condition, std::function<void()> reached) {
  if (!condition || !reached) {
    throw Error(Failure(errc::invalid_argument, "the condition or the plan of when() is empty"));
  }
  watches_.push_back(std::make_shared<Watch>(Watch{owner, std::move(condition), {}, std::move(reached)}));
}

bool Watches::holds(const Watch& watch) {
  try {
    return watch.condition(View(world_));
  } catch (...) {
    const std::string what = describe_exception(std::current_exception(), limits::kExceptionText);
    world_.fail(watch.reached ? fmt::format("a condition that is waited for threw: {}", what)
                              : fmt::format("the condition of always(\"{}\") threw: {}", watch.name, what));
    return !watch.reached;
  }
}

void Watches::after_step() {
  std::erase_if(watches_, [](const auto& watch) { return watch->owner != nullptr && !watch->owner->is_alive(); });
  for (std::size_t index = 0; index < watches_.size(); ++index) {
    const auto watch = watches_[index];
    const bool held = holds(*watch);
    if (!watch->reached && !held) {
      world_.fail(watch->name, Outcome::invariant);
    } else if (watch->reached && held) {
      watches_.erase(watches_.begin() + static_cast<std::ptrdiff_t>(index--));
      world_.at(Duration::zero(), watch->reached);
    }
  }
}

}  // namespace ferry::sim
