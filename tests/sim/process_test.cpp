// Simulated processes start, watch and end others.
#include <gmock/gmock.h>

#include "task_program.hpp"

namespace ferry::sim::test {
namespace {

using testing::HasSubstr;

class Exits final : public ChildEvents {
 public:
  void on_exit(const ProcessExit& exit) noexcept override { exits.push_back(exit); }
  std::vector<ProcessExit> exits;
};

Task<void> child_main(Island& island, int status, Duration time) {
  co_await sleep_for(time);
  island.process().exit(status, "last words");
  co_await sleep_for(1h);
}

// A tree of processes from one entry: roots start a child, children live for a while.
struct Spawning {
  SpawnRequest request;
  int status = 0;
  Duration child_life = 1s;
  Duration parent_life = 5s;
  Duration kill_after = Duration::zero();  // zero: not
  std::vector<ProcessExit> exits;
  TimePoint told{};
  std::string refusal;
};

Task<void> parent_main(Island& island, Spawning& spawning) {
  Exits exits;
  auto child = island.process().host().start(spawning.request, exits);
  if (!child) {
    spawning.refusal = child.error().to_text();
    co_return;
  }
  if (spawning.kill_after != Duration::zero()) {
    co_await sleep_for(spawning.kill_after);
    (*child)->kill();
  }
  co_await sleep_for(spawning.parent_life);
  spawning.exits = exits.exits;
}

Entry tree(Spawning& spawning) {
  return run_task([&spawning](Island& island) {
    return island.process().parent() == nullptr ? parent_main(island, spawning)
                                                : child_main(island, spawning.status, spawning.child_life);
  });
}

TEST(Processes, AParentIsToldHowItsChildExited) {
  Spawning spawning;
  spawning.status = 3;
  World world({.seed = 1});
  world.start("root", tree(spawning));
  ASSERT_EQ(world.run().outcome, Outcome::passed);
  ASSERT_EQ(spawning.exits.size(), 1U);
  EXPECT_EQ(spawning.exits[0].to_text(), "exited with status 3; it wrote: last words");
  EXPECT_EQ(world.processes().size(), 2U);
  EXPECT_EQ(world.processes()[1]->state(), Process::State::exited);
}

TEST(Processes, AKilledChildIsReportedAsKilled) {
  Spawning spawning;
  spawning.kill_after = 10ms;
  World world({.seed = 1});
  world.start("root", tree(spawning));
  ASSERT_EQ(world.run().outcome, Outcome::passed);
  ASSERT_EQ(spawning.exits.size(), 1U);
  EXPECT_THAT(spawning.exits[0].to_text(), HasSubstr("killed by signal 9"));
  EXPECT_EQ(world.processes()[1]->state(), Process::State::killed);
}

TEST(Processes, AChildThatIsKilledBeforeItsFirstStepNeverRuns) {
  Spawning spawning;
  spawning.kill_after = 1ns;
  World world({.seed = 1, .choices = nullptr});
  world.start("root", tree(spawning));
  ASSERT_EQ(world.run().outcome, Outcome::passed);
  EXPECT_EQ(spawning.exits.size(), 1U);
}

TEST(Processes, DroppingTheHandleKillsTheChildAndTellsNobody) {
  Spawning spawning;
  spawning.parent_life = 10ms;
  spawning.child_life = 1h;
  World world({.seed = 1});
  world.start("root", tree(spawning));
  ASSERT_EQ(world.run().outcome, Outcome::passed);
  EXPECT_TRUE(spawning.exits.empty());
  EXPECT_EQ(world.processes()[1]->state(), Process::State::killed);
}

TEST(Processes, ChildrenDoNotSurviveACrashOfTheirParent) {
  Spawning spawning;
  spawning.child_life = 1h;
  World world({.seed = 1});
  Process& root = world.start("root", tree(spawning));
  world.at(2s, [&root] { root.kill(); });
  world.at(3s, [&world] { EXPECT_EQ(world.processes()[1]->state(), Process::State::killed); });
  EXPECT_EQ(world.run().outcome, Outcome::passed);
  EXPECT_TRUE(spawning.exits.empty());
}

TEST(Processes, AMissingProgramIsNamed) {
  Spawning spawning;
  spawning.request.program = "nowhere/worker";
  World world({.seed = 1});
  world.start("root", tree(spawning));
  ASSERT_EQ(world.run().outcome, Outcome::passed);
  EXPECT_THAT(spawning.refusal, HasSubstr("spawn_failed"));
  EXPECT_THAT(spawning.refusal, HasSubstr("nowhere/worker"));
}

TEST(Processes, AnotherProgramRunsItsOwnEntryWithTheBootstrapItWasGiven) {
  Spawning spawning;
  spawning.request.program = "worker";
  spawning.request.bootstrap.name = "gpus/2";
  spawning.request.bootstrap.self = {0x55, 0x66};
  std::string seen;
  World world({.seed = 1});
  world.add_program("worker", [&](Process& process) -> std::unique_ptr<Program> {
    seen = process.name() + " " + to_string(process.bootstrap().self);
    process.exit(0);
    return nullptr;
  });
  world.start("root", tree(spawning));
  ASSERT_EQ(world.run().outcome, Outcome::passed);
  EXPECT_EQ(seen, "gpus/2 55/00000066");
}

}  // namespace
}  // namespace ferry::sim::test
