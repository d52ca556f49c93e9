// Strategies: ways to answer a world's questions that find other faults than a random walk does. All from a seed.
//
// Owner: as of any ChoiceSource. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include <ferry/sim/choices.hpp>

namespace ferry::sim {

enum class Strategy : std::uint8_t {
  random,     // every answer is as likely
  pct,        // lanes have priorities, which change at a few steps: finds rare orders with a known probability
  starving,   // now and then one lane does not move while any other can
  exhaustive  // every order: explore_all() alone
};
inline constexpr std::size_t kStrategies = 3;  // that make_choices() makes, the first ones
std::string_view to_string(Strategy strategy) noexcept;

// Probabilistic concurrency testing (Burckhardt and others, ASPLOS 2010): of the things that can happen, the one whose
// lane has the highest priority does; priorities are random, and at depth - 1 steps, drawn from the first
// `expected_steps`, the lane that would move falls behind all others. A fault that depth ordering constraints bring
// about is found with a probability of at least 1 / (lanes * expected_steps ^ (depth - 1)). Other kinds: a random walk.
class PCTChoices final : public ChoiceSource {
 public:
  PCTChoices(std::uint64_t seed, unsigned depth, std::uint64_t expected_steps);
  std::uint64_t choose(const Question& question) noexcept override;

 private:
  std::size_t highest(std::span<const Lane> lanes);
  std::uint64_t priority_of(Lane lane);

  SeededChoices walk_;
  Random random_;
  std::vector<std::uint64_t> changes_;  // steps, ascending
  std::size_t changed_ = 0;             // of them
  std::uint64_t step_ = 0;
  std::map<Lane, std::uint64_t> priorities_;
};

// A random walk in which, now and then, one lane does not move for up to 128 steps while any other can.
class StarvingChoices final : public ChoiceSource {
 public:
  explicit StarvingChoices(std::uint64_t seed) noexcept;
  std::uint64_t choose(const Question& question) noexcept override;

 private:
  SeededChoices walk_;
  Random random_;
  Lane starved_ = 0;
  std::uint64_t left_ = 0;  // steps for which it is
};

// The strategy's own source. PCT: of depth 1 to 3, by the seed.
std::unique_ptr<ChoiceSource> make_choices(Strategy strategy, std::uint64_t seed, std::uint64_t expected_steps = 1000);

}  // namespace ferry::sim
