// Whole programs in a world: meshes of processes, actors, references, crashes; and nothing left behind by any of them.
#include <set>

#include <gmock/gmock.h>

#include <ferry/actor/actor.hpp>
#include <ferry/base/sleep.hpp>
#include <ferry/sim/run.hpp>

namespace ferry::sim::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class Vault : public Actor {
 public:
  Vault(ActorContext& context, std::uint64_t value)
      : words_(32, value), buffer_(context.register_memory(std::span(words_))) {}

  BufferRef words() { return buffer_.ref(); }
  Task<std::uint64_t> slow_sum() {
    co_await sleep_for(1ms);
    std::uint64_t sum = 0;
    for (const std::uint64_t word : words_) {
      sum += word;
    }
    co_return sum;
  }

  static constexpr auto endpoints = ferry::endpoints<&Vault::words, &Vault::slow_sum>;

 private:
  std::vector<std::uint64_t> words_;
  RDMABuffer buffer_;
};

class Visitor : public Actor {
 public:
  explicit Visitor(ActorContext&) {}

  Task<std::uint64_t> visit(ActorRef<Vault> vault, int rounds) {
    BufferRef words = co_await vault.call<&Vault::words>();
    std::vector<std::uint64_t> local(32);
    std::uint64_t sum = 0;
    for (int round = 0; round < rounds; ++round) {
      co_await words.fetch_add(1);
      co_await words.read_into(std::span(local));
      sum += local[1];
      sum += co_await vault.call<&Vault::slow_sum>();
    }
    co_return sum;
  }

  static constexpr auto endpoints = ferry::endpoints<&Visitor::visit>;
};

constexpr auto kActors = ferry::actors<Vault, Visitor>;

Task<int> visit_once(Context context, std::uint64_t& sum) {
  auto vaults = co_await context.this_host().spawn_procs({{"vault", 1}});
  auto visitors = co_await context.this_host().spawn_procs({{"visitor", 3}});
  auto vault = co_await vaults.spawn<Vault>("vault", 2);
  auto mesh = co_await visitors.spawn<Visitor>("visitor");
  const auto sums = co_await mesh.call<&Visitor::visit>(vault.only(), 2);
  sum = sums[0];
  co_return 0;
}

Report run_visit(const WorldOptions& options, std::uint64_t& sum) {
  return sim::run(options, kActors, [&sum](Context& context) -> Task<int> { return visit_once(context, sum); });
}

TEST(SimRun, RunsAWholeProgramTheSameWayForTheSameSeed) {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::uint64_t sum = 0;
    const Report once = run_visit({.seed = seed}, sum);
    ASSERT_EQ(once.status, 0) << once.result.to_text();
    ASSERT_GE(sum, 2 * (2 + 64U)) << "seed " << seed;
    ASSERT_EQ(run_visit({.seed = seed}, sum).result.to_text(), once.result.to_text());
    hashes.insert(once.result.hash);
  }
  EXPECT_EQ(hashes.size(), 50U);
}

// Leak checking is the point: run under AddressSanitizer by the stage asan.
TEST(SimRun, AProgramThatIsGivenUpAtAnyStepLeavesNothingBehind) {
  for (std::uint64_t steps = 0; steps < 700; ++steps) {
    std::uint64_t sum = 0;
    const Report report = run_visit({.seed = steps / 50, .steps = steps}, sum);
    ASSERT_TRUE(report.result.outcome == Outcome::steps || report.result.outcome == Outcome::passed)
        << report.result.to_text();
  }
}

Task<int> visit_through_crashes(World& world, Context context, std::size_t victim, Duration moment, int& ended) {
  world.at(moment, [&world, victim] {
    if (victim < world.processes().size()) {
      world.processes()[victim]->kill();
    }
  });
  std::uint64_t sum = 0;
  try {
    co_await visit_once(context, sum);
  } catch (const MeshError&) {  // of a call or spawn: the causes are the ranks'
  } catch (const Error& error) {
    if (error.ferry_code() != errc::peer_lost && error.ferry_code() != errc::spawn_failed &&
        error.ferry_code() != errc::endpoint_failed) {
      throw;
    }
  }
  ++ended;
  co_return 0;
}

TEST(SimRun, ProgramsSurviveTheCrashOfAnyOfTheirProcessesAtAnyTime) {
  int ended = 0;
  int runs = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const std::size_t victim = 1 + random.below(4);
    const Duration moment(random.below(8'000'000));
    const Report report = sim::run({.seed = seed}, kActors, [&](World& world, Context& context) -> Task<int> {
      return visit_through_crashes(world, context, victim, moment, ended);
    });
    ++runs;
    ASSERT_EQ(report.status, 0) << "victim " << victim << " at " << moment.count()
                                << " ns: " << report.result.to_text();
  }
  EXPECT_EQ(ended, runs);
}

TEST(SimRun, NothingOfAProgramSurvivesTheCrashOfItsRoot) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const Duration moment(random.below(8'000'000));
    int ended = 0;
    const Report report = sim::run({.seed = seed}, kActors, [&](World& world, Context& context) -> Task<int> {
      world.at(moment + 1s, [&world] {
        for (const auto& process : world.processes()) {
          EXPECT_FALSE(process->is_alive()) << process->name();
        }
      });
      return visit_through_crashes(world, context, 0, moment, ended);
    });
    ASSERT_EQ(report.result.outcome, Outcome::passed) << report.result.to_text();
  }
}

Task<int> give_seven(Context) {
  co_return 7;
}

Task<int> throws_no_config(Context) {
  throw std::runtime_error("no config");
  co_return 0;
}

TEST(SimRun, TheStatusIsTheRootsAndAnExceptionIsToldAndGivesOne) {
  const Report seven = sim::run({}, kActors, [](Context& context) -> Task<int> { return give_seven(context); });
  EXPECT_EQ(seven.status, 7);
  const Report broken = sim::run({}, kActors, [](Context& context) -> Task<int> { return throws_no_config(context); });
  EXPECT_EQ(broken.status, 1);
  EXPECT_THAT(broken.result.what, HasSubstr("no config"));
}

Task<int> kill_self(World& world, Context) {
  world.processes()[0]->kill();
  co_await sleep_for(1s);
  world.fail("it lived on");
  co_return 0;
}

TEST(SimRun, AProcessThatKillsItselfDiesAtTheEndOfItsStep) {
  const Report report =
      sim::run({}, kActors, [](World& world, Context& context) -> Task<int> { return kill_self(world, context); });
  EXPECT_EQ(report.result.outcome, Outcome::passed) << report.result.to_text();
}

}  // namespace
}  // namespace ferry::sim::test
