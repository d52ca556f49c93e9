// A failure is made small: processes, commands, faults and hosts that it does not need are left out, and the artefact
// runs what is left.
#include <ferry/sim/shrink.hpp>

#include <algorithm>
#include <cstdlib>
#include <set>

#include <gmock/gmock.h>

#include <ferry/explorer/explore.hpp>
#include <ferry/sim/rapidcheck.hpp>

#include "task_program.hpp"

namespace ferry::sim::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct Command {
  int number = 0;
  friend std::ostream& operator<<(std::ostream& out, const Command& command) { return out << "add " << command.number; }
};

// How the world that needs commands 3 and 8 and a pause of the second process shows it.
enum class Bug { fails, aborts };

struct Seen {
  std::vector<int> commands;
  bool was_paused = false;
};

Task<void> obey(World& world, std::vector<Command> commands, Seen& seen) {
  for (const Command& command : commands) {
    co_await sleep_for(1ms);
    seen.commands.push_back(command.number);
    seen.was_paused = seen.was_paused || world.faults().is_paused(*world.processes()[1]);
  }
}

Task<void> idle(Duration time) {
  co_await sleep_for(time);
}

bool has(const Seen& seen, int number) {
  return std::ranges::find(seen.commands, number) != seen.commands.end();
}

// Twelve commands, five faults, three hosts.
WorldResult run_buggy(const WorldOptions& options, Bug bug) {
  Seen seen;
  std::vector<Command> commands;
  for (int number = 1; number <= 12; ++number) {
    commands.push_back({number});
  }
  World world(options);
  const std::vector<Command> kept = world.parts("command", commands);
  world.start("first", run_task([&](Island&) { return obey(world, kept, seen); }));
  Process& second = world.start("second", run_task([](Island&) { return idle(1s); }));
  Process& third = world.start("third", run_task([](Island&) { return idle(1s); }), {},
                               Host{static_cast<std::uint32_t>(options.hosts - 1)});
  world.at(10us).set_drift(third, 100);
  world.at(20us).cut(second, third);
  world.at(30us).pause(second);
  world.at(40us).refuse_spawns(world.host(0), 2);
  world.at(50us).crash(third);
  world.at(500ms).heal();
  world.always("the sum is right", [&](const View&) {
    const bool is_wrong = has(seen, 3) && has(seen, 8) && seen.was_paused;
    if (is_wrong && bug == Bug::aborts) {
      std::abort();
    }
    return !is_wrong;
  });
  return world.run();
}

RunWorld buggy(Bug bug) {
  return [bug](const WorldOptions& options) { return run_buggy(options, bug); };
}

std::vector<std::string> kept_texts(const WorldResult& result) {
  std::vector<std::string> texts;
  for (const Part& part : result.parts) {
    if (!part.is_left_out) {
      texts.push_back(part.text);
    }
  }
  return texts;
}

TEST(Shrink, LeavesTheTwoCommandsAndTheFaultThatTheFailureNeeds) {
  const Exploration found = explore({.seeds = 3, .hosts = 3}, buggy(Bug::fails));
  ASSERT_TRUE(found.failure);
  const ExploredFailure& failure = *found.failure;
  EXPECT_EQ(failure.found.parts.size(), 17U);
  EXPECT_EQ(kept_texts(failure.found).size(), 17U) << "the run that found it had everything";
  EXPECT_THAT(kept_texts(failure.smallest),
              ElementsAre("add 3", "add 8", "0.000030000 s: pause of process 2 (second)"));
  EXPECT_EQ(failure.hosts, 1U);
  EXPECT_EQ(count_choices(failure.choices), 0U) << to_text(failure.choices);
  EXPECT_EQ(failure_name(failure.smallest), failure_name(failure.found));
  EXPECT_THAT(
      failure.to_text(),
      AllOf(HasSubstr("# of 17 parts of its program and plans it has 3\n#   command 3: add 3\n"
                      "#   command 8: add 8\n#   planned fault 3: 0.000030000 s: pause of process 2 (second)\n"),
            Not(HasSubstr("hosts "))));
  const auto again = replay(failure.to_text(), {}, buggy(Bug::fails));
  ASSERT_TRUE(again) << again.error().to_text();
  EXPECT_EQ(again->to_text(), failure.smallest.to_text());
  EXPECT_EQ(kept_texts(*again), kept_texts(failure.smallest));
}

