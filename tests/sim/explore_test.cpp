// Exploring: strategies, what they find, how a failure is made small and run again.
#include <ferry/sim/explore.hpp>

#include <array>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "task_program.hpp"

namespace ferry::sim::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// A reader polls a flag that a writer writes beside the data, without an order.
Task<void> publish(Island& island, Board& board, bool in_order) {
  const BufferRef data = co_await wait_for(board, "data", island);
  const BufferRef flag = co_await wait_for(board, "flag", island);
  std::array<std::uint64_t, 4> words{1, 1, 1, 1};
  std::array<std::uint64_t, 1> one{};
  co_await flag.read_into(std::span(one));
  one[0] = 1;
  auto first = start(data.write_from(std::span(words)));
  if (in_order) {
    co_await first;
  }
  co_await flag.write_from(std::span(one));
  if (!in_order) {
    co_await first;
  }
}

Task<void> consume(Island& island, Board& board) {
  std::array<std::uint64_t, 4> words{};
  std::array<std::uint64_t, 1> flag{};
  RDMABuffer data = register_memory(island.node(), std::span(words));
  RDMABuffer ready = register_memory(island.node(), std::span(flag));
  board.post("data", island, data);
  board.post("flag", island, ready);
  while (flag[0] == 0) {
    co_await sleep_for(500ns);
  }
  const bool whole = std::ranges::all_of(words, [](std::uint64_t word) { return word == 1; });
  require(whole, "the flag came before word " + std::to_string(std::ranges::find(words, 0U) - words.begin()));
  co_await sleep_for(5s);
}

RunWorld mailbox(bool in_order) {
  return [in_order](const WorldOptions& options) {
    Board board;
    World world(options);
    world.start("reader", run_task([&](Island& island) { return consume(island, board); }));
    world.start("writer", run_task([&](Island& island) { return publish(island, board, in_order); }));
    return world.run();
  };
}

TEST(Explore, ProgramThatKeepsTheContractPassesEverySeedAndStrategy) {
  const Exploration all = explore({.seeds = 600}, mailbox(true));
  EXPECT_EQ(all.worlds, 600U);
  ASSERT_FALSE(all.failure) << all.failure->to_text();
}

TEST(Explore, FailureIsMadeSmallAndItsArtefactRunsAgainToTheSameHashes) {
  const Exploration found = explore({.seeds = 1000}, mailbox(false));
  ASSERT_TRUE(found.failure);
  const ExploredFailure& failure = *found.failure;
  EXPECT_EQ(failure_name(failure.found), failure_name(failure.smallest));
  EXPECT_THAT(failure.smallest.what, HasSubstr("the flag came before word "));
  EXPECT_LE(failure.choices.size(), 4U) << failure.to_text();
  EXPECT_LT(failure.choices.size(), failure.found_choices);
  EXPECT_THAT(failure.to_text(), StartsWith("ferry-sim-failure 1\n# failed after "));
  const auto again = replay(failure.to_text(), {}, mailbox(false));
  ASSERT_TRUE(again) << again.error().to_text();
  EXPECT_EQ(again->to_text(), failure.smallest.to_text());
  const auto mended = replay(failure.to_text(), {}, mailbox(true));
  ASSERT_TRUE(mended);
  EXPECT_EQ(mended->outcome, Outcome::passed);
}

TEST(Explore, EveryStrategyFindsIt) {
  for (const Strategy strategy : {Strategy::random, Strategy::pct, Strategy::starving}) {
    const Exploration found = explore({.seeds = 1000, .strategies = {strategy}, .shrink_runs = 0}, mailbox(false));
    ASSERT_TRUE(found.failure) << to_string(strategy);
    EXPECT_EQ(found.failure->strategy, strategy);
    EXPECT_EQ(found.failure->choices.size(), found.failure->found_choices) << "nothing was to be made small";
  }
}

TEST(Explore, RecordedChoicesAreTheRun) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto source = make_choices(static_cast<Strategy>(seed % kStrategies), seed);
    RecordingChoices recording(*source);
    const WorldResult recorded = mailbox(true)({.seed = seed, .choices = &recording});
    const auto parsed = parse_choices(to_text(recording.choices()));
    ASSERT_TRUE(parsed) << parsed.error().to_text();
    ASSERT_EQ(*parsed, recording.choices());
    ReplayChoices replayed(*parsed);
    const WorldResult again = mailbox(true)({.seed = seed, .choices = &replayed});
    ASSERT_EQ(again.to_text(), recorded.to_text());
  }
}

TEST(Explore, StrategiesAreTheSameForTheSameSeedAndDifferFromEachOther) {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    for (const Strategy strategy : {Strategy::random, Strategy::pct, Strategy::starving}) {
      const auto run = [&] {
        const auto source = make_choices(strategy, seed);
        return mailbox(true)({.seed = seed, .choices = source.get()}).hash;
      };
      const std::uint64_t hash = run();
      ASSERT_EQ(run(), hash) << to_string(strategy) << " seed " << seed;
      hashes.insert(hash);
    }
  }
  EXPECT_EQ(hashes.size(), 90U);
}

