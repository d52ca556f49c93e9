// Worlds as a whole: same seed, same hashes; what ends a run; nothing leaks from a world that is given up.
#include <set>

#include <gmock/gmock.h>

#include "task_program.hpp"

namespace ferry::sim::test {
namespace {

using testing::HasSubstr;

struct Shared {
  Board board;
  std::uint64_t payload = 0x1122334455667788;
  int readers_left = 3;
};

Task<void> own_words(Island& island, Shared& shared) {
  std::vector<std::uint64_t> words(64, shared.payload);
  RDMABuffer buffer = register_memory(island.node(), std::span(words));
  shared.board.post("words", island, buffer);
  while (shared.readers_left > 0) {
    co_await sleep_for(50us);
  }
}

Task<void> read_and_add(Island& island, Shared& shared) {
  BufferRef words = co_await wait_for(shared.board, "words", island);
  std::vector<std::uint64_t> local(64);
  for (int round = 0; round < 3; ++round) {
    co_await words.read_into(std::span(local));
    co_await words.fetch_add(1);
  }
  --shared.readers_left;
}

WorldResult run_readers(const WorldOptions& options, std::uint64_t payload = 0x1122334455667788) {
  Shared shared;
  shared.payload = payload;
  World world(options);
  world.start("owner", run_task([&shared](Island& island) { return own_words(island, shared); }));
  for (int reader = 0; reader < 3; ++reader) {
    world.start("reader", run_task([&shared](Island& island) { return read_and_add(island, shared); }));
  }
  return world.run();
}

TEST(World, TheSameSeedGivesTheSameHashesAndAThousandSeedsAThousand) {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const WorldResult once = run_readers({.seed = seed});
    ASSERT_EQ(once.outcome, Outcome::passed) << once.to_text();
    hashes.insert(once.hash);
    if (seed % 10 == 0) {
      const auto perturbed_heap = std::make_unique<std::vector<int>>(seed + 1);
      const WorldResult again = run_readers({.seed = seed});
      ASSERT_EQ(once.to_text(), again.to_text());
    }
  }
  EXPECT_EQ(hashes.size(), 1000U);
}

// Answers as another source does, but for one question.
class OneAnswerChanged final : public ChoiceSource {
 public:
  OneAnswerChanged(std::uint64_t seed, std::uint64_t changed) : source_(seed), changed_(changed) {}
  std::uint64_t choose(const Question& question) noexcept override {
    const std::uint64_t answer = source_.choose(question);
    return asked_++ == changed_ ? (answer + 1) % question.n : answer;
  }
  std::uint64_t asked() const { return asked_; }

