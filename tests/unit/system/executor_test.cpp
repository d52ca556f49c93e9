#include <atomic>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ferry/base/strand.hpp>

#include "system_fixtures.hpp"

namespace ferry::system {
namespace {

TEST(SystemExecutor, EveryJobFromOutsideRunsOnce) {
  for (const unsigned threads : {1U, 2U, 4U}) {
    auto executor = make_executor(with_threads(threads));
    constexpr int kPosters = 4;
    constexpr int kJobs = 3000;
    std::atomic<int> left{kPosters * kJobs};
    Latch done;
    std::vector<std::atomic<int>> runs(kPosters * kJobs);
    std::deque<FunctionJob> jobs;
    for (auto& count : runs) {
      jobs.emplace_back([&] {
        count.fetch_add(1);
        if (left.fetch_sub(1) == 1) {
          done.set();
        }
      });
    }
    std::vector<std::thread> posters;
    for (int poster = 0; poster < kPosters; ++poster) {
      posters.emplace_back([&, poster] {
        for (int i = 0; i < kJobs; ++i) {
          executor->post(jobs[static_cast<std::size_t>(poster * kJobs + i)]);
        }
      });
    }
    for (std::thread& poster : posters) {
      poster.join();
    }
    executor->wait(done);
    for (const auto& count : runs) {
      ASSERT_EQ(count.load(), 1);
    }
  }
}

// More than a thread's own queue holds, so that the rest goes through the shared one.
TEST(SystemExecutor, EveryJobFromInsideRunsOnce) {
  auto executor = make_executor(with_threads(2));
  constexpr int kJobs = 5000;
  std::atomic<int> left{kJobs};
  Latch done;
  std::vector<std::atomic<int>> runs(kJobs);
  std::deque<FunctionJob> jobs;
  for (auto& count : runs) {
    jobs.emplace_back([&] {
      count.fetch_add(1);
      if (left.fetch_sub(1) == 1) {
        done.set();
      }
    });
  }
  FunctionJob all([&] {
    for (FunctionJob& job : jobs) {
      executor->post(job);
    }
  });
  executor->post(all);
  executor->wait(done);
  for (const auto& count : runs) {
    ASSERT_EQ(count.load(), 1);
  }
}

TEST(SystemExecutor, JobsOfOneStrandNeverOverlapAndKeepTheirOrder) {
  auto executor = make_executor(with_threads(4));
  constexpr int kJobs = 20000;
  Strand strand(*executor);
  std::vector<int> order;  // unguarded on purpose: the strand guards it
  Latch done;
  std::deque<FunctionJob> jobs;
  for (int i = 0; i < kJobs; ++i) {
    jobs.emplace_back([&, i] {
      order.push_back(i);
      if (i == kJobs - 1) {
        done.set();
      }
    });
  }
  for (FunctionJob& job : jobs) {
    strand.post(job);
  }
  executor->wait(done);
  ASSERT_EQ(order.size(), static_cast<std::size_t>(kJobs));
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

// Often enough that wakes which found nothing have made the executor sparing with them.
TEST(SystemExecutor, AJobBehindABlockedOneRunsOnAnotherThread) {
  for (const Duration spin : {Duration(0), Duration(50us)}) {
    auto executor = make_executor(with_threads(2, spin));
    for (int round = 0; round < 300; ++round) {
      Latch released;
      Latch done;
      FunctionJob releasing([&] { released.set(); });
      FunctionJob blocked([&] {
        executor->post(releasing);
        executor->wait(released);
        done.set();
      });
      executor->post(blocked);
      executor->wait(done);
      FunctionJob* next = nullptr;  // a few that end by themselves: the other thread is woken in vain
      Latch ended;
      int left = round % 7;
      FunctionJob bouncing([&] { left-- > 0 ? executor->post(*next) : ended.set(); });
      next = &bouncing;
      executor->post(bouncing);
      executor->wait(ended);
    }
  }
}

TEST(SystemExecutor, JobsRunWhileAllThreadsButOneAreBlocked) {
  auto executor = make_executor(with_threads(4));
  Latch released;
  std::atomic<int> blocked{0};
  std::deque<FunctionJob> blocking;
  for (int i = 0; i < 3; ++i) {
    blocking.emplace_back([&] {
      blocked.fetch_add(1);
      released.block();
      blocked.fetch_sub(1);
    });
    executor->post(blocking.back());
  }
  wait_until([&] { return blocked.load() == 3; });
  for (int round = 0; round < 1000; ++round) {
    Latch ran;
    FunctionJob job([&] { ran.set(); });
    executor->post(job);
    executor->wait(ran);
  }
  released.set();
  wait_until([&] { return blocked.load() == 0; });
}

// The progress thread may step in where the machine does not let the only thread run for a millisecond; but not often.
TEST(SystemExecutor, PostsMakeNoSystemCallWhileAThreadLooksForWork) {
  auto executor = make_executor(with_threads(1, 1h));
  wait_until([&] { return executor->stats().polls > 0; });
  std::atomic<int> runs{0};
  for (int i = 0; i < 10000; ++i) {
    FunctionJob job([&] { runs.fetch_add(1); });
    executor->post(job);
    while (runs.load() != i + 1) {
    }
  }
  const SystemExecutorStats stats = executor->stats();
  // What the system keeps from its core for a millisecond is relieved by the progress thread at a tick: a wait and a
  // wake each. A call for each post would be 10,000 of both.
  EXPECT_LT(stats.wakes() + stats.loop_waits + stats.parks, stats.jobs / 100 + 2 * stats.ticks);
  EXPECT_EQ(stats.jobs, 10000U);
}

TEST(SystemExecutor, StrandsThatPostToEachOtherSeldomWakeAnotherThread) {
  auto executor = make_executor(with_threads(2));
  Strand a(*executor);
  Strand b(*executor);
  constexpr int kHops = 200000;
  int left = kHops;
  Latch done;
  FunctionJob* ball = nullptr;
  FunctionJob bouncing([&] {
    if (--left == 0) {
      done.set();
    } else {
      (left % 2 == 0 ? a : b).post(*ball);
    }
  });
  ball = &bouncing;
  a.post(bouncing);
  executor->wait(done);
  EXPECT_LT(executor->stats().wakes(), kHops / 10U);
}

TEST(SystemExecutor, HasReadyWorkTellsOfJobsThatWait) {
  auto executor = make_executor(with_threads(1));
  Latch done;
  bool before = true;
  bool after = false;
  FunctionJob second([&] { done.set(); });
  FunctionJob first([&] {
    before = executor->has_ready_work();
    executor->post(second);
    after = executor->has_ready_work();
  });
  executor->post(first);
  executor->wait(done);
  EXPECT_FALSE(before);
  EXPECT_TRUE(after);
}

TEST(SystemExecutor, JobsAreSharedAmongIdleThreads) {
  auto executor = make_executor(with_threads(4));
  std::mutex mutex;
  std::condition_variable changed;
  int running = 0;
  std::deque<FunctionJob> jobs;
  for (int i = 0; i < 4; ++i) {
    jobs.emplace_back([&] {
      std::unique_lock lock(mutex);
      ++running;
      changed.notify_all();
      changed.wait(lock, [&] { return running == 4; });  // ends only if all four run at the same time
    });
  }
  FunctionJob all([&] {
    for (FunctionJob& job : jobs) {
      executor->post(job);
    }
  });
  executor->post(all);
  wait_until([&] {
    const std::lock_guard lock(mutex);
    return running == 4;
  });
  executor.reset();  // the jobs have ended before what they use does
}

TEST(SystemExecutor, OffloadedJobsMayAllBlockAtOnce) {
  SystemExecutorOptions options = with_threads(1);
  options.offload_threads = 8;
  auto executor = make_executor(options);
  std::atomic<int> blocked{0};
  Latch released;
  std::deque<FunctionJob> jobs;
  for (int i = 0; i < 8; ++i) {
    jobs.emplace_back([&] {
      blocked.fetch_add(1);
      released.block();
      blocked.fetch_sub(1);
    });
    executor->offload(jobs.back());
  }
  wait_until([&] { return blocked.load() == 8; });
  // The executor's own thread does not notice, and what is beyond the bound waits.
  Latch ran;
  FunctionJob posted([&] { ran.set(); });
  executor->post(posted);
  executor->wait(ran);
  std::atomic<bool> ninth_ran{false};
  FunctionJob ninth([&] { ninth_ran.store(true); });
  executor->offload(ninth);
  EXPECT_FALSE(ninth_ran.load());
  released.set();
  wait_until([&] { return ninth_ran.load() && blocked.load() == 0; });
}

TEST(SystemExecutor, AnOffloadedJobCanPostBack) {
  auto executor = make_executor(with_threads(2));
  for (int round = 0; round < 200; ++round) {
    Latch done;
    FunctionJob back([&] { done.set(); });
    FunctionJob away([&] { executor->post(back); });
    executor->offload(away);
    executor->wait(done);
  }
}

// Of all threads of executors; by thread id.
std::map<std::string, std::string> context_switches() {
  std::map<std::string, std::string> counts;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::string id = task.path().filename();
    std::string name;
    std::getline(std::ifstream(task.path() / "comm") >> std::ws, name);
    if (!name.starts_with("ferry-")) {
      continue;
    }
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (line.find("ctxt_switches") != std::string::npos) {
        counts[id] += line + ' ';
      }
    }
  }
  return counts;
}

TEST(SystemExecutor, AnIdleProcessIsNotWokenOnceInASecond) {
  for (const unsigned threads : {1U, 4U}) {
    auto executor = make_executor(with_threads(threads));
    SignalSource source;
    executor->add(source);
    FunctionTimer timer([] {});
    executor->start_timer(timer, executor->now() + 1h);
    Latch ran;
    FunctionJob job([&] { ran.set(); });
    executor->post(job);
    executor->wait(ran);
    Latch offloaded;
    FunctionJob away([&] { offloaded.set(); });
    executor->offload(away);
    executor->wait(offloaded);
    wait_until_asleep(*executor);
    const SystemExecutorStats stats = executor->stats();
    const auto switches = context_switches();
    EXPECT_EQ(switches.size(), threads + 2);  // progress, offload
    std::this_thread::sleep_for(1s);
    EXPECT_EQ(context_switches(), switches);
    EXPECT_TRUE(executor->stats() == stats);
    executor->cancel_timer(timer);
    executor->remove(source);
    EXPECT_EQ(source.breaches.load(), 0);
  }
}

TEST(SystemExecutor, ExecutorsComeAndGo) {
  for (int round = 0; round < 50; ++round) {
    auto executor = make_executor(with_threads(1 + static_cast<unsigned>(round) % 4, round % 2 == 0 ? 0us : 50us));
    Latch ran;
    FunctionJob job([&] { ran.set(); });
    if (round % 3 != 0) {
      executor->post(job);
      executor->wait(ran);
    }
  }
}

TEST(SystemExecutorDeathTest, AJobLeftBehindIsABug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        SystemExecutorOptions options;
        options.driven_from_outside = true;
        FunctionJob job([] {});
        auto executor = make_executor(options);
        executor->post(job);
        executor.reset();
      },
      "bug of ferry");
}

}  // namespace
}  // namespace ferry::system
