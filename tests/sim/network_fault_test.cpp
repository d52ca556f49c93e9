// Faults of the network, under whole nodes: what ends how, what goes on, and that nothing lands where nobody expects
// it.
#include <gmock/gmock.h>

#include <ferry/base/as_result.hpp>
#include <ferry/sim/sim_fabric.hpp>

#include "task_program.hpp"

namespace ferry::sim::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Duration kDetection = std::chrono::seconds(5);

struct Word {
  alignas(8) std::uint64_t value = 0;
};

Task<void> own(Island& island, Board& board, Word& word) {
  RDMABuffer buffer = register_memory(island.node(), std::span(&word.value, 1));
  board.post("word", island, buffer);
  while (!board.numbers.contains("over")) {
    co_await sleep_for(1ms);
  }
}

// The code of a write, or none.
Task<errc> write_one(BufferRef word, std::uint64_t value) {
  auto attempt = as_result(word.write_from(std::span(&value, 1)));
  const Result<void> written = co_await attempt;
  co_return written ? errc{} : written.error().code();
}

struct Cast {
  Board board;
  Word word;
  std::vector<errc> codes;
  std::vector<Duration> times;
};

Task<void> write_across_a_cut(Island& island, Cast& cast, bool both) {
  World& world = island.world();
  Process& owner = *world.processes()[0];
  Process& self = *world.processes()[1];
  BufferRef word = co_await wait_for(cast.board, "word", island);
  auto first = write_one(word, 1);
  cast.codes.push_back(co_await first);
  world.faults().cut(self, owner);
  if (both) {
    world.faults().cut(owner, self);
  }
  const TimePoint start = world.now();
  auto second = write_one(word, 2);
  cast.codes.push_back(co_await second);
  cast.times.push_back(world.now() - start);
  require(cast.word.value == 1, "a write crossed the cut");
  co_await world.heal();
  auto third = write_one(word, 3);
  cast.codes.push_back(co_await third);
  require(cast.word.value == 3 || cast.codes.back() != errc{}, "a delivered write is not there");
  cast.board.numbers["over"] = 1;
}

// An owner, and a writer of its word.
template <class Writer>
WorldResult play(World& world, Cast& cast, const Writer& writer) {
  world.start("owner", run_task([&](Island& island) { return own(island, cast.board, cast.word); }));
  world.start("writer", run_task([&](Island& island) { return writer(island); }));
  return world.run();
}

TEST(NetworkFault, WhatIsCutOffEndsWithinTheDetectionTimeAndWorksAgainWhenItIsMended) {
  for (const NicProfile& profile : kNicProfiles) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Cast cast;
      World world({.seed = seed, .fabric = {.profile = &profile}});
      const WorldResult result =
          play(world, cast, [&](Island& island) { return write_across_a_cut(island, cast, seed % 2 == 0); });
      ASSERT_EQ(result.outcome, Outcome::passed) << profile.name << " " << result.to_text();
      EXPECT_THAT(cast.codes, ElementsAre(errc{}, testing::AnyOf(errc::outcome_unknown, errc::peer_lost), errc{}))
          << profile.name << " seed " << seed;
      EXPECT_LE(cast.times.at(0), kDetection * 2) << profile.name << " seed " << seed;
    }
  }
}

Task<void> write_while_held(Island& island, Cast& cast) {
  World& world = island.world();
  Process& owner = *world.processes()[0];
  Process& self = *world.processes()[1];
  BufferRef word = co_await wait_for(cast.board, "word", island);
  auto first = write_one(word, 1);
  co_await first;
  world.faults().hold(self, owner);
  world.at(world.now().time_since_epoch() + 1ms, [&cast] { EXPECT_EQ(cast.word.value, 1U) << "it was not held"; });
  world.at(world.now().time_since_epoch() + 2ms).release(self, owner);
  auto second = write_one(word, 2);
  cast.codes.push_back(co_await second);
  require(cast.word.value == 2, "it has not arrived");
  require(world.now().time_since_epoch() >= 2ms, "it did not wait");
  cast.board.numbers["over"] = 1;
}

