// The guard: what a world asks of the real machine fails it, by the name of who asked; and nothing else does.
#include <ferry/sim_guard/guard.hpp>

#include <fcntl.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <random>
#include <thread>

#include <gmock/gmock.h>

#include <ferry/explorer/explore.hpp>
#include <ferry/explorer/worker_processes.hpp>
#include <ferry/sim/determinism.hpp>

#include "busy_program.hpp"

namespace ferry::sim::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

constexpr std::chrono::hours kYear{24 * 365};

// Who asks: each a function of its own, so that it can be named.
#define ASKER [[gnu::noinline, gnu::used]] void

std::uint64_t answer = 0;

ASKER ask_clock_gettime() {
  timespec now{};
  answer += static_cast<std::uint64_t>(::clock_gettime(CLOCK_MONOTONIC, &now) + now.tv_nsec);
}
ASKER ask_steady_clock() {
  answer += static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}
ASKER ask_gettimeofday() {
  timeval now{};
  answer += static_cast<std::uint64_t>(::gettimeofday(&now, nullptr) + now.tv_usec);
}
ASKER ask_time() {
  answer += static_cast<std::uint64_t>(std::time(nullptr));
}
ASKER ask_timespec_get() {
  timespec now{};
  answer += static_cast<std::uint64_t>(std::timespec_get(&now, TIME_UTC) + now.tv_nsec);
}
ASKER ask_clock() {
  answer += static_cast<std::uint64_t>(std::clock());
}
ASKER ask_getrandom() {
  std::uint64_t bytes = 0;
  answer += static_cast<std::uint64_t>(::getrandom(&bytes, sizeof bytes, 0)) + bytes;
}
ASKER ask_getentropy() {
  std::uint64_t bytes = 0;
  answer += static_cast<std::uint64_t>(::getentropy(&bytes, sizeof bytes)) + bytes;
}
ASKER ask_arc4random() {
  answer += ::arc4random();
}
ASKER ask_arc4random_buf() {
  std::uint64_t bytes = 0;
  ::arc4random_buf(&bytes, sizeof bytes);
  answer += bytes;
}
ASKER ask_arc4random_uniform() {
  answer += ::arc4random_uniform(7);
}
ASKER ask_random_device() {
  std::random_device device;
  answer += device();
}
ASKER ask_stream() {
  std::ifstream file("/dev/urandom");
  answer += static_cast<std::uint64_t>(file.get());
}
ASKER ask_file() {
  std::FILE* file = std::fopen("/dev/random", "r");
  answer += file != nullptr ? static_cast<std::uint64_t>(std::fclose(file)) : 0;
}
ASKER ask_descriptor() {
  answer += static_cast<std::uint64_t>(::close(::open("/dev/urandom", O_RDONLY)));
}
ASKER ask_for_a_thread() {
  std::thread thread([] { answer += 1; });
  thread.join();
}

struct Case {
  const char* name;
  void (*ask)();
  const char* function;  // as the failure names it
  const char* asker;
};
void PrintTo(const Case& each, std::ostream* out) {
  *out << each.name;
}

Task<void> ask_once(void (*ask)()) {
  co_await sleep_for(1us);
  ask();
  co_await sleep_for(1s);
}

WorldResult run_asking(void (*ask)(), const WorldOptions& options = {.seed = 1}) {
  return sim::run(options, kBusyActors, [ask](Context&) { return ask_once(ask); }).result;
}

class EachFunction : public testing::TestWithParam<Case> {};

TEST_P(EachFunction, FailsTheWorldByTheNameOfItsCaller) {
  const WorldResult result = run_asking(GetParam().ask);
  ASSERT_EQ(result.outcome, Outcome::failed) << result.to_text();
  EXPECT_THAT(result.what, AllOf(StartsWith("step "), HasSubstr(" of process 1 (root): "),
                                 HasSubstr(std::string(GetParam().function) + " called from "),
                                 HasSubstr("::" + std::string(GetParam().asker) + "() ("),
                                 HasSubstr("sim_guard_test+0x"), HasSubstr("): ")));
  EXPECT_LT(result.virtual_time, 1s) << "it ends with the step";
}

INSTANTIATE_TEST_SUITE_P(
    Guard, EachFunction,
    testing::Values(Case{"ClockGettime", ask_clock_gettime, "clock_gettime", "ask_clock_gettime"},
                    Case{"SteadyClock", ask_steady_clock, "clock_gettime", "ask_steady_clock"},
                    Case{"Gettimeofday", ask_gettimeofday, "gettimeofday", "ask_gettimeofday"},
                    Case{"Time", ask_time, "time", "ask_time"},
                    Case{"TimespecGet", ask_timespec_get, "timespec_get", "ask_timespec_get"},
                    Case{"Clock", ask_clock, "clock", "ask_clock"},
                    Case{"Getrandom", ask_getrandom, "getrandom", "ask_getrandom"},
                    Case{"Getentropy", ask_getentropy, "getentropy", "ask_getentropy"},
                    Case{"Arc4random", ask_arc4random, "arc4random", "ask_arc4random"},
                    Case{"Arc4randomBuf", ask_arc4random_buf, "arc4random_buf", "ask_arc4random_buf"},
                    Case{"Arc4randomUniform", ask_arc4random_uniform, "arc4random_uniform", "ask_arc4random_uniform"},
                    Case{"RandomDevice", ask_random_device, "std::random_device", "ask_random_device"},
                    Case{"Stream", ask_stream, "/dev/urandom", "ask_stream"},
                    Case{"File", ask_file, "/dev/random", "ask_file"},
                    Case{"Descriptor", ask_descriptor, "/dev/urandom", "ask_descriptor"},
                    Case{"Thread", ask_for_a_thread, "pthread_create", "ask_for_a_thread"}),
    [](const testing::TestParamInfo<Case>& each) { return std::string(each.param.name); });

