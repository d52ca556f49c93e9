// Exploring in worker processes: the same outcome for any number of them, and deaths as findings.
#include <ferry/explorer/explore.hpp>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>

#include <ferry/base/buggify.hpp>
#include <ferry/explorer/progress_bar.hpp>
#include <ferry/explorer/worker.hpp>
#include <ferry/explorer/worker_processes.hpp>

#include "task_program.hpp"

namespace ferry::sim::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

Task<void> take_a_nap() {
  co_await sleep_for(1ms);
}

// Ten processes begin, in some order. `end` is told how often one did right behind a later one, and ends the world.
using End = std::function<void(World&, std::uint64_t seed, int descents)>;

RunWorld beginnings(End end) {
  return [end = std::move(end)](const WorldOptions& options) {
    int last = 0;
    int descents = 0;
    World world(options);
    for (int number = 0; number < 10; ++number) {
      world.start("one", [&, number](Process& process) -> std::unique_ptr<Program> {
        descents += number < last ? 1 : 0;
        last = number;
        process.exit(0);
        return nullptr;
      });
    }
    world.at(1ms, [&] {
      sometimes("four", descents >= 4);
      sometimes("ten", descents >= 10);
      end(world, options.seed, descents);
    });
    return world.run();
  };
}

Exploration explore_with(std::size_t workers, const RunWorld& run, ExploreOptions options = {}) {
  explorer::WorkerProcesses crew({.workers = workers, .wall = options.wall, .batch = 4});
  return explore(options, run, crew);
}

TEST(Explorer, TheOutcomeIsTheSameForAnyNumberOfWorkersAndForNone) {
  const RunWorld run = beginnings([](World& world, std::uint64_t, int descents) {
    if (descents >= 7) {
      world.fail("ahead");
    }
  });
  ExploreOptions options{.seeds = 400, .first_seed = 3, .swarm = Fault::pause};
  const Exploration here = explore(options, run);
  ASSERT_TRUE(here.failure);
  EXPECT_GT(here.worlds, 1U);
  for (const std::size_t workers : {1U, 2U, 5U}) {
    const Exploration there = explore_with(workers, run, options);
    ASSERT_TRUE(there.failure);
    EXPECT_EQ(there.to_text(), here.to_text());
    EXPECT_EQ(there.marks, here.marks);
    EXPECT_EQ(there.failure->to_text(), here.failure->to_text());
    EXPECT_EQ(there.failure->found.to_text(), here.failure->found.to_text());
  }
}

TEST(Explorer, WorldsThatPassAreAllCounted) {
  const RunWorld run = beginnings([](World&, std::uint64_t, int) {});
  const Exploration here = explore({.seeds = 101}, run);
  for (const std::size_t workers : {1U, 3U}) {
    const Exploration there = explore_with(workers, run, {.seeds = 101});
    EXPECT_EQ(there.to_text(), here.to_text());
    EXPECT_EQ(there.worlds, 101U);
    EXPECT_EQ(there.marks, here.marks);
  }
}

TEST(Explorer, DeathsAreFindingsWithTheirSeedAndLastWords) {
  const auto found_with = [](const std::function<void()>& death) {
    const RunWorld run = beginnings([death](World&, std::uint64_t seed, int) {
      if (seed == 37) {
        death();
      }
    });
    ExploreOptions options{.seeds = 100, .wall = 2s, .strategies = {Strategy::random}, .shrink_runs = 50};
    const Exploration found = explore_with(2, run, options);
    EXPECT_EQ(found.worlds, 38U);
    EXPECT_TRUE(found.failure);
    EXPECT_EQ(found.failure->smallest.seed, 37U);
    return found.failure.value();
  };
  const ExploredFailure aborted = found_with([] {
    std::fputs("it is broken: 17\n", stderr);
    std::abort();
  });
  EXPECT_EQ(aborted.smallest.outcome, Outcome::crash);
  EXPECT_EQ(aborted.smallest.what, "was killed by signal 6 (Aborted); it wrote: it is broken: 17");
  EXPECT_THAT(aborted.choices, IsEmpty()) << "it dies in any order";
  EXPECT_GT(aborted.found_choices, 0U) << "the choices that led there are known";
  EXPECT_THAT(aborted.to_text(), StartsWith("ferry-sim-failure 1\n# crashed, seed=37: was killed by signal 6 "));
  EXPECT_EQ(found_with([] { FERRY_CHECK(1 + 1 == 3); }).smallest.outcome, Outcome::crash);
  const ExploredFailure exited = found_with([] { std::_Exit(3); });
  EXPECT_EQ(exited.smallest.outcome, Outcome::crash);
  EXPECT_THAT(exited.smallest.what, HasSubstr("exited with status 3"));
}

