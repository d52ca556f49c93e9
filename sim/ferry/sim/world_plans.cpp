// What a test or program arranges for in its world: plans, faults, conditions.
#include <ferry/sim/world.hpp>

#include <exception>
#include <utility>

#include <fmt/format.h>

#include <ferry/base/limits.hpp>
#include <ferry/base/one_shot.hpp>
#include <ferry/sim/virtual_time.hpp>

namespace ferry::sim {

void World::at(Duration time, std::function<void()> plan) {
  if (!plan) {
    throw Error(Failure(errc::invalid_argument, "the plan of at() is empty"));
  }
  add_plan(time, std::move(plan));
}

FaultPlan World::at(Duration time) {
  return {faults_, [this, time](std::function<void()> what) { add_plan(time, std::move(what)); }};
}

FaultPlan World::when(Condition condition) {
  if (!condition) {
    throw Error(Failure(errc::invalid_argument, "the condition of when() is empty"));
  }
  return {faults_,
          [this, condition = std::move(condition)](std::function<void()> what) { when(condition, std::move(what)); }};
}

Task<void> World::heal() {
  faults_.heal();
  co_return;
}

World::Plan& World::add_plan(Duration time, std::function<void()> what) {
  plans_.push_back(std::make_unique<Plan>(this, std::move(what)));
  ++plans_left_;
  const Duration delay = std::max(time - now().time_since_epoch(), Duration::zero());
  scheduler_.schedule(*plans_.back(), StepKind::plan, {}, plans_.size(), delay);
  return *plans_.back();
}

// Does nothing for one that was carried out.
void World::withdraw(Plan& plan) noexcept {
  if (plan.is_scheduled()) {
    scheduler_.withdraw(plan);
    --plans_left_;
    stop_if_done();
  }
}

void World::always(std::string name, Condition holds) {
  watches_.add_invariant(running_process(), std::move(name), std::move(holds));
  scheduler_.observe(&watches_);
}

void World::when(Condition condition, std::function<void()> plan) {
  watches_.add_wait(running_process(), std::move(condition), std::move(plan));
  scheduler_.observe(&watches_);
}

const Process* World::running_process() const noexcept {
  const ProcessNumber number = scheduler_.running();
  return number ? processes_[number.value() - 1].get() : nullptr;
}

Task<void> World::eventually(std::string name, Duration within, Condition condition) {
  const OneShot<bool> reached;
  const auto settle = [reached, settled = std::make_shared<bool>(false)](bool in_time) {
    if (!std::exchange(*settled, true)) {
      reached.set(in_time);
    }
  };
  when(std::move(condition), [settle] { settle(true); });
  Plan& deadline = add_plan(now().time_since_epoch() + within, [settle] { settle(false); });
  const bool in_time = co_await reached;
  withdraw(deadline);
  if (!in_time) {
    fail(fmt::format("eventually: {} has not come within {}", name, seconds(within)));
  }
}

void World::carry_out(Step& step) noexcept {
  Plan& plan = static_cast<Plan&>(step);
  World& world = *plan.world;
  try {
    plan.plan();
  } catch (...) {
    world.fail("a plan threw: " + describe_exception(std::current_exception(), limits::kExceptionText));
  }
  --world.plans_left_;
  world.stop_if_done();
}

}  // namespace ferry::sim
