// What carries the machine: encodings, the table of states, limits, sampling, witnesses, narration.
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ferry/base/random.hpp>
#include <ferry/sim/litmus/diagram.hpp>
#include <ferry/sim/litmus/narration.hpp>
#include <ferry/sim/litmus/program_text.hpp>
#include <ferry/sim/litmus/sampler.hpp>
#include <ferry/sim/litmus/state_codec.hpp>
#include <ferry/sim/litmus/state_table.hpp>
#include <ferry/sim/litmus/verdict.hpp>
#include <ferry/sim/litmus/witness.hpp>

#include "litmus_programs.hpp"

namespace ferry::sim::litmus {
namespace {

TEST(LitmusText, EveryTestOfTheSuiteIsTheSameAfterWritingAndReading) {
  for (const Program& program : suite()) {
    const std::string text = to_text(program);
    EXPECT_EQ(to_text(program_of(text)), text);
  }
}

// Walks at random through every test of the suite and shows each state that it passes.
template <class Visit>
void walk(const Visit& visit) {
  Random random(5);
  for (const Program& program : suite()) {
    const Machine machine(program, profile_of(ProfileName::portable));
    for (int run = 0; run < 20; ++run) {
      State state = machine.initial();
      std::vector<Step> steps;
      std::size_t length = 0;
      for (machine.find_enabled(state, steps); !steps.empty(); machine.find_enabled(state, steps)) {
        visit(program, state);
        machine.take(state, steps[random.below(steps.size())]);
        ++length;
      }
      visit(program, state);
      EXPECT_EQ(length, run_length(program)) << program.name;
    }
  }
}

TEST(LitmusState, SurvivesItsEncodingAndRunsHaveTheLengthThatTheProgramSays) {
  std::size_t visited = 0;
  walk([&](const Program& program, const State& state) {
    std::string bytes;
    encode(program, state, bytes);
    State again;
    decode(program, bytes, again);
    EXPECT_EQ(again, state);
    ++visited;
  });
  EXPECT_GT(visited, 10'000U);
}

TEST(LitmusState, LargeValuesSurviveTheirEncoding) {
  const Program program = program_of("litmus T\ninit x@A=0 y@A=0\nthread A on A\nst x@A 1\n");
  for (const Value value : {Value{127}, Value{128}, Value{1} << 35, ~Value{0}}) {
    State state;
    state.memory = {value, 1};
    state.threads = {{1, {{false, 0, value}}}};
    std::string bytes;
    encode(program, state, bytes);
    State again;
    decode(program, bytes, again);
    EXPECT_EQ(again, state);
  }
}

TEST(LitmusStateTable, NumbersDistinctEncodingsAndKeepsThem) {
  StateTable table;
  const auto encoding = [](std::uint32_t number) {
    return std::to_string(mix64(number)) + std::string(number % 40000, 'x');
  };
  constexpr std::uint32_t count = 5000;
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t number = 0; number < count; ++number) {
      EXPECT_EQ(table.insert(encoding(number)), std::pair(number, round == 0));
    }
  }
  EXPECT_EQ(table.size(), count);
  for (std::uint32_t number = 0; number < count; ++number) {
    ASSERT_EQ(table[number], encoding(number));
  }
  EXPECT_TRUE(table.insert("").second);
  EXPECT_FALSE(table.insert("").second);
}

TEST(LitmusExplorer, GivesUpAtItsLimitAndSaysSo) {
  const Program program = program_of("litmus Big\ninit x@A=0\nthread A on A\nst x@A 1\nst x@A 2\nst x@A 3\n");
  const Machine machine(program, profile_of(ProfileName::strict));
  const auto all = explore(machine);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->states, 10U);
  ASSERT_TRUE(explore(machine, {10, {}}));
  const auto limited = explore(machine, {9, {}});
  ASSERT_FALSE(limited);
  EXPECT_EQ(limited.error().code(), errc::resource_exhausted);
  EXPECT_EQ(limited.error().detail(), "Big has more than 9 states under strict");
}

TEST(LitmusSampler, SeesOnlyOutcomesThatExistAndMostOfThem) {
  for (const SamplingStrategy strategy : {SamplingStrategy::random, SamplingStrategy::pct}) {
    std::size_t seen = 0;
    std::size_t all = 0;
    for (const Program& program : suite()) {
      for (const ProfileName profile : kBothProfiles) {
        const Machine machine(program, profile_of(profile));
        const Sample sampled = sample(machine, {strategy, 1000, 7});
        const std::vector<Outcome> outcomes = explored(program, profile).outcomes;
        std::size_t runs = 0;
        for (const auto& [outcome, count] : sampled.hits) {
          EXPECT_TRUE(std::binary_search(outcomes.begin(), outcomes.end(), outcome)) << program.name;
          runs += count;
        }
        EXPECT_EQ(runs, 1000U);
        seen += sampled.hits.size();
        all += outcomes.size();
      }
    }
    EXPECT_GE(10 * seen, 9 * all) << "of all outcomes of the suite";
  }
}

TEST(LitmusSampler, TheSeedDecides) {
  const Program program = suite().front();
  const Machine machine(program, profile_of(ProfileName::portable));
  for (const SamplingStrategy strategy : {SamplingStrategy::random, SamplingStrategy::pct}) {
    const auto hits = [&](std::uint64_t seed) { return sample(machine, {strategy, 500, seed}).hits; };
    EXPECT_EQ(hits(1), hits(1));
    EXPECT_NE(hits(1), hits(2));
  }
}

