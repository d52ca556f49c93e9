// RapidCheck's generators of worlds, programs and fault plans.
#include <ferry/sim/rapidcheck.hpp>

#include <algorithm>
#include <set>
#include <sstream>

#include <gmock/gmock.h>

#include "task_program.hpp"

namespace ferry::sim::test {
namespace {

Task<void> lend(Island& island, Board& board, std::span<std::uint64_t> words, const int& left) {
  RDMABuffer buffer = register_memory(island.node(), words);
  board.post("region", island, buffer);
  while (left > 0) {
    co_await sleep_for(1ms);
  }
}

Task<void> play(Island& island, Board& board, const std::vector<OneSided>& operations, int& left) {
  const BufferRef region = co_await wait_for(board, "region", island);
  co_await carry_out(region, operations);
  --left;
}

Task<void> nap() {
  co_await sleep_for(5ms);
}

// The words in the end.
WorldResult run_program(const WorldOptions& options, const SmallProgram& program, const std::vector<PlannedFault>& plan,
                        std::vector<std::uint64_t>& words) {
  Board board;
  words.assign(program.words, 0);
  int left = static_cast<int>(program.processes.size());
  World world(options);
  world.start("owner", run_task([&](Island& island) { return lend(island, board, words, left); }));
  for (const auto& operations : program.processes) {
    world.start("one", run_task([&](Island& island) { return play(island, board, operations, left); }));
  }
  arrange(world, plan);
  return world.run();
}

TEST(Generators, AdditionsAreNotLostInAnyWorldWithPausesAndDrift) {
  EXPECT_TRUE(rc::check("the words are the sums of what was added", [] {
    const WorldOptions options = *gen::world_options();
    SmallProgram program = *gen::small_program(3, 5);
    std::vector<PlannedFault> plan = *gen::fault_plan(1ms);
    std::erase_if(plan, [](const PlannedFault& fault) {
      return fault.verb == PlannedFault::Verb::crash || fault.verb == PlannedFault::Verb::restart_host;
    });
    std::vector<std::uint64_t> sums(program.words);
    for (auto& operations : program.processes) {
      for (OneSided& one : operations) {
        one.kind = one.kind == OneSided::Kind::write ? OneSided::Kind::fetch_add : one.kind;
        one.kind = one.kind == OneSided::Kind::compare_swap ? OneSided::Kind::read : one.kind;
        sums[one.word] += one.kind == OneSided::Kind::fetch_add ? one.value : 0;
      }
    }
    std::vector<std::uint64_t> words;
    const WorldResult result = run_program(options, program, plan, words);
    RC_ASSERT(result.outcome == Outcome::passed);
    RC_ASSERT(words == sums);
  }));
}

TEST(Generators, ProgramsAndPlansStayInTheirBounds) {
  EXPECT_TRUE(rc::check("bounds", [] {
    const SmallProgram program = *gen::small_program(3, 4);
    RC_ASSERT(program.words >= 1U && program.words <= 8U);
    RC_ASSERT(!program.processes.empty() && program.processes.size() <= 3U);
    for (const auto& operations : program.processes) {
      RC_ASSERT(operations.size() <= 4U);
      for (const OneSided& one : operations) {
        RC_ASSERT(one.words >= 1U && one.word + one.words <= program.words);
      }
    }
    const auto plan = *gen::fault_plan(2ms, 5);
    RC_ASSERT(plan.size() <= 5U);
    for (const PlannedFault& fault : plan) {
      RC_ASSERT(fault.at >= Duration::zero() && fault.at <= 2ms);
    }
  }));
}

// Of the same worlds in every run, so that none misses one by bad luck.
TEST(Generators, ProgramsAndPlansVary) {
  std::set<std::string> seen;
  std::set<OneSided::Kind> kinds;
  std::set<PlannedFault::Verb> verbs;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    World world({.seed = seed});
    const SmallProgram program = sampled(gen::small_program(3, 4), world);
    for (const auto& operations : program.processes) {
      for (const OneSided& one : operations) {
        kinds.insert(one.kind);
      }
    }
    for (const PlannedFault& fault : sampled(gen::fault_plan(2ms, 5), world)) {
      verbs.insert(fault.verb);
    }
    std::ostringstream text;
    text << program;
    seen.insert(text.str());
  }
  EXPECT_EQ(kinds.size(), 4U);
  EXPECT_EQ(verbs.size(), 6U);
  EXPECT_GE(seen.size(), 100U);
}

TEST(Generators, AnyPlanIsCarriedOutAndHealed) {
  EXPECT_TRUE(rc::check("worlds with crashes end", [] {
    WorldOptions options = *gen::world_options();
    options.hosts = 2;
    const auto plan = *gen::fault_plan(10ms, 8);
    World world(options);
    for (std::uint32_t number = 0; number < 4; ++number) {
      world.start("one", run_task([](Island&) { return nap(); }), {}, Host{number % 2});
    }
    arrange(world, plan);
    const WorldResult result = world.run();
    RC_ASSERT(result.outcome == Outcome::passed);
    for (const auto& process : world.processes()) {
      RC_ASSERT(!process->is_alive());
    }
  }));
}

TEST(Sampled, ValuesAreTheWorldsOwn) {
  const auto drawn = [](std::uint64_t seed) {
    World world({.seed = seed});
    std::ostringstream text;
    text << sampled(gen::small_program(), world) << sampled(gen::small_program(), world);
    return text.str();
  };
  std::set<std::string> all;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(drawn(seed), drawn(seed));
    all.insert(drawn(seed));
  }
  EXPECT_GE(all.size(), 19U);
}

}  // namespace
}  // namespace ferry::sim::test
