// sample(): some runs of a litmus test, drawn from a seed: which outcomes they end in, and how often.
//
// For programs that are too large to explore, and to see how well a strategy finds what is rare. What is not seen may
// still be allowed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include <ferry/sim/litmus/machine.hpp>
#include <ferry/sim/litmus/program.hpp>

namespace ferry::sim::litmus {

enum class SamplingStrategy : std::uint8_t {
  random,  // each step drawn evenly from the enabled ones
  pct,     // probabilistic concurrency testing (Burckhardt et al., ASPLOS 2010) with kPCTDepth
};

// The number of ordering constraints that a rare outcome may need for PCT's guarantee to hold.
inline constexpr std::size_t kPCTDepth = 3;

struct SampleOptions {
  SamplingStrategy strategy = SamplingStrategy::random;
  std::size_t runs = 10'000;
  std::uint64_t seed = 1;
};

struct Sample {
  std::size_t runs = 0;
  std::size_t stuck = 0;                // runs that ended with a thread that has not finished
  std::map<Outcome, std::size_t> hits;  // the other runs
};

// The same options give the same sample, on every machine.
Sample sample(const Machine& machine, const SampleOptions& options);

// The number of steps of every run that does not get stuck: each instruction, stage, drain and commit happens once.
std::size_t run_length(const Program& program);

}  // namespace ferry::sim::litmus
