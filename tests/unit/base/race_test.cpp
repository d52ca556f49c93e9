// Races on real threads: waking against stopping, timing out and dropping; channels, strands, offload, block_on.
// Run under ThreadSanitizer these are the tests that matter; elsewhere they look for lost and doubled resumptions.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <ferry/base/channel.hpp>
#include <ferry/base/offload.hpp>
#include <ferry/base/random.hpp>
#include <ferry/base/sleep.hpp>
#include <ferry/base/start.hpp>

#include <thread_executor.hpp>

#include <sanitizers.hpp>

#include "test_awaits.hpp"

namespace ferry {
namespace {

using namespace std::chrono_literals;
using test::Event;
using test::ThreadExecutor;

constexpr int kRounds = test::kSanitized ? 1'000 : 4'000;

// A thread that does something to each of a number of things, as fast as the others let it.
template <class F>
std::thread side_thread(std::atomic<int>& round, int rounds, F act) {
  return std::thread([&round, rounds, act] {
    for (int done = 0; done < rounds; ++done) {
      while (round.load(std::memory_order_acquire) <= done) {
        std::this_thread::yield();
      }
      act(done);
    }
  });
}

enum class Outcome { completed, cancelled, timed_out, dropped };

// One await that several threads complete, stop and time out at once, and that may be dropped meanwhile.
Task<Outcome> contested(Event& event, StopToken stop, Duration timeout, bool drop) {
  auto limited = test::wait_for(event).with({.timeout = timeout, .stop = stop});
  auto started = start(std::move(limited));
  if (drop) {
    auto nap = sleep_for(timeout / 2);
    co_await nap;
    co_return Outcome::dropped;
  }
  auto outcome = as_result(std::move(started));
  const Result<void> result = co_await outcome;
  co_return result                           ? Outcome::completed
  : result.error().code() == errc::cancelled ? Outcome::cancelled
                                             : Outcome::timed_out;
}

TEST(Races, AnAwaitEndsOnceWhateverMeets) {
  ThreadExecutor executor(2);
  std::vector<Event> events(kRounds);
  std::vector<StopSource> sources(kRounds);
  std::atomic<int> round{0};
  auto completer = side_thread(round, kRounds, [&](int at) { events[static_cast<std::size_t>(at)].complete(); });
  auto stopper = side_thread(round, kRounds, [&](int at) { sources[static_cast<std::size_t>(at)].request_stop(); });
  std::array<int, 4> seen{};
  for (int at = 0; at < kRounds; ++at) {
    const auto index = static_cast<std::size_t>(at);
    round.store(at + 1, std::memory_order_release);
    const Duration timeout(at % 7 * 5'000);
    const Outcome outcome = executor.run(contested(events[index], sources[index].get_token(), timeout, at % 3 == 0));
    ++seen[static_cast<std::size_t>(outcome)];
  }
  completer.join();
  stopper.join();
  EXPECT_EQ(seen[0] + seen[1] + seen[2] + seen[3], kRounds);
  EXPECT_GT(seen[3], 0);
}

Task<int> take_all(Channel<int>& channel, int count) {
  int last = -1;
  for (int index = 0; index < count; ++index) {
    auto next = channel.next();
    const int value = co_await next;
    EXPECT_EQ(value, last + 1);
    last = value;
  }
  co_return last;
}

TEST(Races, AChannelLosesNothingBetweenThreads) {
  ThreadExecutor executor(2);
  Channel<int> channel(8);
  constexpr int kCount = kRounds * 5;
  std::thread pusher([&] {
    for (int value = 0; value < kCount; ++value) {
      while (!channel.try_push(value)) {
        std::this_thread::yield();
      }
    }
  });
  EXPECT_EQ(executor.run(take_all(channel, kCount)), kCount - 1);
  pusher.join();
}

Task<void> drop_nexts(Channel<int>& channel, int rounds) {
  struct Taker {
    static Task<void> take(Channel<int>& from, int& sum) {
      auto next = from.next({.timeout = Duration(1'000)});
      auto outcome = as_result(next);
      const Result<int> result = co_await outcome;
      sum += result ? *result : 0;
    }
  };
  int sum = 0;
  for (int round = 0; round < rounds; ++round) {
    auto taker = start(Taker::take(channel, sum));
    if (round % 2 == 0) {
      auto nap = sleep_for(Duration(500));
      co_await nap;
    } else {
      co_await taker;
    }
  }
  while (auto value = channel.try_pop()) {
    sum += *value;
  }
  EXPECT_EQ(sum, rounds);
}

TEST(Races, ValuesPushedWhileTheirTakersAreDroppedAreNotLost) {
  ThreadExecutor executor(2);
  Channel<int> channel(std::size_t{1} << 20);
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::atomic<bool> pushed{false};
    std::thread pusher([&] {
      for (int value = 0; value < kRounds / 4; ++value) {
        channel.try_push(1);
        std::this_thread::yield();
      }
      pushed.store(true);
    });
    pusher.join();
    executor.run(drop_nexts(channel, kRounds / 4));
  }
}

TEST(Races, AStrandRunsOneJobAtATimeAndKeepsTheOrderOfEachPoster) {
  ThreadExecutor executor(3);
  struct Numbered : Job {
    Numbered() : Job(&Numbered::run_it) {}
    static void run_it(Job& job) noexcept {
      auto& self = static_cast<Numbered&>(job);
      EXPECT_FALSE(self.inside->exchange(true));
      EXPECT_EQ(*self.last + 1, self.number);
      *self.last = self.number;
      self.inside->store(false);
      self.left->fetch_sub(1);
    }
    std::atomic<bool>* inside = nullptr;
    std::atomic<int>* left = nullptr;
    int* last = nullptr;
    int number = 0;
  };
  std::atomic<bool> inside{false};
  std::atomic<int> left{2 * kRounds};
  int last[2] = {-1, -1};
  std::vector<Numbered> jobs(2 * kRounds);
  {
    Strand strand(executor);
    std::vector<std::thread> posters;
    for (int poster = 0; poster < 2; ++poster) {
      posters.emplace_back([&, poster] {
        for (int number = 0; number < kRounds; ++number) {
          Numbered& job = jobs[static_cast<std::size_t>(poster * kRounds + number)];
          job.inside = &inside;
          job.left = &left;
          job.last = &last[poster];
          job.number = number;
          strand.post(job);
        }
      });
    }
    for (std::thread& poster : posters) {
      poster.join();
    }
  }  // its end waits until it is idle
  EXPECT_EQ(left.load(), 0);
}

Task<int> offload_many(int rounds, bool drop) {
  std::atomic<int> ran{0};
  for (int round = 0; round < rounds; ++round) {
    auto work = offload([&ran] { return ran.fetch_add(1); });
    auto started = start(std::move(work));
    if (!drop) {
      EXPECT_EQ(co_await started, round);
    }
  }
  co_return ran.load();
}

TEST(Races, OffloadedWorkEndsBeforeItsAwaitDoes) {
  ThreadExecutor executor(2);
  EXPECT_EQ(executor.run(offload_many(kRounds / 4, false)), kRounds / 4);
  EXPECT_EQ(executor.run(offload_many(kRounds / 4, true)), kRounds / 4);
}

TEST(Races, BlockOnComesBackWithTheFrameGone) {
  ThreadExecutor executor(2);
  for (int round = 0; round < kRounds; ++round) {
    auto alive = std::make_shared<int>(round);
    struct Body {
      static Task<int> run(std::shared_ptr<int> held) {
        auto nap = sleep_for(0ns);
        co_await nap;
        co_return *held;
      }
    };
    EXPECT_EQ(executor.run(Body::run(alive)), round);
    EXPECT_EQ(alive.use_count(), 1);
  }
}

Task<std::size_t> race_many(int rounds) {
  std::size_t first = 0;
  for (int round = 0; round < rounds; ++round) {
    auto race_of_two = race(sleep_for(Duration(round % 5 * 1'000)), sleep_for(Duration(2'000)));
    const auto winner = co_await race_of_two;
    first += winner.index() == 0 ? 1U : 0U;
  }
  co_return first;
}

TEST(Races, OfTimersCancelTheLoserWheneverItFires) {
  ThreadExecutor executor(2);
  EXPECT_LE(executor.run(race_many(kRounds)), static_cast<std::size_t>(kRounds));
}

// A flag that only a timer's task on the same strand sets, beside a loop that never suspends by itself.
Task<int> loop_until_timer() {
  struct Setter {
    static Task<void> set(bool& flag) {
      auto nap = sleep_for(1ms);
      co_await nap;
      flag = true;
    }
  };
  bool flag = false;
  auto setter = start(Setter::set(flag));
  int yields = 0;
  while (!flag) {
    test::Inline one;
    yields += co_await one ? 1 : 0;
  }
  co_await setter;
  co_return yields;
}

TEST(Races, ALoopOfAwaitsThatEndInPlaceStarvesNoTimer) {
  ThreadExecutor executor(1);
  EXPECT_GE(executor.run(loop_until_timer()), 1);
}

}  // namespace
}  // namespace ferry
