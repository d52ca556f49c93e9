#include <ferry/sim/strategies.hpp>

#include <algorithm>
#include <array>

namespace ferry::sim {
namespace {

constexpr std::uint64_t kHigh = std::uint64_t{1} << 32;  // first priorities are above, later ones below
constexpr std::uint64_t kStarveOnceIn = 32;              // steps, in the mean
constexpr unsigned kLongestStarvation = 7;               // as a power of two

}  // namespace

std::string_view to_string(Strategy strategy) noexcept {
  constexpr std::array<std::string_view, kStrategies + 1> kNames{"random", "pct", "starving", "exhaustive"};
  return kNames[static_cast<std::size_t>(strategy)];
}

PCTChoices::PCTChoices(std::uint64_t seed, unsigned depth, std::uint64_t expected_steps)
    : walk_(mix64(seed) + depth), random_(stream_of(seed, 3, depth)) {
  for (unsigned change = 1; change < depth; ++change) {
    changes_.push_back(random_.below(std::max<std::uint64_t>(expected_steps, 1)));
  }
  std::sort(changes_.begin(), changes_.end());
}

std::uint64_t PCTChoices::priority_of(Lane lane) {
  const auto [at, is_new] = priorities_.try_emplace(lane, 0);
  if (is_new) {
    at->second = kHigh + (random_.next() >> 1);
  }
  return at->second;
}

std::size_t PCTChoices::highest(std::span<const Lane> lanes) {
  std::size_t best = 0;
  std::uint64_t best_priority = priority_of(lanes[0]);
  for (std::size_t index = 1; index < lanes.size(); ++index) {
    const std::uint64_t priority = priority_of(lanes[index]);
    if (priority > best_priority) {
      best = index;
      best_priority = priority;
    }
  }
  return best;
}

std::uint64_t PCTChoices::choose(const Question& question) noexcept {
  if (question.kind != ChoiceKind::next || question.lanes.empty()) {
    return walk_.choose(question);
  }
  const std::uint64_t step = step_++;
  while (changed_ < changes_.size() && changes_[changed_] <= step) {
    const Lane falls = question.lanes[highest(question.lanes)];
    priorities_[falls] = changes_.size() - changed_;
    ++changed_;
  }
  return highest(question.lanes);
}

StarvingChoices::StarvingChoices(std::uint64_t seed) noexcept : walk_(mix64(seed)), random_(stream_of(seed, 4, 0)) {}

std::uint64_t StarvingChoices::choose(const Question& question) noexcept {
  const std::uint64_t answer = walk_.choose(question);
  if (question.kind != ChoiceKind::next || question.lanes.empty()) {
    return answer;
  }
  const auto& lanes = question.lanes;
  if (left_ == 0) {
    if (random_.below(kStarveOnceIn) != 0) {
      return answer;
    }
    starved_ = lanes[answer];
    left_ = std::uint64_t{1} << random_.below(kLongestStarvation + 1);
  }
  --left_;
  for (std::size_t offset = 0; offset < lanes.size(); ++offset) {
    const std::size_t index = (answer + offset) % lanes.size();
    if (lanes[index] != starved_) {
      return index;
    }
  }
  return answer;  // nothing else can move
}

std::unique_ptr<ChoiceSource> make_choices(Strategy strategy, std::uint64_t seed, std::uint64_t expected_steps) {
  switch (strategy) {
    case Strategy::pct:
      return std::make_unique<PCTChoices>(seed, 1 + static_cast<unsigned>(mix64(seed) % 3), expected_steps);
    case Strategy::starving:
      return std::make_unique<StarvingChoices>(seed);
    default:
      return std::make_unique<SeededChoices>(seed);
  }
}

}  // namespace ferry::sim