TEST(Guard, IsOnAndSaysWhatToUseInstead) {
  ASSERT_TRUE(sim_guard::is_on()) << sim_guard::why_off();
  EXPECT_EQ(sim_guard::why_off(), "");
  EXPECT_THAT(run_asking(ask_steady_clock).what,
              MatchesRegex("step [0-9]+ of process 1 \\(root\\): clock_gettime called from .*ask_steady_clock\\(\\) "
                           "\\(.*sim_guard_test\\+0x[0-9a-f]+\\) through std::chrono.*steady_clock::now\\(\\): "
                           "use the executor's now\\(\\), which is the world's time: .*"));
  EXPECT_THAT(run_asking(ask_random_device).what, HasSubstr("draw from ferry::Random"));
  EXPECT_THAT(run_asking(ask_for_a_thread).what, HasSubstr("start a Task"));
}

class Curious : public Actor {
 public:
  explicit Curious(ActorContext&) {}
  void look() { ask_gettimeofday(); }
  static constexpr auto endpoints = ferry::endpoints<&Curious::look>;
};

Task<void> let_an_actor_ask(Context context) {
  auto procs = co_await context.this_host().spawn_procs({{"worker", 1}});
  auto actor = co_await procs.spawn<Curious>("curious");
  co_await actor.call<&Curious::look>();
}

TEST(Guard, NamesTheProcessOfTheActorThatAsks) {
  const WorldResult result =
      sim::run({.seed = 1}, ferry::actors<Curious>, [](Context& context) { return let_an_actor_ask(context); }).result;
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_THAT(result.what, AllOf(HasSubstr(" of process 2 (root/worker=0)"), HasSubstr("gettimeofday called from ")));
}

TEST(Guard, NamesTheWorldWhereAPlanAsks) {
  const WorldResult result = sim::run({.seed = 1}, kBusyActors, [](World& world, Context&) {
                               world.at(1us, ask_time);
                               return ask_once([] {});
                             }).result;
  EXPECT_THAT(result.what, AllOf(HasSubstr(" of the world: time called from "), HasSubstr("ask_time()")));
}

class Lender : public Actor {
 public:
  explicit Lender(ActorContext& context) : buffer_(context.register_memory(std::span(words_))) {}
  BufferRef lend() { return buffer_.ref(); }
  static constexpr auto endpoints = ferry::endpoints<&Lender::lend>;

 private:
  std::array<std::uint64_t, 16> words_{};
  RDMABuffer buffer_;
};

// is_early: the local buffer goes before the operation has ended.
Task<int> free_a_buffer(Context context, bool is_write, bool is_early) {
  auto procs = co_await context.this_host().spawn_procs({{"owner", 1}});
  auto lender = co_await procs.spawn<Lender>("lender");
  const BufferRef lent = co_await lender.only().call<&Lender::lend>();
  auto local = std::make_unique<std::array<std::uint64_t, 16>>();
  local->fill(7);
  auto operation = is_write ? start(lent.write_from(std::span(*local))) : start(lent.read_into(std::span(*local)));
  if (is_early) {
    local = nullptr;
  }
  co_await operation;
  co_return 0;
}

TEST(Guard, FreedMemoryThatAnOperationUsesIsAFinding) {
  for (const bool is_write : {false, true}) {
    for (const bool is_early : {false, true}) {
      const WorldResult result =
          sim::run({.seed = 1, .findings = FindingMode::fail}, ferry::actors<Lender>, [=](Context& context) {
            return free_a_buffer(context, is_write, is_early);
          }).result;
      EXPECT_EQ(result.outcome, is_early ? Outcome::finding : Outcome::passed) << result.to_text();
      const std::string told = is_write ? "root freed bytes 0 to 127 of the source of root's write_from of 128 bytes"
                                        : "root freed bytes 0 to 127 of the destination of root's read_into of 128";
      EXPECT_THAT(result.what, HasSubstr(is_early ? told : ""));
    }
  }
}

TEST(Guard, EverySeedFailsByTheSameName) {
  const Exploration found = ferry::explore({.seeds = 20, .shrink_runs = 20},
                                           [](const WorldOptions& options) { return run_asking(ask_time, options); });
  ASSERT_TRUE(found.failure);
  EXPECT_EQ(found.failure->found.seed, 0U);
  EXPECT_THAT(failure_name(found.failure->smallest), HasSubstr("step # of process # (root): time called from "));
}