TEST(Explorer, AWorldThatNeverEndsIsKilledAndFound) {
  const RunWorld run = beginnings([](World&, std::uint64_t seed, int) {
    for (volatile bool goes_on = seed == 5; goes_on;) {
    }
  });
  const Exploration found = explore_with(2, run, {.seeds = 20, .wall = 300ms, .shrink_runs = 2});
  ASSERT_TRUE(found.failure);
  EXPECT_EQ(found.worlds, 6U);
  EXPECT_EQ(found.failure->smallest.outcome, Outcome::wall);
  EXPECT_EQ(found.failure->smallest.what, "took longer than 0.3 s of real time");
}

TEST(Explorer, TheLowestFindingWinsWhateverItsKind) {
  const RunWorld run = beginnings([](World& world, std::uint64_t seed, int) {
    if (seed == 90) {
      world.fail("the low one");
    }
    if (seed > 90 && seed % 2 == 0) {
      std::abort();
    }
  });
  for (const std::size_t workers : {1U, 2U, 6U}) {
    const Exploration found = explore_with(workers, run, {.seeds = 120});
    ASSERT_TRUE(found.failure);
    EXPECT_EQ(found.failure->found.what, "the low one");
    EXPECT_EQ(found.worlds, 91U);
  }
}

TEST(Explorer, ACrashThatNeedsAnOrderIsMadeSmall) {
  const RunWorld run = beginnings([](World&, std::uint64_t, int descents) {
    if (descents >= 7) {
      std::abort();
    }
  });
  const Exploration found = explore_with(2, run, {.seeds = 400, .strategies = {Strategy::random}, .shrink_runs = 300});
  ASSERT_TRUE(found.failure);
  EXPECT_EQ(found.failure->smallest.outcome, Outcome::crash);
  EXPECT_GE(found.failure->choices.size(), 1U);
  EXPECT_LT(found.failure->choices.size(), found.failure->found_choices);
  EXPECT_LE(found.failure->choices.size(), 12U) << found.failure->to_text();
}

