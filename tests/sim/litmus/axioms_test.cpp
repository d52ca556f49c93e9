// The machine and the axioms agree on the suite.
#include <gtest/gtest.h>

#include <ferry/sim/litmus/axioms/candidate_executions.hpp>

#include "litmus_programs.hpp"

namespace ferry::sim::litmus {
namespace {

TEST(LitmusAxioms, AgreeWithTheMachineOnTheSuite) {
  for (const Program& program : suite()) {
    for (const ProfileName profile : kBothProfiles) {
      const auto axiomatic = axioms::outcomes(program, profile);
      ASSERT_TRUE(axiomatic) << axiomatic.error().detail();
      EXPECT_EQ(*axiomatic, explored(program, profile).outcomes) << program.name << " " << to_string(profile);
    }
  }
}

}  // namespace
}  // namespace ferry::sim::litmus
