// The machine and the axioms, written apart from the same text, agree: on the suite, and on random programs. The laws
// that every profile keeps. RapidCheck prints its seed; RC_PARAMS="seed=… max_success=…" before the test's name replays
// it.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <fmt/format.h>

#include <ferry/sim/litmus/axioms/candidate_executions.hpp>
#include <ferry/sim/litmus/program_text.hpp>

#include "litmus_programs.hpp"
#include "random_program.hpp"

namespace ferry::sim::litmus {
namespace {

constexpr std::size_t kMaxStatesOfOne = 20'000;
constexpr std::size_t kMaxCandidatesOfOne = 20'000;

using Outcomes = std::vector<Outcome>;

bool is_subset(const Outcomes& inner, const Outcomes& outer) {
  return std::includes(outer.begin(), outer.end(), inner.begin(), inner.end());
}

// None where the program is too large to be worth it.
std::optional<Outcomes> by_machine(const Program& program, const Profile& profile) {
  const Machine machine(program, profile);
  auto result = explore(machine, {kMaxStatesOfOne, {}});
  return result ? std::optional(std::move(result->outcomes)) : std::nullopt;
}

std::optional<Outcomes> by_axioms(const Program& program, ProfileName profile) {
  auto result = axioms::outcomes(program, profile, kMaxCandidatesOfOne);
  return result ? std::optional(std::move(*result)) : std::nullopt;
}

// A program that RapidCheck draws; what it prints of a failure is the whole program.
Program drawn_program() {
  const auto numbers = *rc::gen::resize(rc::kNominalSize, rc::gen::container<std::vector<std::uint32_t>>(
                                                              kPicks, rc::gen::inRange<std::uint32_t>(0, 5040)));
  Picks picks(numbers);
  const std::string text = random_program(picks);
  RC_LOG() << text;
  auto programs = parse("random", text);
  RC_ASSERT(programs.has_value());
  return std::move(programs->front());
}

std::string texts(const Program& program, const Outcomes& outcomes) {
  std::string text;
  for (const Outcome& outcome : outcomes) {
    text += to_text(program, outcome) + "\n";
  }
  return text;
}

void expect_agreement(const Program& program) {
  for (const ProfileName profile : kBothProfiles) {
    const auto machine = by_machine(program, profile_of(profile));
    RC_PRE(machine.has_value());
    const auto axioms = by_axioms(program, profile);
    RC_PRE(axioms.has_value());
    RC_LOG() << to_string(profile) << ": the machine, then the axioms\n";
    RC_ASSERT(texts(program, *machine) == texts(program, *axioms));
  }
}

TEST(LitmusAxioms, AgreeWithTheMachineOnTheSuite) {
  for (const Program& program : suite()) {
    for (const ProfileName profile : kBothProfiles) {
      const auto axiomatic = axioms::outcomes(program, profile);
      ASSERT_TRUE(axiomatic) << axiomatic.error().detail();
      EXPECT_EQ(*axiomatic, explored(program, profile).outcomes) << program.name << " " << to_string(profile);
    }
  }
}

TEST(LitmusAxioms, RefuseWhatIsTooLargeForThem) {
  std::string text = "litmus Long\ninit x@A=0\nthread A on A\n";
  for (int count = 0; count < 65; ++count) {
    text += "st x@A 1\n";
  }
  const auto refused = axioms::outcomes(program_of(text), ProfileName::strict);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().detail(), "Long has more than 128 events");
  const auto limited = axioms::outcomes(suite().front(), ProfileName::strict, 1);
  ASSERT_FALSE(limited);
  EXPECT_EQ(limited.error().detail(), "A01 has more than 1 candidate executions");
}

RC_GTEST_PROP(LitmusAxioms, AgreeWithTheMachineOnRandomPrograms, ()) {
  expect_agreement(drawn_program());
}

// The same again, so that a run of the tests tries a few hundred.
RC_GTEST_PROP(LitmusAxioms, AgreeWithTheMachineOnMoreRandomPrograms, ()) {
  expect_agreement(drawn_program());
}

RC_GTEST_PROP(LitmusLaws, AWeakerProfileForbidsNothingThatAStrongerOneAllows, ()) {
  const Program program = drawn_program();
  const auto strict = by_machine(program, profile_of(ProfileName::strict));
  const auto portable = by_machine(program, profile_of(ProfileName::portable));
  const auto relaxed = by_machine(program, profile_of(ProfileName::relaxed));
  const auto unordered = by_machine(program, profile_of(ProfileName::unordered));
  RC_PRE(strict && portable && relaxed && unordered);
  RC_ASSERT(is_subset(*strict, *portable));
  RC_ASSERT(is_subset(*portable, *relaxed));
  RC_ASSERT(is_subset(*relaxed, *unordered));
}

// Also where the program then gets stuck more often: a run of the longer program that ends is, without the new step, a
// run of the shorter one that ends.
RC_GTEST_PROP(LitmusLaws, OneFenceOrPollMoreNeverAddsOutcomes, ()) {
  Program program = drawn_program();
  const Program before = program;
  const auto which = *rc::gen::inRange<std::size_t>(0, 3);
  Thread& thread = program.threads[*rc::gen::inRange<std::size_t>(0, program.threads.size())];
  const auto at = *rc::gen::inRange<std::size_t>(0, thread.instructions.size() + 1);
  Instruction added;
  added.queue = static_cast<QueueIndex>(*rc::gen::inRange<std::size_t>(0, program.queues.size()));
  const Queue& queue = program.queues[added.queue];
  if (which == 0) {
    RC_PRE(!program.operations.empty());
    program.operations[*rc::gen::inRange<std::size_t>(0, program.operations.size())].is_fenced = true;
  } else {
    added.opcode = which == 1 ? Opcode::fence : queue.from == thread.node ? Opcode::poll : Opcode::receive_poll;
    RC_PRE(which == 1 || queue.from == thread.node || queue.to == thread.node);
    thread.instructions.insert(thread.instructions.begin() + static_cast<std::ptrdiff_t>(at), added);
  }
  RC_LOG() << to_text(program);
  for (const ProfileName profile : kBothProfiles) {
    const auto fewer = by_machine(program, profile_of(profile));
    const auto more = by_machine(before, profile_of(profile));
    RC_PRE(fewer && more);
    RC_ASSERT(is_subset(*fewer, *more));
  }
}

// One entry of a profile's table made weaker.
struct WrongTable {
  std::string name;
  Profile profile;
};

std::vector<WrongTable> wrong_tables() {
  constexpr Extent Profile::Row::*columns[] = {&Profile::Row::writes_under_way, &Profile::Row::put_reads,
                                               &Profile::Row::put_writes, &Profile::Row::atomic_writes,
                                               &Profile::Row::results};
  std::vector<WrongTable> tables;
  for (const ProfileName profile : kBothProfiles) {
    const Profile right = profile_of(profile);
    for (std::size_t row = 0; row < kSubActions; ++row) {
      for (std::size_t column = 0; column < std::size(columns); ++column) {
        for (Extent weaker : {Extent::none, Extent::same_location}) {
          if (weaker < right.rows[row].*columns[column]) {
            WrongTable wrong{
                fmt::format("{} row {} column {} is {}", to_string(profile), row, column, static_cast<int>(weaker)),
                right};
            wrong.profile.rows[row].*columns[column] = weaker;
            tables.push_back(wrong);
          }
        }
      }
    }
    if (right.commits == Extent::all) {
      WrongTable wrong{fmt::format("{} commits", to_string(profile)), right};
      wrong.profile.commits = Extent::same_location;
      tables.push_back(wrong);
    }
  }
  return tables;
}

// Each shows one entry that no test of the suite shows.
constexpr std::string_view kTelling[] = {
    // A fenced put's local read and an earlier get's data under way toward another location.
    "init x@A=0 y@A=9 r@B=7 z@B=5\nthread A on A\nget q y@A <- r@B\nput.fence q z@B <- x@A\n"
    "thread U on A\nst x@A 1\nmf\nld r y@A\n",
    // A get's read and an earlier atomic's write elsewhere.
    "init r@A=9 g@A=9 x@B=0 y@B=0\nthread A on A\nrfaa q r@A <- x@B + 1\nget q g@A <- y@B\n"
    "thread B on B\nst y@B 1\nmf\nld r x@B\n",
    // Results of gets toward two locations, and toward one.
    "init a@A=9 b@A=9 x@B=0 y@B=0\nthread A on A\nget q a@A <- x@B\nget q b@A <- y@B\n"
    "thread U on A\nld r b@A\nld s a@A\n",
    "init a@A=9 x@B=1 y@B=2\nthread A on A\nget q a@A <- x@B\nget q a@A <- y@B\n",
    // Two atomics at two locations, and at one.
    "init r@A=9 s@A=9 x@B=0 y@B=0\nthread A on A\nrfaa q r@A <- x@B + 1\nrfaa q s@A <- y@B + 1\n"
    "thread B on B\nld r y@B\nld s x@B\n",
    "init r@A=9 s@A=9 x@B=0\nthread A on A\nrfaa q r@A <- x@B + 1\nrfaa q s@A <- x@B + 1\n",
    // Results of atomics toward two locations, and toward one.
    "init a@A=9 b@A=9 x@B=5 y@B=5\nthread A on A\nrfaa q a@A <- x@B + 1\nrfaa q b@A <- y@B + 1\n"
    "thread U on A\nld r b@A\nld s a@A\n",
    "init a@A=9 x@B=5 y@B=6\nthread A on A\nrfaa q a@A <- x@B + 1\nrfaa q a@A <- y@B + 1\n",
    // A put's write and an earlier atomic's at the same location.
    "init r@A=9 d@A=9 x@B=0\nthread A on A\nrfaa q r@A <- x@B + 1\nput q x@B <- d@A\n",
};

TEST(LitmusAxioms, CanaryEveryEntryOfAProfilesTableIsNoticedWhenItIsMissing) {
  std::vector<WrongTable> unnoticed = wrong_tables();
  EXPECT_GT(unnoticed.size(), 25U);
  const auto try_on = [&](const Program& program) {
    for (const ProfileName profile : kBothProfiles) {
      const auto right = by_axioms(program, profile);
      std::erase_if(unnoticed, [&](const WrongTable& wrong) {
        const auto found = wrong.profile.name == profile && right ? by_machine(program, wrong.profile) : std::nullopt;
        return found && *found != *right;
      });
    }
  };
  for (const Program& program : suite()) {
    try_on(program);
  }
  for (const std::string_view text : kTelling) {
    try_on(program_of(fmt::format("litmus Telling\nqueue q A B\n{}", text)));
  }
  for (const WrongTable& wrong : unnoticed) {
    ADD_FAILURE() << wrong.name << " was not noticed";
  }
}

}  // namespace
}  // namespace ferry::sim::litmus
