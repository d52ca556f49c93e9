// find_witness(): a shortest run that ends in an outcome which satisfies the question of a test.
//
// All runs that do not get stuck have the same number of steps (run_length() in sampler.hpp), so every one is a
// shortest. Of them this finds one with the fewest changes of who takes the next step, because that reads best: breadth
// first, by changes.
#pragma once

#include <optional>
#include <vector>

#include <ferry/base/result.hpp>
#include <ferry/sim/litmus/explorer.hpp>
#include <ferry/sim/litmus/machine.hpp>

namespace ferry::sim::litmus {

struct Witness {
  std::vector<Step> steps;  // from the initial state to the end
  Outcome outcome;
};

// None where no outcome satisfies the question, which the program has. Fails as explore() does. It
// needs several times the memory of explore(), for it remembers how it came to each state.
Result<std::optional<Witness>> find_witness(const Machine& machine, const ExploreOptions& options = {});

}  // namespace ferry::sim::litmus
