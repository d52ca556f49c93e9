#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ferry/base/random.hpp>

#include "system_fixtures.hpp"

namespace ferry::system {
namespace {

TEST(Reactor, ASignalOnADescriptorIsNeverSleptThrough) {
  for (const unsigned threads : {1U, 2U, 3U}) {
    for (const Duration spin : {Duration(0), Duration(20us)}) {
      auto executor = make_executor(with_threads(threads, spin));
      SignalSource source;
      executor->add(source);
      for (std::uint64_t round = 1; round <= 2000; ++round) {
        source.signal();
        while (source.signals.load() != round) {
          std::this_thread::yield();
        }
      }
      executor->remove(source);
      EXPECT_EQ(source.breaches.load(), 0);
    }
  }
}

TEST(Reactor, SourcesAreServedWhileUserCodeBlocksEveryExecutorThread) {
  for (const unsigned threads : {1U, 3U}) {
    auto executor = make_executor(with_threads(threads));
    SignalSource source;
    executor->add(source);
    for (int round = 0; round < 10; ++round) {
      Latch released;
      std::atomic<unsigned> blocked{0};
      std::deque<FunctionJob> jobs;
      for (unsigned i = 0; i < threads; ++i) {
        jobs.emplace_back([&] {
          blocked.fetch_add(1);
          released.block();
          blocked.fetch_sub(1);
        });
        executor->post(jobs.back());
      }
      wait_until([&] { return blocked.load() == threads; });
      const std::uint64_t polls = executor->stats().progress_polls;
      for (int i = 0; i < 20; ++i) {
        const std::uint64_t expected = source.signals.load() + 1;
        source.signal();
        wait_until([&] { return source.signals.load() == expected; });
      }
      EXPECT_GT(executor->stats().progress_polls, polls);
      released.set();
      wait_until([&] { return blocked.load() == 0; });
    }
    executor->remove(source);
    EXPECT_EQ(source.breaches.load(), 0);
  }
}

TEST(Reactor, TheProgressThreadNeverRunsJobs) {
  auto executor = make_executor(with_threads(1));
  SignalSource source;
  std::atomic<std::thread::id> poller{};
  std::atomic<std::thread::id> runner{};
  Latch ran;
  FunctionJob job([&] {
    runner.store(std::this_thread::get_id());
    ran.set();
  });
  source.on_signal = [&] {
    poller.store(std::this_thread::get_id());
    executor->post(job);
  };
  executor->add(source);
  Latch entered;
  Latch released;
  std::atomic<std::thread::id> executor_thread{};
  FunctionJob blocking([&] {
    executor_thread.store(std::this_thread::get_id());
    entered.set();
    released.block();
  });
  executor->post(blocking);
  entered.block();
  source.signal();
  wait_until([&] { return source.signals.load() == 1; });
  EXPECT_NE(poller.load(), executor_thread.load());
  EXPECT_FALSE(ran.is_set());
  released.set();
  executor->wait(ran);
  EXPECT_EQ(runner.load(), executor_thread.load());
  executor->remove(source);
}

TEST(Reactor, WakeMakesASleepingPollerLookAndCostsNothingElse) {
  auto executor = make_executor(with_threads(2, 0us));
  SignalSource source;
  executor->add(source);
  for (int round = 0; round < 3; ++round) {
    wait_until_asleep(*executor);
    const SystemExecutorStats before = executor->stats();
    const std::uint64_t polls = source.polls.load();
    executor->wake();
    wait_until([&] { return source.polls.load() > polls; });
    EXPECT_EQ(executor->stats().wakes(), before.wakes() + 1);
  }
  executor->remove(source);

  auto spinning = make_executor(with_threads(2, 1h));
  SignalSource polled;
  spinning->add(polled);
  wait_until([&] { return polled.polls.load() > 0; });
  const std::uint64_t kicks = spinning->stats().loop_kicks;
  for (int i = 0; i < 1000; ++i) {
    spinning->wake();
  }
  EXPECT_EQ(spinning->stats().loop_kicks, kicks);
  spinning->remove(polled);
  EXPECT_EQ(source.breaches.load() + polled.breaches.load(), 0);
}

// Queued work that only a poll can do, announced by wake(): a lost wake would hang.
class QueueSource final : public EventSource {
 public:
  bool poll() noexcept override { return done.exchange(queued.load()) != queued.load(); }
  int descriptor() const noexcept override { return -1; }
  bool prepare_to_sleep(bool&) noexcept override { return done.load() == queued.load(); }
  void woken() noexcept override {}