TEST(NetworkFault, WhatIsHeldArrivesOnceItIsReleased) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Cast cast;
    World world({.seed = seed});
    const WorldResult result = play(world, cast, [&](Island& island) { return write_while_held(island, cast); });
    ASSERT_EQ(result.outcome, Outcome::passed) << result.to_text();
    EXPECT_THAT(cast.codes, ElementsAre(errc{})) << seed;
  }
}

Task<void> write_while_held_and_no_longer_cut(Island& island, Cast& cast) {
  World& world = island.world();
  Process& owner = *world.processes()[0];
  Process& self = *world.processes()[1];
  BufferRef word = co_await wait_for(cast.board, "word", island);
  auto first = write_one(word, 1);
  co_await first;
  world.faults().cut(self, owner);
  world.faults().hold(self, owner);
  world.faults().mend(self, owner);
  const TimePoint start = world.now();
  auto second = write_one(word, 2);
  cast.codes.push_back(co_await second);
  cast.times.push_back(world.now() - start);
  cast.board.numbers["over"] = 1;
}

TEST(NetworkFault, WhatIsHeldStaysSilentWhenACutOfTheSameWayIsMended) {
  Cast cast;
  World world({.seed = 2});
  const WorldResult result =
      play(world, cast, [&](Island& island) { return write_while_held_and_no_longer_cut(island, cast); });
  ASSERT_EQ(result.outcome, Outcome::passed) << result.to_text();
  EXPECT_THAT(cast.codes, ElementsAre(testing::AnyOf(errc::outcome_unknown, errc::peer_lost)));
  EXPECT_LE(cast.times.at(0), kDetection * 2);
}

Task<void> reach_from_another_host(Island& island, Cast& cast) {
  BufferRef word = co_await wait_for(cast.board, "word", island);
  auto write = write_one(word, 1);
  cast.codes.push_back(co_await write);
  cast.board.numbers["over"] = 1;
}

TEST(NetworkFault, PartedHostsStayPartedForProcessesThatStartLater) {
  Cast cast;
  World world({.seed = 3, .hosts = 2});
  world.start("owner", run_task([&](Island& island) { return own(island, cast.board, cast.word); }));
  world.at(1ms).partition(world.host(0), world.host(1));
  world.at(2ms, [&] {
    world.start("writer", run_task([&](Island& island) { return reach_from_another_host(island, cast); }), {}, Host{1});
  });
  const WorldResult result = world.run();
  ASSERT_EQ(result.outcome, Outcome::passed) << result.to_text();
  EXPECT_THAT(cast.codes, ElementsAre(errc::peer_unreachable));
  EXPECT_EQ(cast.word.value, 0U);
  EXPECT_THAT(result.faults, ElementsAre(HasSubstr("hosts 0 and 1 are parted")));
  EXPECT_EQ(testing::Test::HasFailure(), false);
}

TEST(NetworkFault, AHostIsNotPartedFromItself) {
  World world({.seed = 1, .hosts = 2});
  try {
    world.faults().partition(world.host(1), world.host(1));
    ADD_FAILURE() << "it was";
  } catch (const Error& error) {
    EXPECT_EQ(error.failure().code(), errc::invalid_argument);
  }
}

Task<void> write_many(Island& island, Cast& cast) {
  BufferRef word = co_await wait_for(cast.board, "word", island);
  for (std::uint64_t value = 1; value <= 50; ++value) {
    auto write = write_one(word, value);
    const errc code = co_await write;
    require(code == errc{} || code == errc::outcome_unknown, "another end");
    if (code == errc{}) {
      require(cast.word.value == value, "a delivered write is not there");
      cast.codes.push_back(code);
    }
  }
  cast.board.numbers["over"] = 1;
}

TEST(NetworkFault, LossDuplicatesAndDelaysCostTimeAndNothingElse) {
  std::size_t delivered = 0;
  for (const NicProfile& profile : kNicProfiles) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Cast cast;
      World world({.seed = seed, .fabric = {.profile = &profile}});
      world.faults().set_network({.drop = 8, .duplicate = 8, .delay = 8, .stall = 8});
      const WorldResult result = play(world, cast, [&](Island& island) { return write_many(island, cast); });
      ASSERT_EQ(result.outcome, Outcome::passed) << profile.name << " " << result.to_text();
      delivered += cast.codes.size();
    }
  }
  EXPECT_GT(delivered, std::size_t{6 * 20 * 49});
}

}  // namespace
}  // namespace ferry::sim::test
