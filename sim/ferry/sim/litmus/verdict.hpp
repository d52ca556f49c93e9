// What a set of outcomes says about a test's question, and whether the test expected it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <ferry/sim/litmus/program.hpp>

namespace ferry::sim::litmus {

struct Judgement {
  enum class Comparison : std::uint8_t {
    ok,         // as expected
    differs,    // not as expected
    unchecked,  // the test does not say what it expects of this profile
    missed,     // expected as allowed, and not seen in the runs sampled: no proof of anything
  };
  std::optional<Verdict> verdict;  // none where the test asks nothing, or where sampling did not see the outcome
  std::optional<Verdict> expected;
  Comparison comparison = Comparison::unchecked;
};

// Of all outcomes of the program under the profile.
Judgement judge(const Program& program, ProfileName profile, const std::vector<Outcome>& outcomes);

// Of those that sampled runs ended in: seeing one that satisfies the question shows that it is allowed; not seeing one
// shows nothing.
Judgement judge_sampled(const Program& program, ProfileName profile, const std::vector<Outcome>& outcomes);

}  // namespace ferry::sim::litmus
