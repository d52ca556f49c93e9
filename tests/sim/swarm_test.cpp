// Swarms: the faults that a world draws for itself; buggify and sometimes.
#include <set>

#include <gmock/gmock.h>

#include <ferry/actor/actor.hpp>
#include <ferry/base/buggify.hpp>
#include <ferry/base/sleep.hpp>
#include <ferry/sim/explore.hpp>

namespace ferry::sim::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Counter : public Actor {
 public:
  explicit Counter(ActorContext& context) : buffer_(context.register_memory(std::span(words_))) {}
  std::uint64_t add(std::uint64_t number) { return sum_ += number; }
  std::uint64_t sum() { return sum_; }
  std::uint64_t total() const { return sum_; }
  static constexpr auto endpoints = ferry::endpoints<&Counter::add, &Counter::sum>;

 private:
  std::array<std::uint64_t, 4> words_{};
  std::uint64_t sum_ = 0;
  RDMABuffer buffer_;
};

constexpr auto kActors = ferry::actors<Counter>;

// Works with two children for some milliseconds, and bears with whatever happens to them.
Task<void> bear_with_it(Context context) {
  for (int life = 0; life < 6; ++life) {
    try {
      auto processes = co_await context.this_host().spawn_procs({{"counter", 2}});
      auto counters = co_await processes.spawn<Counter>("counter" + std::to_string(life));
      const ActorRef<Counter> first = counters[0];
      for (std::uint64_t round = 0; round < 20; ++round) {
        static_cast<void>(first.try_send<&Counter::add>(round));
        co_await first.call<&Counter::add>(round);
        co_await sleep_for(100us);
      }
    } catch (const MeshError&) {
    } catch (const Error&) {
    }
  }
}

RunWorld bearing() {
  return [](const WorldOptions& options) {
    return sim::run(options, kActors, [](Context& context) { return bear_with_it(context); }).result;
  };
}

TEST(Swarm, OneSeedInFiveHasNoneAndEveryKindIsDrawnAndStrikes) {
  std::size_t without = 0;
  std::set<std::string> struck;
  std::set<std::uint64_t> hashes;
  constexpr std::uint64_t kSeeds = 400;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const WorldResult result = bearing()({.seed = seed, .hosts = 2, .swarm = Faults::all});
    ASSERT_EQ(result.outcome, Outcome::passed) << result.to_text();
    without += result.faults.empty() ? 1 : 0;
    for (const auto& [name, count] : result.struck) {
      struck.insert(name);
    }
    hashes.insert(result.hash);
  }
  EXPECT_EQ(hashes.size(), kSeeds);
  EXPECT_GE(without, kSeeds / 8);  // 80 are expected, with a standard deviation of 8
  EXPECT_LE(without, kSeeds / 3);
  EXPECT_EQ(struck.size(), kFaults) << testing::PrintToString(struck);
}

TEST(Swarm, NoneIsTheWorldAsItWas) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const WorldResult none = bearing()({.seed = seed});
    EXPECT_THAT(none.faults, testing::IsEmpty());
    EXPECT_EQ(bearing()({.seed = seed, .swarm = Faults::none}).to_text(), none.to_text());
  }
}

TEST(Swarm, StrikesTheSameWayAgainAndFromItsChoices) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SeededChoices source(seed);
    RecordingChoices recording(source);
    WorldOptions options{.seed = seed, .hosts = 2, .swarm = Faults::all, .choices = &recording};
    const WorldResult once = bearing()(options);
    ReplayChoices replayed(recording.choices());
    options.choices = &replayed;
    const WorldResult again = bearing()(options);
    ASSERT_EQ(again.to_text(), once.to_text());
    ASSERT_EQ(again.faults, once.faults);
    options.choices = nullptr;
    ASSERT_EQ(bearing()(options).to_text(), once.to_text());
  }
}