// Outside of a world, all is as it was; also on a thread beside one, and between two worlds.
TEST(Guard, JudgesNothingButWorlds) {
  ask_clock_gettime();
  ask_random_device();
  ask_for_a_thread();
  std::atomic<bool> is_over = false;
  std::atomic<int> asked = 0;
  std::thread beside([&] {
    while (!is_over || asked == 0) {
      timespec now{};
      ::clock_gettime(CLOCK_MONOTONIC, &now);
      ++asked;
    }
  });
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const WorldResult result = run_busy({.seed = seed, .hosts = 2, .swarm = Faults::all});
    EXPECT_EQ(result.outcome, Outcome::passed) << result.to_text();
    ask_time();
  }
  is_over = true;
  beside.join();
}

TEST(Guard, ExploringWithWorkersAWallAndAProgressBarTripsNothing) {
  const Exploration found = ferry::explore({.seeds = 60, .hosts = 2, .swarm = Faults::all, .workers = 2},
                                           [](const WorldOptions& options) { return run_busy(options); });
  EXPECT_TRUE(found.passed()) << found.failure->to_text();
}

class ClockedLog final : public Log {
 public:
  void write(LogLevel, std::string_view line) noexcept override {
    ask_steady_clock();
    lines += std::string(line) + "\n";
  }
  std::string lines;
};

class ClockedTrace final : public TraceSink {
 public:
  void on_step(const TracedStep&) override { ask_steady_clock(); }
  void on_event(const TracedEvent&) override { ask_steady_clock(); }
};

TEST(Guard, WhoIsToldOfAWorldMayReadAClock) {
  ClockedLog log;
  ClockedTrace trace;
  const WorldResult plain = run_busy({.seed = 3});
  const WorldResult told = run_busy({.seed = 3, .log = &log, .trace = &trace});
  EXPECT_EQ(told.to_text(), plain.to_text());
  EXPECT_THAT(log.lines, HasSubstr("the sum is "));
}

std::string hashes_of(std::uint64_t seeds, std::string& log_lines) {
  std::string text;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    ClockedLog log;
    text += run_busy({.seed = seed, .hosts = 2, .swarm = Faults::all, .log = &log}).to_text() + "\n";
    log_lines += log.lines;
  }
  return text;
}

class ShiftedWallClock {
 public:
  explicit ShiftedWallClock(std::chrono::seconds by) { sim_guard::shift_wall_clock(by); }
  ~ShiftedWallClock() { sim_guard::shift_wall_clock({}); }
  ShiftedWallClock(const ShiftedWallClock&) = delete;
  ShiftedWallClock& operator=(const ShiftedWallClock&) = delete;
};

TEST(WallClock, AYearLaterHashesAndLogLinesAreTheSame) {
  std::string lines;
  const std::string hashes = hashes_of(100, lines);
  const ShiftedWallClock shifted(kYear);
  std::string later_lines;
  EXPECT_EQ(hashes_of(100, later_lines), hashes);
  EXPECT_EQ(later_lines, lines);
}

TEST(WallClock, EachOfItsFunctionsIsShiftedAndTheMonotonicOnesAreNot) {
  const auto look = [] {
    timespec fine{};
    timespec standard{};
    timeval old{};
    ::clock_gettime(CLOCK_REALTIME, &fine);
    std::timespec_get(&standard, TIME_UTC);
    ::gettimeofday(&old, nullptr);
    const auto chrono = std::chrono::system_clock::now().time_since_epoch();
    return std::array<std::int64_t, 5>{fine.tv_sec, standard.tv_sec, old.tv_sec, std::time(nullptr),
                                       std::chrono::duration_cast<std::chrono::seconds>(chrono).count()};
  };
  const auto monotonic = std::chrono::steady_clock::now();
  const auto before = look();
  const ShiftedWallClock shifted(kYear);
  const auto after = look();
  constexpr std::int64_t kShift = std::chrono::seconds(kYear).count();
  for (std::size_t index = 0; index < before.size(); ++index) {
    EXPECT_GE(after[index], before[index] + kShift) << index;
    EXPECT_LT(after[index], before[index] + 2 * kShift) << index;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - monotonic, kYear);
}

// The canary: a world that is told the year from outside has another hash.
Task<void> rest(Duration time) {
  co_await sleep_for(time);
}

std::uint64_t year() {
  return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch() / kYear);
}

TEST(WallClock, WhatHangsOnItIsFoundByTheShift) {
  const auto hash = [] {
    const auto years = static_cast<std::int64_t>(year());
    return sim::run({.seed = 1}, kBusyActors,
                    [years](Context&) -> Task<void> { return rest(std::chrono::microseconds(years)); })
        .result.hash;
  };
  const std::uint64_t now = hash();
  EXPECT_EQ(hash(), now);
  const ShiftedWallClock shifted(2 * kYear);
  EXPECT_NE(hash(), now);
}

}  // namespace
}  // namespace ferry::sim::test