TEST(Explore, NothingButFailuresOfTheSameNameCount) {
  const auto named = [](Outcome outcome, std::string what) {
    WorldResult result;
    result.outcome = outcome;
    result.what = std::move(what);
    return failure_name(result);
  };
  EXPECT_EQ(named(Outcome::failed, "word 17 of 3\nelsewhere"), "failed: word # of #");
  EXPECT_EQ(named(Outcome::failed, "word 9 of 30"), named(Outcome::failed, "word 17 of 3\nelsewhere"));
  EXPECT_NE(named(Outcome::failed, "byte 9 of 30"), named(Outcome::failed, "word 9 of 30"));
  EXPECT_EQ(named(Outcome::stuck, "who waits for whom"), "stuck");
}

TEST(Explore, ShrinkingKeepsWhatTheFailureNeedsAndStopsAtItsBudget) {
  ChoiceList choices;
  for (std::uint64_t ordinal = 0; ordinal < 100; ++ordinal) {
    choices.push_back({ChoiceKind::next, 0, ordinal, 9});
  }
  std::size_t asked = 0;
  const auto needs_two = [&asked](const ChoiceList& candidate) {
    ++asked;
    const auto has = [&candidate](std::uint64_t ordinal, std::uint64_t answer) {
      return std::ranges::any_of(
          candidate, [&](const Choice& choice) { return choice.ordinal == ordinal && choice.answer >= answer; });
    };
    return has(17, 1) && has(71, 5);
  };
  const ChoiceList smallest = shrink(choices, 10'000, needs_two);
  EXPECT_EQ(smallest, (ChoiceList{{ChoiceKind::next, 0, 17, 1}, {ChoiceKind::next, 0, 71, 5}}));
  EXPECT_LT(asked, 200U);
  asked = 0;
  EXPECT_TRUE(needs_two(shrink(choices, 7, needs_two)));
  EXPECT_LE(asked, 8U);
}

TEST(Explore, ArtefactsThatAreNoneAreRefusedWithWhatWasExpected) {
  const auto refusal = [](std::string_view artefact) {
    const auto result = replay(artefact, {}, mailbox(true));
    return result ? std::string("it ran") : result.error().to_text();
  };
  EXPECT_EQ(refusal(""), "malformed: the artefact: \"ferry-sim-failure 1\" expected, found \"\"");
  EXPECT_EQ(refusal("ferry-sim-failure 1\n# text\nsead 5\n"),
            "malformed: the artefact: \"seed NUMBER\" expected, found \"sead 5\"");
  EXPECT_EQ(refusal("ferry-sim-failure 1\nseed 5x\n"),
            "malformed: the artefact: \"seed NUMBER\" expected, found \"seed 5x\"");
  EXPECT_EQ(refusal("ferry-sim-failure 1\nseed 5\nnext 0 0 1\n"),
            "malformed: the artefact: \"choices NUMBER\" expected, found \"next 0 0 1\"");
  EXPECT_EQ(refusal("ferry-sim-failure 1\nseed 5\nchoices 2\nnext 0 0 1\n"),
            "malformed: the artefact: 2 choices expected, found 1");
  EXPECT_EQ(refusal("ferry-sim-failure 1\nseed 5\nchoices 1\nnext 0 0\n"),
            "malformed: \"next 0 0\" is no choice; expected KIND SUBJECT ORDINAL ANSWER, as in \"next 0 17 2\"");
  EXPECT_EQ(refusal("ferry-sim-failure 1\nseed 5\nchoices 1\nlast 0 0 1\n"),
            "malformed: \"last 0 0 1\" is no choice; expected KIND SUBJECT ORDINAL ANSWER, as in \"next 0 17 2\"");
  EXPECT_THROW(static_cast<void>(explore({.strategies = {}}, mailbox(true))), Error);
}

// Two lanes of ten steps each, and one order of 2^20 or so: the first lane stops behind its fifth step until the other
// has ended.
TEST(Strategies, PCTOfDepthTwoFindsAnOrderThatARandomWalkHardlyEverDoes) {
  const auto finds = [](ChoiceSource& choices) {
    std::array<std::size_t, 2> done{};
    while (done[0] < 10 || done[1] < 10) {
      std::vector<Lane> able;
      for (std::size_t lane = 0; lane < 2; ++lane) {
        if (done[lane] < 10) {
          able.push_back(lane + 1);
        }
      }
      const std::size_t index = able.size() < 2 ? 0 : choices.choose({ChoiceKind::next, able.size(), 0, able});
      const Lane moved = able[index];
      if (moved == 2 && done[0] != 5) {
        return false;
      }
      ++done[moved - 1];
      if (moved == 2 && done[1] == 10) {
        return true;
      }
    }
    return false;
  };
  std::size_t by_pct = 0;
  std::size_t by_walk = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    PCTChoices pct(seed, 2, 20);
    SeededChoices walk(seed);
    by_pct += finds(pct) ? 1 : 0;
    by_walk += finds(walk) ? 1 : 0;
  }
  // The first lane is the one to begin with probability 1/2, and falls behind at its fifth step with 1/20: 50 of 2000.
  EXPECT_GE(by_pct, 30U);
  EXPECT_LE(by_walk, 2U);
}

}  // namespace
}  // namespace ferry::sim::test
