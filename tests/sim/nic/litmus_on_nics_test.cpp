// The NICs of the world level against the litmus machine: what a run on NICs ends with is among the outcomes that the
// machine finds, under every profile, with and without loss; and most of those are found.
#include <cstdlib>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ferry/sim/strategies.hpp>

#include "../litmus/litmus_programs.hpp"
#include "litmus_on_nics.hpp"

namespace ferry::sim::litmus {
namespace {

constexpr std::array<std::string_view, 4> kProfileNames{"strict", "portable", "relaxed", "unordered"};

FabricOptions options_for(const Program& program, std::string_view profile) {
  FabricOptions options;
  options.profile = nic_profile(profile);
  options.exact_atomics = program.atomics == AtomicScope::glob;
  options.mtu = 8;
  return options;
}

struct Found {
  std::set<Outcome> outcomes;
  std::size_t unfinished = 0;
};

Found played(const Program& program, const FabricOptions& options, std::uint64_t runs) {
  Found found;
  for (std::uint64_t seed = 0; seed < runs; ++seed) {
    const auto choices = make_choices(static_cast<Strategy>(seed % kStrategies), seed, 60);
    if (auto outcome = play(program, options, *choices)) {
      found.outcomes.insert(std::move(*outcome));
    } else {
      ++found.unfinished;
    }
  }
  return found;
}

// Outcomes that the machine does not know.
std::string unknown_outcomes(const Program& program, const Found& found, const std::vector<Outcome>& known) {
  std::string text;
  for (const Outcome& outcome : found.outcomes) {
    if (!std::binary_search(known.begin(), known.end(), outcome)) {
      text += to_text(program, outcome) + "\n";
    }
  }
  return text;
}

// A packet that is sent again reads again: a get the owner's memory, a put the initiator's, which the machine has not.
bool reads_again_under_loss(const Program& program) {
  return std::any_of(program.operations.begin(), program.operations.end(), [&](const Operation& operation) {
    return operation.kind == OperationKind::get ||
           std::any_of(program.threads.begin(), program.threads.end(), [&](const Thread& thread) {
             return std::any_of(thread.instructions.begin(), thread.instructions.end(), [&](const Instruction& its) {
               return its.opcode == Opcode::store && its.location == operation.chunks.front().local;
             });
           });
  });
}

class LitmusOnNics : public testing::TestWithParam<std::string_view> {};

TEST_P(LitmusOnNics, EndAsTheMachineAllows) {
  const ProfileName profile = *profile_from(GetParam());
  std::size_t played_programs = 0, allowed = 0, shown = 0;
  for (const Program& program : suite()) {
    if (!is_playable(program)) {
      continue;
    }
    ++played_programs;
    const Exploration exact = explored(program, profile);
    const Found found = played(program, options_for(program, GetParam()), 2000);
    EXPECT_EQ(unknown_outcomes(program, found, exact.outcomes), "") << program.name;
    EXPECT_EQ(found.unfinished, 0U) << program.name;
    if (program.question) {
      const auto answers = [&](const auto& outcomes) {
        return std::any_of(outcomes.begin(), outcomes.end(),
                           [&](const Outcome& outcome) { return satisfies(outcome, *program.question); });
      };
      allowed += answers(exact.outcomes) ? 1 : 0;
      shown += answers(found.outcomes) ? 1 : 0;
      if (answers(exact.outcomes) && !answers(found.outcomes)) {
        fmt::print("  {} {}: allowed, not shown\n", program.name, GetParam());
      }
    }
  }
  fmt::print("  {}: {} programs, {} of {} allowed answers shown\n", GetParam(), played_programs, shown, allowed);
  EXPECT_GE(played_programs, kSuiteSize - 4);
  EXPECT_GE(shown * 10, allowed * 8);
}

TEST_P(LitmusOnNics, EndAsTheMachineAllowsUnderLossToo) {
  const ProfileName profile = *profile_from(GetParam());
  for (const Program& program : suite()) {
    if (!is_playable(program) || reads_again_under_loss(program)) {
      continue;
    }
    FabricOptions options = options_for(program, GetParam());
    options.drop_one_in = 4;
    options.duplicate_one_in = 4;
    options.delay_one_in = 4;
    options.retries = 30;
    options.acknowledgement = std::chrono::microseconds(30);
    const Found found = played(program, options, 100);
    EXPECT_EQ(unknown_outcomes(program, found, explored(program, profile).outcomes), "") << program.name;
    EXPECT_EQ(found.unfinished, 0U) << program.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Under, LitmusOnNics, testing::ValuesIn(kProfileNames),
                         [](const auto& profile) { return std::string(profile.param); });

std::uint64_t hits(const Program& program, Strategy strategy, std::uint64_t runs) {
  std::uint64_t count = 0;
  for (std::uint64_t seed = 0; seed < runs; ++seed) {
    const auto choices = make_choices(strategy, seed, 60);
    const auto outcome = play(program, options_for(program, "portable"), *choices);
    count += outcome && satisfies(*outcome, *program.question) ? 1 : 0;
  }
  return count;
}

// Prints the table of sim/ferry/sim/STRATEGIES.md, whose figures are of FERRY_LITMUS_RUNS=10000.
TEST(LitmusOnNicsHits, EveryAllowedAnswerButThatOfStoreBuffersIsShownBySomeStrategy) {
  const char* const asked = std::getenv("FERRY_LITMUS_RUNS");
  const std::uint64_t runs = asked == nullptr ? 1500 : std::strtoull(asked, nullptr, 10);
  fmt::print("| test | what is allowed | random | pct | starving |\n| --- | --- | ---: | ---: | ---: |\n");
  for (const Program& program : suite()) {
    if (!is_playable(program) || !program.question || program.expected_of(ProfileName::portable) != Verdict::allowed) {
      continue;
    }
    const auto random = hits(program, Strategy::random, runs);
    const auto pct = hits(program, Strategy::pct, runs);
    const auto starving = hits(program, Strategy::starving, runs);
    fmt::print("| {} | {} | {} | {} | {} |\n", program.name, program.doc, random, pct, starving);
    EXPECT_EQ(random + pct + starving > 0, program.name != "L27") << program.name;
  }
}

// What holds the comparison honest: NICs that promise less are noticed.
TEST(LitmusOnNicsCanary, WeakerNicsShowWhatTheMachineForbids) {
  std::size_t noticed = 0;
  for (const Program& program : suite()) {
    if (is_playable(program)) {
      const Found found = played(program, options_for(program, "unordered"), 300);
      noticed += unknown_outcomes(program, found, explored(program, ProfileName::strict).outcomes).empty() ? 0 : 1;
    }
  }
  EXPECT_GE(noticed, 5U);
}

}  // namespace
}  // namespace ferry::sim::litmus