 private:
  SeededChoices source_;
  std::uint64_t changed_;
  std::uint64_t asked_ = 0;
};

TEST(World, ChangingAnyOneChoiceChangesTheHash) {
  constexpr std::uint64_t kSeed = 7;
  OneAnswerChanged unchanged(kSeed, ~std::uint64_t{0});
  const WorldResult base = run_readers({.seed = kSeed, .choices = &unchanged});
  ASSERT_EQ(base.hash, run_readers({.seed = kSeed}).hash);
  ASSERT_GT(unchanged.asked(), 50U);
  for (std::uint64_t changed = 0; changed < unchanged.asked(); ++changed) {
    OneAnswerChanged choices(kSeed, changed);
    EXPECT_NE(run_readers({.seed = kSeed, .choices = &choices}).hash, base.hash) << "choice " << changed;
  }
}

TEST(World, ChangingAPayloadByteChangesTheDataHashAlone) {
  const WorldResult base = run_readers({.seed = 3}, 0x1122334455667788);
  const WorldResult other = run_readers({.seed = 3}, 0x1122334455667789);
  EXPECT_EQ(base.hash, other.hash);
  EXPECT_NE(base.data, other.data);
}

TEST(World, WorldsInsideEachOtherDoNotDisturbEachOther) {
  const WorldResult alone = run_readers({.seed = 11});
  Shared shared;
  shared.readers_left = 0;
  World outer({.seed = 5});
  outer.start("owner", run_task([&shared](Island& island) { return own_words(island, shared); }));
  outer.at(1us, [&] { EXPECT_EQ(run_readers({.seed = 11}).to_text(), alone.to_text()); });
  EXPECT_EQ(outer.run().outcome, Outcome::passed);
}

Task<void> never_ends(Island&) {
  Channel<int> nothing(1);
  auto next = nothing.next();
  co_await next;
}

TEST(World, AProgramThatWaitsForNothingIsReportedAsStuckByName) {
  World world({.seed = 1});
  world.start("lonely", run_task([](Island& island) { return never_ends(island); }));
  const WorldResult result = world.run();
  EXPECT_EQ(result.outcome, Outcome::stuck);
  EXPECT_EQ(result.what, "lonely (process 1): its main task has not ended");
}

Task<void> writes_for_ever(Island& island, Board& board) {
  std::vector<std::byte> bytes(256);
  std::vector<std::byte> local(256);
  RDMABuffer buffer = register_memory(island.node(), std::span(bytes));
  board.post("bytes", island, buffer);
  BufferRef self = buffer.ref();
  for (;;) {
    co_await self.write_from(std::span(local));
  }
}

TEST(World, TheStepBudgetEndsAProgramThatWouldNotEndAndSaysWhatIsUnderWay) {
  Board board;
  World world({.seed = 2, .steps = 5000});
  world.start("busy", run_task([&board](Island& island) { return writes_for_ever(island, board); }));
  const WorldResult result = world.run();
  EXPECT_EQ(result.outcome, Outcome::steps);
  EXPECT_GE(result.steps, 5000U);
  EXPECT_THAT(result.what, HasSubstr("busy (process 1): its main task has not ended"));
}

// Leak checking is the point: run under AddressSanitizer by the stage asan.
TEST(World, AWorldThatIsGivenUpAtAnyStepLeavesNothingBehind) {
  for (std::uint64_t steps = 0; steps < 400; ++steps) {
    const WorldResult result = run_readers({.seed = steps, .steps = steps});
    ASSERT_TRUE(result.outcome == Outcome::steps || result.outcome == Outcome::passed) << result.to_text();
  }
}

TEST(World, AWorldThatIsNeverRunLeavesNothingBehind) {
  Shared shared;
  World world({.seed = 4});
  world.start("owner", run_task([&shared](Island& island) { return own_words(island, shared); }));
  world.at(1s, [] {});
}

Task<void> throws_at_once(Island&) {
  throw std::runtime_error("no config");
  co_return;
}

TEST(World, AnExceptionOfAMainTaskFailsTheWorldWithItsText) {
  World world({.seed = 6});
  world.start("broken", run_task(&throws_at_once));
  const WorldResult result = world.run();
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_THAT(result.what, HasSubstr("broken exited with status 1"));
  EXPECT_THAT(result.what, HasSubstr("no config"));
}

TEST(World, AnExceptionOfAnEntryFailsTheWorldWithItsText) {
  World world({.seed = 6});
  world.start("broken", [](Process&) -> std::unique_ptr<Program> { throw std::runtime_error("no memory"); });
  EXPECT_THAT(world.run().what, HasSubstr("no memory"));
}

Task<void> logs(Island& island) {
  co_await sleep_for(1500us);
  island.process().log().write(LogLevel::warning, "half past");
}

TEST(World, LogLinesCarryVirtualTimeAndProcess) {
  World world({.seed = 8});
  world.start("clock", run_task(&logs));
  EXPECT_EQ(world.run().outcome, Outcome::passed);
  ASSERT_EQ(world.log().lines().size(), 1U);
  EXPECT_EQ(to_text(world.log().lines()[0]), "0.001500000 clock: half past");
}

TEST(World, OptionsOutOfRangeAreRefusedByName) {
  const auto refusal = [](const FabricOptions& fabric) {
    try {
      World world({.fabric = fabric});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(refusal({.granule = 3}), HasSubstr("FabricOptions::granule is 3"));
  EXPECT_THAT(refusal({.mtu = 100}), HasSubstr("FabricOptions::mtu is 100"));
  EXPECT_EQ(refusal({.mtu = 128, .granule = 64}), "accepted");
}

Task<void> draws(Island& island, std::vector<std::uint64_t>& drawn) {
  for (int i = 0; i < 3; ++i) {
    drawn.push_back(island.world().random(Purpose::program).next());
  }
  drawn.push_back(island.node().self().incarnation);
  drawn.push_back(std::to_integer<std::uint64_t>(island.node().secret()[0]));
  co_return;
}

TEST(World, IdsSecretsAndTheProgramsNumbersComeFromTheSeed) {
  const auto numbers = [](std::uint64_t seed) {
    std::vector<std::uint64_t> drawn;
    World world({.seed = seed});
    world.start("a", run_task([&drawn](Island& island) { return draws(island, drawn); }));
    world.run();
    return drawn;
  };
  EXPECT_EQ(numbers(1), numbers(1));
  EXPECT_NE(numbers(1), numbers(2));
}

}  // namespace
}  // namespace ferry::sim::test
