// What a trace tells, as text, as JSON for Perfetto, and as a page.
#include <ferry/sim/trace.hpp>

#include <algorithm>
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <ferry/sim/explore.hpp>

#include "busy_program.hpp"

namespace ferry::sim::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

Trace traced(std::uint64_t seed, Faults swarm = {}) {
  Trace trace;
  const WorldResult result = run_busy({.seed = seed, .swarm = swarm, .trace = &trace});
  EXPECT_EQ(result.outcome, Outcome::passed) << result.to_text();
  EXPECT_EQ(trace.steps().back().index, result.steps);
  return trace;
}

TEST(Trace, ChangesNothingOfTheWorldAndIsTheSameForTheSameSeed) {
  Trace trace;
  EXPECT_EQ(run_busy({.seed = 3, .trace = &trace}).to_text(), run_busy({.seed = 3}).to_text());
  EXPECT_EQ(to_perfetto(traced(3)), to_perfetto(trace));
  EXPECT_NE(to_perfetto(traced(4)), to_perfetto(trace));
}

TEST(Trace, EveryMessageAndOperationComesFromAnEarlierStep) {
  const Trace trace = traced(5);
  EXPECT_THAT(trace.processes(), ElementsAre("root", "root/vault=0", "root/visitor=0", "root/visitor=1"));
  std::set<StepKind> kinds;
  std::uint64_t last = 0;
  for (const TracedStep& step : trace.steps()) {
    EXPECT_EQ(step.index, ++last);
    kinds.insert(step.kind);
    if (step.kind == StepKind::message || step.kind == StepKind::sample || step.kind == StepKind::place) {
      ASSERT_TRUE(step.cause) << to_text(step, trace.processes());
      EXPECT_LT(step.cause.step, step.index);
      EXPECT_LE(step.cause.at, step.at);
      EXPECT_EQ(trace.steps()[step.cause.step - 1].process, step.cause.process);
    }
  }
  EXPECT_TRUE(kinds.contains(StepKind::message) && kinds.contains(StepKind::sample) &&
              kinds.contains(StepKind::packet) && kinds.contains(StepKind::poll));
}

TEST(Trace, TheLastLinesAreWhatPeopleWantToSeeInOrder) {
  const Trace trace = traced(5);
  const std::vector<std::string> lines = last_lines(trace, 1'000'000);
  EXPECT_THAT(lines.front(), StartsWith("0.000000000 s  root: "));
  EXPECT_THAT(lines, Contains(HasSubstr("root/vault=0: log: the sum is ")));
  EXPECT_THAT(lines, Contains(HasSubstr("root/vault=0: begins")));
  EXPECT_THAT(lines, Contains(HasSubstr("root: ends: exited with status 0")));
  EXPECT_THAT(lines, Contains(HasSubstr(": message of channel ")));
  EXPECT_THAT(lines, Not(Contains(HasSubstr(": job "))));
  EXPECT_TRUE(std::ranges::is_sorted(lines, {}, [](const std::string& line) { return line.substr(0, 11); }));
  const std::vector<std::string> few = last_lines(trace, 5);
  EXPECT_EQ(few, std::vector<std::string>(lines.end() - 5, lines.end()));
  EXPECT_THAT(last_lines(Trace(), 5), IsEmpty());
}

TEST(Trace, KeepsTheLastOfManySteps) {
  Trace small(10);
  const WorldResult result = run_busy({.seed = 5, .trace = &small});
  ASSERT_EQ(small.steps().size(), 10U);
  EXPECT_EQ(small.steps().back().index, result.steps);
  EXPECT_EQ(small.dropped(), result.steps - 10);
}

TEST(Perfetto, IsJSONWithATrackPerProcessAndArrowsBetweenThem) {
  const auto json = nlohmann::json::parse(to_perfetto(traced(5)));
  std::set<std::string> names;
  std::multiset<std::string> phases;
  std::map<std::uint64_t, double> starts;
  for (const auto& event : json.at("traceEvents")) {
    const std::string phase = event.at("ph");
    phases.insert(phase);
    if (phase == "M") {
      names.insert(event.at("args").at("name"));
    } else if (phase == "s") {
      starts[event.at("id")] = event.at("ts");
    } else if (phase == "f") {
      ASSERT_TRUE(starts.contains(event.at("id")));
      EXPECT_LE(starts[event.at("id")], event.at("ts").get<double>());
    }
  }
  EXPECT_EQ(names, (std::set<std::string>{"world", "root", "root/vault=0", "root/visitor=0", "root/visitor=1"}));
  EXPECT_GE(phases.count("s"), 20U);
  EXPECT_EQ(phases.count("s"), phases.count("f"));
}

TEST(Perfetto, EscapesWhatJSONDoesNotTake) {
  Trace trace;
  trace.on_event({{}, 0, ProcessNumber(1), TracedEvent::Kind::begins, "a\"b\\c\n"});
  const auto json = nlohmann::json::parse(to_perfetto(trace));
  EXPECT_EQ(json.at("traceEvents")[1].at("args").at("name"), "a\"b\\c\n");
}

TEST(Page, ShowsLanesArrowsFaultsAndNothingFromElsewhere) {
  for (std::uint64_t seed = 0;; ++seed) {
    ASSERT_LT(seed, 200U);
    const Trace trace = traced(seed, Fault::pause);
    if (trace.events().size() < 14) {
      continue;
    }
    const std::string page = to_html(trace, "seed <5> & more");
    EXPECT_THAT(page, HasSubstr("<h1>seed &lt;5&gt; &amp; more</h1>"));
    EXPECT_THAT(page, HasSubstr(">root/visitor=1 (4)</text>"));
    EXPECT_THAT(page, HasSubstr("class=\"arrow op\""));
    EXPECT_THAT(page, HasSubstr("class=\"dot fault\""));
    EXPECT_THAT(page, HasSubstr(" paused</text>"));
    EXPECT_THAT(page, Not(HasSubstr("src=")));
    EXPECT_THAT(page, Not(HasSubstr("href=")));
    EXPECT_THAT(page, Not(HasSubstr("nan")));
    break;
  }
  EXPECT_THAT(to_html(Trace(), "empty"), HasSubstr("</html>"));
}

TEST(Artefact, TellsTheEndOfWhatHappened) {
  const auto program = [](World& world, Context& context) {
    world.at(2ms, [&world] { world.fail("enough"); });
    return be_busy(context, 1);
  };
  const Exploration found = explore({.seeds = 1, .story_lines = 8}, kBusyActors, program);
  ASSERT_TRUE(found.failure);
  EXPECT_EQ(found.failure->story.size(), 8U);
  const std::string artefact = found.failure->to_text();
  EXPECT_THAT(artefact, HasSubstr("# The last that happened:\n#   0.00"));
  EXPECT_THAT(artefact, HasSubstr("#   0.002000000 s  world: plan 1\n"));
  Trace trace;
  const auto again = replay(artefact, {.trace = &trace}, kBusyActors, program);
  ASSERT_TRUE(again) << again.error().to_text();
  EXPECT_EQ(again->to_text(), found.failure->smallest.to_text());
  EXPECT_EQ(last_lines(trace, 8), found.failure->story);
}

}  // namespace
}  // namespace ferry::sim::test
