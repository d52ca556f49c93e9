#include <ferry/sim/determinism.hpp>

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include <ferry/sim/perturbed_heap.hpp>
#include <ferry/sim/trace.hpp>

namespace ferry::sim {
namespace {

constexpr std::size_t kSteps = 10'000'000;

// Keeps what tells two steps apart, and the names of processes.
class StepList final : public TraceSink {
 public:
  void on_step(const TracedStep& step) override {
    if (steps_.size() < kSteps) {
      steps_.push_back({step.hash, step.data, step.number, step.at, step.process, step.kind});
    }
  }
  void on_event(const TracedEvent& event) override { names_.on_event(event); }

  std::size_t size() const noexcept { return steps_.size(); }

  // The first step that differs, from 0; the shorter one's length where none does.
  std::size_t first_difference(const StepList& other) const {
    const auto differs = std::mismatch(steps_.begin(), steps_.end(), other.steps_.begin(), other.steps_.end());
    return static_cast<std::size_t>(differs.first - steps_.begin());
  }

  std::string describe(std::size_t index) const {
    if (index >= steps_.size()) {
      return fmt::format("nothing, it has ended after {} steps", steps_.size());
    }
    const Kept& kept = steps_[index];
    return fmt::format(
        "{} (hash {:#018x}, data {:#018x})",
        to_text(TracedStep{index + 1, kept.at, kept.process, kept.kind, kept.number, {}, 0, 0}, names_.processes()),
        kept.hash, kept.data);
  }

 private:
  struct Kept {
    std::uint64_t hash;
    std::uint64_t data;
    std::uint64_t number;
    TimePoint at;
    ProcessNumber process;
    StepKind kind;
    friend bool operator==(const Kept&, const Kept&) = default;
  };
  std::vector<Kept> steps_;
  Trace names_{1};
};

}  // namespace

std::string Difference::to_text() const {
  const std::string what = step == 0 ? "how the world ends differs" : fmt::format("step {} differs", step);
  return fmt::format("{}: alone {}; after another world {}", what, first, second);
}

std::optional<Difference> check_determinism(const WorldOptions& options, const RunWorld& run) {
  const auto traced = [&](StepList& steps) {
    WorldOptions with = options;
    with.trace = &steps;
    return run(with).to_text();
  };
  StepList alone;
  StepList later;
  const std::string first = traced(alone);
  std::string second;
  {
    const PerturbedHeap heap(options.seed);
    WorldOptions other = options;
    other.seed = options.seed + 1;
    run(other);
    second = traced(later);
  }
  const std::size_t step = alone.first_difference(later);
  if (step < std::max(alone.size(), later.size())) {
    return Difference{step + 1, alone.describe(step), later.describe(step)};
  }
  if (first != second) {
    return Difference{0, first, second};
  }
  return std::nullopt;
}

}  // namespace ferry::sim
