// Watches: what a world looks at after every step: invariants, and conditions that somebody waits for. Internal to
// World.
//
// Owner: the World. One thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <ferry/sim/scheduler.hpp>
#include <ferry/sim/view.hpp>

namespace ferry::sim {

class Watches final : public StepObserver {
 public:
  explicit Watches(World& world) noexcept : world_(world) {}

  void add_invariant(std::string name, Condition holds) { invariants_.push_back({std::move(name), std::move(holds)}); }
  // Calls `reached` once, in a step of its own, when the condition holds.
  void add_wait(Condition condition, std::function<void()> reached) {
    waits_.push_back({std::move(condition), std::move(reached)});
  }

  void after_step() override;

 private:
  struct Invariant {
    std::string name;
    Condition holds;
  };
  struct Wait {
    Condition condition;
    std::function<void()> reached;
  };

  World& world_;
  std::vector<Invariant> invariants_;
  std::vector<Wait> waits_;
};

}  // namespace ferry::sim