// Fails where a child dies, and bears with everything else.
Task<void> fragile(World& world, Context context) {
  for (int round = 0; round < 40; ++round) {
    try {
      auto processes = co_await context.this_host().spawn_procs({{"counter", 1}});
      co_await sleep_for(300us);
    } catch (const MeshError&) {
    } catch (const Error&) {
    }
  }
  for (const auto& process : world.processes()) {
    if (process->state() == Process::State::killed && process->how_ended().value == 9) {
      world.fail("a child was killed");
    }
  }
}

TEST(Swarm, FaultsThatAFailureDoesNotNeedAreLeftOutAndTheArtefactTellsTheOthers) {
  const auto program = [](World& world, Context& context) { return fragile(world, context); };
  const Exploration found =
      explore({.seeds = 200, .hosts = 2, .swarm = Fault::crash | Fault::pause | Fault::drift}, kActors, program);
  ASSERT_TRUE(found.failure) << found.to_text();
  const std::vector<std::string>& faults = found.failure->smallest.faults;
  EXPECT_EQ(faults.size(), 2U) << found.failure->to_text();
  EXPECT_THAT(faults, Contains(AllOf(HasSubstr("the swarm of this world: crash ("), Not(HasSubstr("pause")))));
  EXPECT_THAT(faults, Contains(HasSubstr(" crashed")));
  const std::string artefact = found.failure->to_text();
  EXPECT_THAT(artefact, AllOf(HasSubstr("# fault at "), HasSubstr("\nseed "),
                              HasSubstr("\nswarm crash,pause,drift\nchoices "), Not(HasSubstr("\nhosts "))))
      << "one host is enough for it";
  const auto again = replay(artefact, {}, kActors, program);
  ASSERT_TRUE(again) << again.error().to_text();
  EXPECT_EQ(again->to_text(), found.failure->smallest.to_text());
  EXPECT_EQ(again->faults, faults);
}

struct Cluster {
  ActorRef<Counter> server;
};

Task<Cluster> start_cluster(Context context) {
  auto processes = co_await context.this_host().spawn_procs({{"counter", 1}});
  auto counters = co_await processes.spawn<Counter>("counter");
  co_return Cluster{counters.only()};
}

Task<void> survive_crashes(World& world, Context& context) {
  auto cluster = co_await start_cluster(context);
  world.always("bounded", [cluster](const View& view) {
    auto* server = view.peek(cluster.server);
    return !server || server->total() <= 400;
  });
  world.at(3s).crash(world.host(1));
  for (std::uint64_t round = 0; round < 10; ++round) {
    auto adding = as_result(cluster.server.call<&Counter::add>(round));
    static_cast<void>(co_await adding);
    co_await sleep_for(1s);
  }
  co_await world.heal();
  auto arrived = world.eventually("all arrived", 30s, [cluster](const View& view) {
    return view.now().time_since_epoch() > 10s && view.peek(cluster.server) == nullptr;
  });
  co_await arrived;
}

// The text that the README promises.
TEST(Swarm, ExploringIsAskedForInAFewWords) {
  const Exploration all = sim::explore(
      {.seeds = 50, .hosts = 3, .swarm = sim::Faults::none, .steps = 5'000'000, .wall = 10s}, kActors,
      [](sim::World& world, ferry::Context& context) -> ferry::Task<void> { return survive_crashes(world, context); });
  EXPECT_TRUE(all.passed()) << all.to_text();
}