  std::atomic<int> queued{0};
  std::atomic<int> done{0};
};

TEST(Reactor, NoWakeIsLost) {
  for (const unsigned threads : {1U, 2U}) {
    auto executor = make_executor(with_threads(threads, 0us));
    QueueSource source;
    executor->add(source);
    for (int round = 1; round <= 5000; ++round) {
      source.queued.store(round);
      executor->wake();
      while (source.done.load() != round) {
        std::this_thread::yield();
      }
    }
    executor->remove(source);
  }
}

TEST(Reactor, ASourceThatWaitsToWriteIsWokenWhenItCan) {
  // Reads nothing; says that it wants to write; is done once the descriptor is writable.
  class Writer final : public EventSource {
   public:
    explicit Writer(int descriptor) : descriptor_(descriptor) {}
    bool poll() noexcept override {
      pollfd ready{descriptor_, POLLOUT, 0};
      if (writable.load() || ::poll(&ready, 1, 0) != 1) {
        return false;
      }
      writable.store(true);
      return true;
    }
    int descriptor() const noexcept override { return descriptor_; }
    bool prepare_to_sleep(bool& write) noexcept override {
      write = !writable.load();
      return true;
    }
    void woken() noexcept override {}
    std::atomic<bool> writable{false};

   private:
    int descriptor_;
  };
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  std::vector<char> block(4096);
  while (::write(ends[0], block.data(), block.size()) > 0) {
  }
  auto executor = make_executor(with_threads(1, 0us));
  Writer writer(ends[0]);
  executor->add(writer);
  wait_until_asleep(*executor);
  EXPECT_FALSE(writer.writable.load());
  while (::read(ends[1], block.data(), block.size()) > 0) {
  }
  wait_until([&] { return writer.writable.load(); });
  executor->remove(writer);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Reactor, RemoveWaitsForAPollInProgress) {
  auto executor = make_executor(with_threads(2));
  Latch entered;
  Latch released;
  SignalSource source;
  std::atomic<bool> left{false};
  source.on_signal = [&] {
    entered.set();
    released.block();
    left.store(true);
  };
  executor->add(source);
  source.signal();
  entered.block();
  std::atomic<bool> removing{false};
  bool left_before_return = false;
  std::thread remover([&] {
    removing.store(true);
    executor->remove(source);
    left_before_return = left.load();
  });
  wait_until([&] { return removing.load(); });
  released.set();
  remover.join();
  EXPECT_TRUE(left_before_return);
  const std::uint64_t polls = source.polls.load();
  Latch ran;
  FunctionJob job([&] { ran.set(); });
  executor->post(job);
  executor->wait(ran);
  EXPECT_EQ(source.polls.load(), polls);
}

TEST(Reactor, APollMayRemoveItsOwnSourceAndOthers) {
  for (int round = 0; round < 100; ++round) {
    auto executor = make_executor(with_threads(2));
    auto own = std::make_unique<SignalSource>();
    auto other = std::make_unique<SignalSource>();
    Latch removed;
    own->on_signal = [&] {
      executor->remove(*other);
      other.reset();
      executor->remove(*own);
      removed.set();
    };
    executor->add(*own);
    executor->add(*other);
    own->signal();
    removed.block();
    executor.reset();  // ends the poll that removed its own source, which must last that long
  }
}

TEST(Reactor, SourcesComeAndGoWhileOthersAreServed) {
  auto executor = make_executor(with_threads(3, 5us));
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 3; ++seed) {
    threads.emplace_back([&, seed] {
      Random random(seed);
      for (int round = 0; round < 150; ++round) {
        SignalSource source;
        executor->add(source);
        const std::uint64_t signals = random.below(4);
        for (std::uint64_t i = 1; i <= signals; ++i) {
          source.signal();
          while (random.below(2) == 0 && source.signals.load() < i) {
            std::this_thread::yield();
          }
        }
        executor->remove(source);
        EXPECT_EQ(source.breaches.load(), 0);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

// Posts, timers, signals, wakes and blocking jobs at once, from several threads: whatever gets lost hangs the test.
TEST(Reactor, NothingIsLostWhereEverythingHappensAtOnce) {
  for (const unsigned threads : {1U, 2U, 4U}) {
    for (const Duration spin : {Duration(0), Duration(10us)}) {
      auto executor = make_executor(with_threads(threads, spin));
      SignalSource signalled;
      QueueSource queued;
      executor->add(signalled);
      executor->add(queued);
      std::atomic<int> queue_tickets{0};
      std::vector<std::thread> outside;
      for (unsigned number = 0; number < 3; ++number) {
        outside.emplace_back([&, number] {
          Random random(number + 17 * threads);
          for (int round = 0; round < 600; ++round) {
            switch (random.below(6)) {
              case 0: {
                Latch ran;
                FunctionJob job([&] { ran.set(); });
                executor->post(job);
                executor->wait(ran);
                break;
              }
              case 1: {
                Latch ran;
                FunctionJob inner([&] { ran.set(); });
                FunctionJob outer([&] { executor->post(inner); });
                executor->post(outer);
                executor->wait(ran);
                break;
              }
              case 2: {
                Latch fired;
                FunctionTimer timer([&] { fired.set(); });
                executor->start_timer(timer, executor->now() + Duration(random.below(200'000)));
                executor->wait(fired);
                executor->cancel_timer(timer);
                break;
              }
              case 3: {
                const std::uint64_t before = signalled.signals.load();
                signalled.signal();
                while (signalled.signals.load() == before) {
                  std::this_thread::yield();
                }
                break;
              }
              case 4: {
                const int ticket = queue_tickets.fetch_add(1) + 1;
                queued.queued.fetch_add(1);
                executor->wake();
                while (queued.done.load() < ticket && queued.done.load() < queued.queued.load()) {
                  std::this_thread::yield();
                }
                break;
              }
              default: {
                // A job that blocks its thread until a source has been served.
                Latch served;
                FunctionJob job([&] {
                  const std::uint64_t before = signalled.signals.load();
                  signalled.signal();
                  while (signalled.signals.load() == before) {
                    std::this_thread::yield();
                  }
                  served.set();
                });
                executor->post(job);
                executor->wait(served);
                break;
              }
            }
          }
        });
      }
      for (std::thread& thread : outside) {
        thread.join();
      }
      executor->remove(signalled);
      executor->remove(queued);
      EXPECT_EQ(signalled.breaches.load(), 0);
    }
  }
}

}  // namespace
}  // namespace ferry::system
