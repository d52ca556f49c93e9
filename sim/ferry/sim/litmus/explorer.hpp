// explore(): every reachable state of a litmus test under one profile, and so exactly its outcomes.
//
// Depth first over a table of all states seen. Memory is bounded by the number of states, which the caller limits.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include <ferry/base/result.hpp>
#include <ferry/sim/litmus/machine.hpp>
#include <ferry/sim/litmus/program.hpp>

namespace ferry::sim::litmus {

struct Exploration {
  std::size_t states = 0;         // distinct reachable ones
  std::size_t stuck = 0;          // of them: no step can be next, and a thread has not finished
  std::vector<Outcome> outcomes;  // distinct, ascending
};

inline constexpr std::size_t kDefaultMaxStates = 20'000'000;              // of small tests some 2 GB
inline constexpr std::size_t kDefaultMaxBytes = std::size_t{4096} << 20;  // where states are large

struct ExploreOptions {
  std::size_t max_states = kDefaultMaxStates;          // 1 to kMaxStates (state_table.hpp)
  std::function<void(std::size_t states)> progress{};  // called now and then, if it is set
  std::size_t max_bytes = kDefaultMaxBytes;            // for the states
};

// Fails with errc::resource_exhausted when there are more states than max_states, or they take more than max_bytes.
Result<Exploration> explore(const Machine& machine, const ExploreOptions& options = {});

// What every search over states does at its limit, and how often it reports progress.
inline constexpr std::size_t kProgressInterval = std::size_t{1} << 16;  // states
bool is_too_much(const ExploreOptions& options, std::size_t states, std::size_t bytes) noexcept;
Failure too_much(const Machine& machine, const ExploreOptions& options, std::size_t states);

// The state of a run that has come to its end as an outcome. All threads have finished and no step can be next.
Outcome outcome_of(const State& state);

}  // namespace ferry::sim::litmus
