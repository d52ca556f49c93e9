// Watches: what a world looks at after every step: invariants, and conditions that somebody waits for. Internal to
// World.
//
// A watch that a process adds ends with the process, to whose node the references in it belong. An exception of a
// condition fails the run. Conditions may add watches. Owner: the World. One thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ferry/sim/scheduler.hpp>
#include <ferry/sim/view.hpp>

namespace ferry::sim {

class Process;

class Watches final : public StepObserver {
 public:
  explicit Watches(World& world) noexcept : world_(world) {}

  // owner: the process that adds it; null: the world itself. Throws Error (invalid_argument) for an empty condition.
  void add_invariant(const Process* owner, std::string name, Condition holds);
  // Calls `reached` once, in a step of its own, when the condition holds.
  void add_wait(const Process* owner, Condition condition, std::function<void()> reached);

  void after_step() override;

 private:
  struct Watch {
    const Process* owner;
    Condition condition;
    std::string name;                 // of an invariant
    std::function<void()> reached{};  // of a wait; empty: it is an invariant
  };

  bool holds(const Watch& watch);

  World& world_;
  std::vector<std::shared_ptr<Watch>> watches_;  // shared: one that is being asked may go
};

}  // namespace ferry::sim