TEST(Swarm, ArtefactsNameTheirFaultsOrAreRefused) {
  const auto refusal = [](std::string_view artefact) {
    const auto result = replay(artefact, {}, bearing());
    return result ? std::string("it ran") : result.error().to_text();
  };
  EXPECT_THAT(refusal("ferry-sim-failure 1\nseed 5\nhosts x\nchoices 0\n"),
              HasSubstr("\"hosts NUMBER\", from 1 to 4096, expected"));
  EXPECT_THAT(refusal("ferry-sim-failure 1\nseed 5\nhosts 0\nchoices 0\n"), HasSubstr("from 1 to 4096"));
  EXPECT_THAT(refusal("ferry-sim-failure 1\nseed 5\nhosts 9999\nchoices 0\n"), HasSubstr("from 1 to 4096"));
  EXPECT_THAT(refusal("ferry-sim-failure 1\nseed 5\nswarm crash,flood\nchoices 0\n"),
              HasSubstr("\"flood\" is no fault; all of them: crash,pause,"));
  EXPECT_EQ(refusal("ferry-sim-failure 1\nseed 5\nhosts 2\nswarm crash\nchoices 0\n"), "it ran");
  EXPECT_EQ(to_text(*parse_faults(to_text(Faults::all))), to_text(Faults::all));
  EXPECT_EQ(*parse_faults("none"), Faults::none);
}

TEST(Buggify, IsFalseAndMarksAreLostOutsideAWorld) {
  EXPECT_FALSE(buggify("anything"));
  sometimes("anything", true);
}

Task<void> ask(int& asked, int& unusual) {
  for (int round = 0; round < 1'000; ++round) {
    ++asked;
    unusual += buggify("one") ? 1 : 0;
    sometimes("often", true);
    sometimes("rarely", round == 999 && unusual > 0);
    sometimes("never", false);
    co_await sleep_for(1us);
  }
}

TEST(Buggify, TakesTheUnusualWayInSomeWorldsAndAtSomeTimes) {
  int asked = 0;
  int unusual = 0;
  std::size_t worlds_with = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const int before = unusual;
    sim::run({.seed = seed, .swarm = Fault::buggify}, kActors, [&](Context&) { return ask(asked, unusual); });
    worlds_with += unusual > before ? 1 : 0;
  }
  // 4/5 have a swarm, half of these the fault, half of these the name.
  EXPECT_GE(worlds_with, 8U);
  EXPECT_LE(worlds_with, 35U);
  EXPECT_LT(unusual, asked / 16);
  int none = 0;
  sim::run({.seed = 1}, kActors, [&](Context&) { return ask(asked, none); });
  EXPECT_EQ(none, 0);
}

TEST(Sometimes, MarksAreSummedOverSeedsAndThoseThatNoneReachedAreListed) {
  int asked = 0;
  int unusual = 0;
  const auto program = [&](Context&) { return ask(asked, unusual); };
  const Exploration free = explore({.seeds = 20, .swarm = Fault::buggify}, kActors, program);
  EXPECT_TRUE(free.passed());
  EXPECT_EQ(free.marks.at("often"), 20'000U);
  EXPECT_THAT(free.unreached(), ElementsAre("never"));
  EXPECT_THAT(free.to_text(),
              AllOf(HasSubstr("20 worlds passed; struck: buggify "), HasSubstr("; never reached: never")));
  const Exploration strict = explore({.seeds = 20, .require_marks = true}, kActors, program);
  EXPECT_FALSE(strict.failure);
  EXPECT_FALSE(strict.passed());
}

Task<void> flood(Context context) {
  auto processes = co_await context.this_host().spawn_procs({{"counter", 1}});
  auto counters = co_await processes.spawn<Counter>("counter");
  const ActorRef<Counter> counter = counters.only();
  for (std::uint64_t number = 1; number <= 1'500; ++number) {
    auto sending = counter.send<&Counter::add>(number);
    co_await sending;
  }
  const std::uint64_t sum = co_await counter.call<&Counter::sum>();
  if (sum != 1'500 * 1'501 / 2) {
    throw std::runtime_error("messages were lost");
  }
}

TEST(Buggify, InCoreChangesNothingOfWhatIsPromised) {
  const Exploration all =
      explore({.seeds = 60, .swarm = Fault::buggify}, kActors, [](Context& context) { return flood(context); });
  EXPECT_TRUE(all.passed()) << all.to_text();
  EXPECT_GE(all.struck.at("buggify"), 10U);
  EXPECT_GE(all.marks.at("a message waits for room in a mailbox"), 10U);
}

}  // namespace
}  // namespace ferry::sim::test