// While a failure is made small, some candidates crash.
TEST(Explorer, CandidatesThatCrashAreNotTheFailure) {
  const RunWorld run = beginnings([](World& world, std::uint64_t, int descents) {
    if (descents >= 6) {
      world.fail("far ahead");
    } else if (descents == 5) {
      std::abort();
    }
  });
  ExploreOptions options{.seeds = 1, .strategies = {Strategy::random}, .shrink_runs = 200};
  for (;; ++options.first_seed) {
    ASSERT_LT(options.first_seed, 1'000U);
    const Exploration found = explore_with(2, run, options);
    if (found.failure && found.failure->found.outcome == Outcome::failed) {
      EXPECT_EQ(found.failure->smallest.what, "far ahead");
      EXPECT_LT(found.failure->choices.size(), found.failure->found_choices);
      break;
    }
  }
}

// Counts numbers; the first report of all kills its worker.
class Fragile final : public CrewJob {
 public:
  explicit Fragile(std::atomic<int>& reports) : reports_(reports) {}
  bool work(std::uint64_t) override {
    ++count_;
    return true;
  }
  std::string report() override {
    if (reports_.fetch_add(1) == 0) {
      ::kill(::getpid(), SIGKILL);
    }
    return std::to_string(std::exchange(count_, 0));
  }
  void take(std::string_view report) override { total += std::stoi(std::string(report)); }
  void died(std::uint64_t number, const Death& death) override { ADD_FAILURE() << number << " " << death.how; }

  int total = 0;

 private:
  std::atomic<int>& reports_;
  int count_ = 0;
};

TEST(Explorer, AWorkerThatDiesBetweenTwoWorldsIsNoFinding) {
  void* const shared =
      ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* const reports = new (shared) std::atomic<int>(0);
  Fragile job(*reports);
  explorer::WorkerProcesses crew({.workers = 2, .batch = 4});
  crew.run(21, job);
  EXPECT_EQ(job.total, 21);
  EXPECT_EQ(reports->load(), 7);
  ::munmap(shared, sizeof(std::atomic<int>));
}

TEST(Explorer, AWorkerThatDiesWithARequestUnreadHasEnded) {
  const auto worker = explorer::Worker::start([](explorer::WorkerSide& side) {
                        side.send('x', "before");
                        ::pause();
                      }).value();
  worker->request("never read");
  std::optional<explorer::Frame> frame;
  while (!frame) {
    ASSERT_TRUE(worker->read());
    frame = worker->take();
  }
  EXPECT_EQ(frame->bytes, "before");
  worker->kill();
  while (worker->read()) {
  }
  EXPECT_EQ(worker->how_ended(), "was killed by signal 9 (Killed) and wrote nothing to stderr");
}

TEST(Explorer, AskingADeadWorkerIsNoHarm) {
  const auto worker = explorer::Worker::start([](explorer::WorkerSide&) {}).value();
  while (worker->read()) {
  }
  worker->request("anything");
  EXPECT_EQ(worker->how_ended(), "exited with status 0 and wrote nothing to stderr");
}

TEST(Explorer, WhatAWorldThrowsReachesTheCaller) {
  const RunWorld run = beginnings([](World&, std::uint64_t, int) {});
  try {
    static_cast<void>(explore_with(2, run, {.seeds = 20, .hosts = 0}));
    FAIL() << "no host";
  } catch (const Error& error) {
    EXPECT_EQ(error.ferry_code(), errc::invalid_argument);
    EXPECT_THAT(error.what(), HasSubstr("WorldOptions::hosts is 0"));
  }
  EXPECT_THROW(explorer::WorkerProcesses({.batch = 0}), Error);
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

TEST(Explorer, LeavesNoProcessAndNoDescriptorBehind) {
  const std::size_t before = open_descriptors();
  const RunWorld run = beginnings([](World& world, std::uint64_t seed, int) {
    if (seed == 9) {
      world.fail("nine");
    }
    if (seed == 11) {
      std::abort();
    }
  });
  static_cast<void>(explore_with(4, run, {.seeds = 50}));
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(Explorer, WritesNothingOfItsOwnWhereThereIsNoTerminalAndPassesOnWhatWorldsWrite) {
  const RunWorld run = beginnings([](World&, std::uint64_t seed, int) {
    if (seed == 4) {
      std::fputs("hello from four\n", stderr);
    }
  });
  testing::internal::CaptureStderr();
  EXPECT_TRUE(explore_with(2, run, {.seeds = 30}).passed());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "hello from four\n");
}

TEST(Explorer, TheBarSaysHowFarItIs) {
  EXPECT_EQ(explorer::ProgressBar::line(500, 1000, 2000.4, 0),
            "[###############...............] 500 of 1000 worlds, 2000 a second, 0 failures");
  EXPECT_EQ(explorer::ProgressBar::line(1, 1, 3, 1),
            "[##############################] 1 of 1 worlds, 3 a second, 1 failure");
}

TEST(Explorer, TakesWhatRunTakes) {
  const Exploration all =
      ferry::explore({.seeds = 40, .workers = 2}, ferry::actors<>, [](Context&) -> Task<void> { return take_a_nap(); });
  EXPECT_TRUE(all.passed()) << all.to_text();
}

}  // namespace
}  // namespace ferry::sim::test