TEST(Shrink, DoesSoWithTheWorkersOfAllCoresToo) {
  const Exploration here = explore({.seeds = 3, .hosts = 3}, buggy(Bug::fails));
  const Exploration found = ferry::explore({.seeds = 3, .hosts = 3, .workers = 2}, buggy(Bug::fails));
  ASSERT_TRUE(found.failure);
  EXPECT_EQ(found.failure->to_text(), here.failure->to_text());
}

TEST(Shrink, DoesSoForAWorldThatDies) {
  const Exploration found =
      ferry::explore({.seeds = 1, .hosts = 3, .workers = 2, .shrink_runs = 300}, buggy(Bug::aborts));
  ASSERT_TRUE(found.failure);
  const ExploredFailure& failure = *found.failure;
  EXPECT_EQ(failure.smallest.outcome, Outcome::crash);
  EXPECT_EQ(failure.hosts, 1U);
  EXPECT_EQ(std::ranges::count(failure.choices, ChoiceKind::omit, &Choice::kind), 14) << failure.to_text();
  const auto still = [&](std::string_view name, std::uint64_t ordinal) {
    return std::ranges::none_of(failure.choices, [&](const Choice& choice) {
      return choice.subject == subject_of_parts(name) && choice.ordinal == ordinal;
    });
  };
  EXPECT_TRUE(still("command", 2) && still("command", 7) && still("planned fault", 2)) << failure.to_text();
}

TEST(Shrink, StopsAtItsBudgetWithTheBestSoFar) {
  const Exploration found = explore({.seeds = 1, .hosts = 3, .shrink_runs = 9}, buggy(Bug::fails));
  ASSERT_TRUE(found.failure);
  const auto kept = kept_texts(found.failure->smallest);
  EXPECT_LT(kept.size(), 17U);
  EXPECT_GT(kept.size(), 3U);
  EXPECT_EQ(failure_name(found.failure->smallest), failure_name(found.failure->found));
}

// Of a generated program: whole processes go first, and what is left of one moves nothing in another.
Task<void> act(std::vector<OneSided> operations, bool& adds_and_swaps) {
  std::set<OneSided::Kind> kinds;
  for (const OneSided& one : operations) {
    co_await sleep_for(1ms);
    kinds.insert(one.kind);
  }
  adds_and_swaps =
      adds_and_swaps || (kinds.contains(OneSided::Kind::fetch_add) && kinds.contains(OneSided::Kind::compare_swap));
}

WorldResult run_generated(const WorldOptions& options) {
  bool is_wrong = false;
  World world(options);
  const SmallProgram program = kept(world, sampled(gen::small_program(4, 12), world, 100));
  const auto plan = sampled(gen::fault_plan(1ms, 5), world, 100);
  for (const auto& operations : program.processes) {
    world.start("one", run_task([&](Island&) { return act(operations, is_wrong); }));
  }
  arrange(world, plan);
  world.always("nobody adds and swaps", [&](const View&) { return !is_wrong; });
  return world.run();
}

TEST(Shrink, OfAGeneratedProgramOneProcessWithTwoOperationsIsLeft) {
  const Exploration found = explore({.seeds = 200, .first_seed = 1}, run_generated);
  ASSERT_TRUE(found.failure);
  const WorldResult& smallest = found.failure->smallest;
  ASSERT_EQ(smallest.outcome, Outcome::invariant) << smallest.to_text();
  std::size_t processes = 0;
  std::size_t operations = 0;
  for (const Part& part : smallest.parts) {
    if (!part.is_left_out) {
      processes += part.name == "process" ? 1 : 0;
      operations += part.name.starts_with("operation of process ") ? 1 : 0;
      EXPECT_NE(part.name, "generated fault");
    }
  }
  EXPECT_EQ(processes, 1U) << found.failure->to_text();
  EXPECT_EQ(operations, 2U) << found.failure->to_text();
  const auto again = replay(found.failure->to_text(), {}, run_generated);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->to_text(), smallest.to_text());
}

TEST(Shrink, RunsThatLeaveNothingOutAreAsTheyWereWithoutParts) {
  for (const Strategy strategy : {Strategy::random, Strategy::pct, Strategy::starving}) {
    const auto source = make_choices(strategy, 5);
    RecordingChoices recording(*source);
    const WorldResult result = run_buggy({.seed = 5, .hosts = 3, .choices = &recording}, Bug::fails);
    EXPECT_EQ(kept_texts(result).size(), 17U);
    EXPECT_EQ(std::ranges::count(recording.choices(), ChoiceKind::omit, &Choice::kind), 0);
  }
}

}  // namespace
}  // namespace ferry::sim::test
