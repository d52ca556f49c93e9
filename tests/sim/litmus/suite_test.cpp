// The suite: every shared litmus test gets its verdict under both profiles. suite/README.md says where it comes from.
#include <gtest/gtest.h>

#include <ferry/sim/litmus/verdict.hpp>

#include "litmus_programs.hpp"

namespace ferry::sim::litmus {
namespace {

using Comparison = Judgement::Comparison;

Comparison compare(const Program& program, ProfileName profile) {
  const Exploration exploration = explored(program, profile);
  EXPECT_GT(exploration.states, 0U) << program.name;
  EXPECT_EQ(exploration.stuck, 0U) << program.name;
  return judge(program, profile, exploration.outcomes).comparison;
}

TEST(LitmusSuite, EveryTestGetsItsVerdictUnderBothProfiles) {
  const std::vector<Program> programs = suite();
  ASSERT_EQ(programs.size(), kSuiteSize);
  for (const Program& program : programs) {
    for (const ProfileName profile : kBothProfiles) {
      EXPECT_EQ(compare(program, profile), Comparison::ok) << program.name << " " << to_string(profile);
    }
  }
}

TEST(LitmusSuite, HasTheNumberOfStatesThatTheModelsTextNames) {
  for (const Program& program : suite()) {
    if (program.name == "L09") {
      EXPECT_EQ(explored(program, ProfileName::portable).states, 58U);
    }
  }
}

TEST(LitmusSuite, CanaryAFlippedVerdictIsNoticed) {
  for (Program& program : suite()) {
    for (const ProfileName profile : kBothProfiles) {
      auto& expected = program.expected[static_cast<std::size_t>(profile)];
      expected = expected == Verdict::allowed ? Verdict::forbidden : Verdict::allowed;
      EXPECT_EQ(compare(program, profile), Comparison::differs) << program.name << " " << to_string(profile);
    }
  }
}

TEST(LitmusSuite, AProfileOfWhichNothingIsExpectedIsUnchecked) {
  Program program = suite().front();
  program.expected = {};
  EXPECT_EQ(compare(program, ProfileName::strict), Comparison::unchecked);
  program.question.reset();
  EXPECT_EQ(compare(program, ProfileName::strict), Comparison::unchecked);
}

}  // namespace
}  // namespace ferry::sim::litmus
