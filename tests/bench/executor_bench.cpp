// What the SystemExecutor costs: per hop between strands, across threads, from sleep, and where many post to one.
//
// Every benchmark prints the system calls it made per operation beside the time.
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include <ferry/base/strand.hpp>
#include <ferry/system/system_executor.hpp>

namespace ferry {
namespace {

using system::SystemExecutor;
using system::SystemExecutorOptions;
using system::SystemExecutorStats;

std::unique_ptr<SystemExecutor> make_executor(unsigned threads) {
  SystemExecutorOptions options;
  options.threads = threads;
  return std::move(SystemExecutor::create(options).value());
}

void report(benchmark::State& state, const SystemExecutor& executor, const SystemExecutorStats& before,
            double operations) {
  const SystemExecutorStats after = executor.stats();
  state.SetItemsProcessed(static_cast<std::int64_t>(operations));
  state.counters["wakes"] = static_cast<double>(after.wakes() - before.wakes()) / operations;
  state.counters["waits"] =
      static_cast<double>(after.loop_waits + after.parks - before.loop_waits - before.parks) / operations;
  state.counters["stolen"] = static_cast<double>(after.stolen - before.stolen) / operations;
}

// Bounces between two strands until it has done so `left` times.
struct Ball : Job {
  Ball(Strand& a, Strand& b) noexcept : Job(&Ball::hop), strands{&a, &b} {}
  static void hop(Job& job) noexcept {
    auto& self = static_cast<Ball&>(job);
    if (--self.left == 0) {
      self.done->set();
      return;
    }
    self.strands[self.left % 2]->post(self);
  }
  Strand* strands[2];
  int left = 0;
  Latch* done = nullptr;
};

// Two strands that post to each other and do nothing else. Arguments: threads, pairs.
void StrandPingPong(benchmark::State& state) {
  constexpr int kHops = 20'000;
  auto executor = make_executor(static_cast<unsigned>(state.range(0)));
  const auto pairs = static_cast<std::size_t>(state.range(1));
  std::vector<std::unique_ptr<Strand>> strands;
  std::vector<std::unique_ptr<Ball>> balls;
  for (std::size_t i = 0; i < pairs; ++i) {
    strands.push_back(std::make_unique<Strand>(*executor));
    strands.push_back(std::make_unique<Strand>(*executor));
    balls.push_back(std::make_unique<Ball>(*strands[2 * i], *strands[2 * i + 1]));
  }
  const SystemExecutorStats before = executor->stats();
  for ([[maybe_unused]] auto _ : state) {
    std::vector<Latch> done(pairs);
    for (std::size_t i = 0; i < pairs; ++i) {
      balls[i]->left = kHops;
      balls[i]->done = &done[i];
      balls[i]->strands[0]->post(*balls[i]);
    }
    for (Latch& latch : done) {
      executor->wait(latch);
    }
  }
  report(state, *executor, before, static_cast<double>(state.iterations()) * kHops * static_cast<double>(pairs));
}
BENCHMARK(StrandPingPong)->Args({1, 1})->Args({2, 1})->Args({2, 2})->Args({2, 8})->Args({4, 1})->UseRealTime();

// Answers a count; see the two below.
struct Echo : Job {
  Echo() noexcept : Job(&Echo::run_job) {}
  static void run_job(Job& job) noexcept { static_cast<Echo&>(job).count.fetch_add(1, std::memory_order_release); }
  std::atomic<std::uint64_t> count{0};
};

// A thread outside posts to a strand and spins for the answer, while an executor thread polls: two crossings.
void OutsidePingPong(benchmark::State& state) {
  auto executor = make_executor(static_cast<unsigned>(state.range(0)));
  Strand strand(*executor);
  Echo echo;
  const SystemExecutorStats before = executor->stats();
  std::uint64_t expected = 0;
  for ([[maybe_unused]] auto _ : state) {
    strand.post(echo);
    ++expected;
    while (echo.count.load(std::memory_order_acquire) != expected) {
    }
  }
  report(state, *executor, before, static_cast<double>(state.iterations()));
}
BENCHMARK(OutsidePingPong)->Arg(1)->Arg(2)->UseRealTime();

// A strand posts to another and spins for the answer inside its job, so that the other must run on another thread.
struct Caller : Job {
  Caller(Strand& to) noexcept : Job(&Caller::run_job), callee(&to) {}
  static void run_job(Job& job) noexcept {
    auto& self = static_cast<Caller&>(job);
    for (std::uint64_t i = 1; i <= self.calls; ++i) {
      const std::uint64_t answer = self.echo.count.load(std::memory_order_relaxed) + 1;
      self.callee->post(self.echo);
      while (self.echo.count.load(std::memory_order_acquire) != answer) {
      }
    }
    self.done->set();
  }
  Strand* callee;
  Echo echo;
  std::uint64_t calls = 0;
  Latch* done = nullptr;
};

void StrandsOnTwoThreads(benchmark::State& state) {
  constexpr std::uint64_t kCalls = 2'000;
  auto executor = make_executor(2);
  Strand a(*executor);
  Strand b(*executor);
  Caller caller(b);
  caller.calls = kCalls;
  const SystemExecutorStats before = executor->stats();
  for ([[maybe_unused]] auto _ : state) {
    Latch done;
    caller.done = &done;
    a.post(caller);
    executor->wait(done);
  }
  report(state, *executor, before, static_cast<double>(state.iterations()) * kCalls);
}
BENCHMARK(StrandsOnTwoThreads)->UseRealTime();

// From a post to its job while every executor thread sleeps.
void WakeFromSleep(benchmark::State& state) {
  auto executor = make_executor(static_cast<unsigned>(state.range(0)));
  Strand strand(*executor);
  Echo echo;
  const SystemExecutorStats before = executor->stats();
  std::uint64_t expected = 0;
  for ([[maybe_unused]] auto _ : state) {
    std::this_thread::sleep_for(std::chrono::microseconds(500));
    const auto start = std::chrono::steady_clock::now();
    strand.post(echo);
    ++expected;
    while (echo.count.load(std::memory_order_acquire) != expected) {
    }
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  report(state, *executor, before, static_cast<double>(state.iterations()));
}
BENCHMARK(WakeFromSleep)->Arg(1)->Arg(2)->UseManualTime()->Iterations(2000);

// Many strands, each of which posts to one as fast as it can. Arguments: threads, senders.
struct Sender : Job {
  explicit Sender(Strand& own, Strand& to) noexcept : Job(&Sender::run_job), strand(&own), sink(&to), echoes(kBurst) {}
  static constexpr std::size_t kBurst = 32;
  static void run_job(Job& job) noexcept {
    auto& self = static_cast<Sender&>(job);
    for (Echo& echo : self.echoes) {
      echo.count.store(0, std::memory_order_relaxed);
      self.sink->post(echo);
    }
    self.done->fetch_add(1, std::memory_order_release);
  }
  Strand* strand;
  Strand* sink;
  std::vector<Echo> echoes;
  std::atomic<std::size_t>* done = nullptr;
};

void FanIn(benchmark::State& state) {
  auto executor = make_executor(static_cast<unsigned>(state.range(0)));
  const auto count = static_cast<std::size_t>(state.range(1));
  Strand sink(*executor);
  std::vector<std::unique_ptr<Strand>> strands;
  std::vector<std::unique_ptr<Sender>> senders;
  std::atomic<std::size_t> posted{0};
  for (std::size_t i = 0; i < count; ++i) {
    strands.push_back(std::make_unique<Strand>(*executor));
    senders.push_back(std::make_unique<Sender>(*strands.back(), sink));
    senders.back()->done = &posted;
  }
  const SystemExecutorStats before = executor->stats();
  for ([[maybe_unused]] auto _ : state) {
    posted.store(0, std::memory_order_relaxed);
    for (auto& sender : senders) {
      sender->strand->post(*sender);
    }
    while (posted.load(std::memory_order_acquire) != count) {
    }
    for (auto& sender : senders) {
      for (Echo& echo : sender->echoes) {
        while (echo.count.load(std::memory_order_acquire) == 0) {
        }
      }
    }
  }
  report(state, *executor, before,
         static_cast<double>(state.iterations()) * static_cast<double>(count * Sender::kBurst));
}
BENCHMARK(FanIn)->Args({1, 16})->Args({2, 16})->Args({4, 16})->UseRealTime();

// Strands that are all given ten microseconds of work at once from outside: how far the threads share it.
struct Work : Job {
  Work() noexcept : Job(&Work::run_job) {}
  static void run_job(Job& job) noexcept {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(10);
    while (std::chrono::steady_clock::now() < until) {
    }
    static_cast<Work&>(job).left->fetch_sub(1, std::memory_order_release);
  }
  std::atomic<int>* left = nullptr;
};

struct Spread : Job {
  Spread() noexcept : Job(&Spread::run_job) {}
  static void run_job(Job& job) noexcept {
    auto& self = static_cast<Spread&>(job);
    for (std::size_t i = 0; i < self.work.size(); ++i) {
      self.strands[i]->post(self.work[i]);
    }
  }
  std::vector<std::unique_ptr<Strand>> strands;
  std::vector<Work> work;
};

void FanOut(benchmark::State& state) {
  constexpr int kPieces = 64;
  auto executor = make_executor(static_cast<unsigned>(state.range(0)));
  Strand root(*executor);
  Spread spread;
  std::atomic<int> left{0};
  spread.work = std::vector<Work>(kPieces);
  for (Work& work : spread.work) {
    work.left = &left;
    spread.strands.push_back(std::make_unique<Strand>(*executor));
  }
  const SystemExecutorStats before = executor->stats();
  for ([[maybe_unused]] auto _ : state) {
    left.store(kPieces);
    root.post(spread);
    while (left.load(std::memory_order_acquire) != 0) {
      std::this_thread::yield();
    }
  }
  report(state, *executor, before, static_cast<double>(state.iterations()) * kPieces);
}
BENCHMARK(FanOut)->Arg(1)->Arg(2)->UseRealTime();

void StartAndCancelTimer(benchmark::State& state) {
  auto executor = make_executor(1);
  Timer timer([](Timer&) noexcept {});
  Timer far([](Timer&) noexcept {});
  executor->start_timer(far, executor->now() + std::chrono::hours(1));
  const TimePoint due = executor->now() + std::chrono::hours(2);
  for ([[maybe_unused]] auto _ : state) {
    executor->start_timer(timer, due);
    executor->cancel_timer(timer);
  }
  executor->cancel_timer(far);
}
BENCHMARK(StartAndCancelTimer);

}  // namespace
}  // namespace ferry
