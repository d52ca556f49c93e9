// What a test or program arranges for in its world: plans, faults, conditions.
#include <ferry/sim/memory_watch.hpp>
#include <ferry/sim/world.hpp>

#include <exception>
#include <utility>

#include <fmt/format.h>

#include <ferry/base/limits.hpp>
#include <ferry/base/one_shot.hpp>
#include <ferry/sim/virtual_time.hpp>

namespace ferry::sim {
namespace {

constexpr std::string_view kPlannedFaults = "planned fault";

}  // namespace

// FNV-1a.
std::uint64_t subject_of_parts(std::string_view name) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char letter : name) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
  }
  return mix64(hash);
}

bool World::leaves_out(std::string_view name, std::string text) {
  if (parts_.size() >= kParts) {
    return false;
  }
  const std::uint64_t subject = subject_of_parts(name);
  const bool is_left_out = scheduler_.leaves_out(subject);
  parts_.push_back({std::string(name), subject, parts_asked_[subject]++, std::move(text), is_left_out});
  return is_left_out;
}

void World::at(Duration time, std::function<void()> plan) {
  if (!plan) {
    throw Error(Failure(errc::invalid_argument, "the plan of at() is empty"));
  }
  add_plan(time, std::move(plan));
}

FaultPlan World::at(Duration time) {
  return {faults_, [this, time](std::function<void()> what, std::string_view strike) {
            if (strike.empty() || !leaves_out(kPlannedFaults, seconds(time) + ": " + std::string(strike))) {
              add_plan(time, std::move(what));
            }
          }};
}

FaultPlan World::when(Condition condition) {
  if (!condition) {
    throw Error(Failure(errc::invalid_argument, "the condition of when() is empty"));
  }
  return {faults_, [this, condition = std::move(condition)](std::function<void()> what, std::string_view strike) {
            if (strike.empty() || !leaves_out(kPlannedFaults, "when a condition holds: " + std::string(strike))) {
              when(condition, std::move(what));
            }
          }};
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

void World::memory_freed(const std::byte* bytes, std::size_t length) {
  const Process* const process = running_process();
  if (memory_watch_ != nullptr && process != nullptr) {
    memory_watch_->freed(process->number(), bytes, length);
  }
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