TEST(LitmusSampler, CountsRunsThatGetStuck) {
  const Program program = program_of("litmus T\ninit x@A=0\nthread T on A\nst x@A 1\nthread U on A\nwait x@A 0\n");
  const Machine machine(program, profile_of(ProfileName::strict));
  const Sample sampled = sample(machine, {SamplingStrategy::random, 1000, 1});
  EXPECT_GT(sampled.stuck, 0U);
  ASSERT_EQ(sampled.hits.size(), 1U);
  EXPECT_EQ(sampled.stuck + sampled.hits.begin()->second, 1000U);
}

TEST(LitmusVerdict, NotSeeingAnOutcomeProvesNothing) {
  using Comparison = Judgement::Comparison;
  Program program = program_of("litmus T\ninit x@A=0\nask x@A = 1\nexpect strict allowed, portable forbidden\n");
  EXPECT_EQ(judge_sampled(program, ProfileName::strict, {{{0}, {}}}).comparison, Comparison::missed);
  EXPECT_FALSE(judge_sampled(program, ProfileName::strict, {{{0}, {}}}).verdict);
  EXPECT_EQ(judge_sampled(program, ProfileName::strict, {{{1}, {}}}).comparison, Comparison::ok);
  EXPECT_EQ(judge_sampled(program, ProfileName::portable, {{{0}, {}}}).comparison, Comparison::ok);
  EXPECT_EQ(judge_sampled(program, ProfileName::portable, {{{1}, {}}}).comparison, Comparison::differs);
  program.expected = {};
  EXPECT_EQ(judge_sampled(program, ProfileName::portable, {{{0}, {}}}).comparison, Comparison::unchecked);
}

TEST(LitmusWitness, IsARunOfTheMachineToTheQuestionWhereverThatIsAllowed) {
  for (const Program& program : suite()) {
    for (const ProfileName profile : kBothProfiles) {
      const Machine machine(program, profile_of(profile));
      const auto witness = find_witness(machine);
      ASSERT_TRUE(witness);
      ASSERT_EQ(witness->has_value(), program.expected_of(profile) == Verdict::allowed) << program.name;
      if (!*witness) {
        continue;
      }
      State state = machine.initial();
      std::vector<Step> enabled;
      for (const Step& step : (*witness)->steps) {
        machine.find_enabled(state, enabled);
        ASSERT_NE(std::find(enabled.begin(), enabled.end(), step), enabled.end()) << program.name;
        machine.take(state, step);
      }
      machine.find_enabled(state, enabled);
      EXPECT_TRUE(enabled.empty());
      EXPECT_EQ(outcome_of(state), (*witness)->outcome);
      EXPECT_TRUE(satisfies((*witness)->outcome, *program.question)) << program.name;
      EXPECT_EQ((*witness)->steps.size(), run_length(program)) << program.name;
    }
  }
}

TEST(LitmusWitness, ComesToItsLimitAsTheExplorerDoes) {
  const Program program = suite().front();
  const Machine machine(program, profile_of(ProfileName::strict));
  const auto witness = find_witness(machine, {10, {}});
  ASSERT_FALSE(witness);
  EXPECT_EQ(witness.error().detail(), "A01 has more than 10 states under strict");
}

TEST(LitmusNarration, TellsWhereEachValueComesFromAndWhereItArrives) {
  const Program program = program_of(
      "litmus T\ninit a@A=1 x@B=0\nqueue q A B\nthread A on A\nst a@A 2\nput.imm q x@B <- a@A\npoll q\n"
      "thread B on B\nrpoll q\nld r x@B\nask B:r = 2\n");
  const Machine machine(program, profile_of(ProfileName::strict));
  const auto witness = find_witness(machine);
  ASSERT_TRUE(witness && *witness);
  const Narration narration = narrate(machine, (*witness)->steps);
  std::vector<std::string> lanes;
  for (const Lane& lane : narration.lanes) {
    lanes.push_back(lane.name);
  }
  EXPECT_EQ(lanes, (std::vector<std::string>{"A", "memory A", "q", "memory B", "B"}));
  std::string text;
  for (std::size_t number = 0; number < narration.events.size(); ++number) {
    const Event& event = narration.events[number];
    EXPECT_TRUE(!event.departure || *event.departure < number);
    text += narration.lanes[event.lane].name + ": " + event.sentence + "\n";
  }
  EXPECT_EQ(text,
            "A: st a@A 2 enters the store buffer\n"
            "memory A: a@A = 2 leaves the store buffer and reaches memory\n"
            "A: put.imm q x@B <- a@A enters the store buffer\n"
            "q: put.imm q x@B <- a@A leaves the store buffer for its queue\n"
            "q: put.imm q x@B <- a@A reads a@A = 2\n"
            "q: put.imm q x@B <- a@A sends x@B = 2 toward memory\n"
            "memory B: x@B = 2 reaches memory\n"
            "q: put.imm q x@B <- a@A: its receive completion sets out\n"
            "memory B: a receive completion of q is delivered\n"
            "q: put.imm q x@B <- a@A is done: its completion sets out\n"
            "memory A: a completion of q is delivered\n"
            "A: poll q takes a completion\n"
            "B: rpoll q takes a receive completion\n"
            "B: ld r x@B reads 2 from memory\n");
}

}  // namespace
}  // namespace ferry::sim::litmus
