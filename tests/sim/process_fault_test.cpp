// Faults of processes and hosts: crash, restart, pause, clocks that drift, what the system refuses.
#include <array>
#include <vector>

#include <gmock/gmock.h>

#include <ferry/actor/actor.hpp>
#include <ferry/base/buggify.hpp>
#include <ferry/sim/run.hpp>

#include <ferry/sim/sim_fabric.hpp>

#include "task_program.hpp"

namespace ferry::sim::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Task<void> doze(Duration time) {
  co_await sleep_for(time);
}

Entry sleeper(Duration time) {
  return run_task([time](Island&) { return doze(time); });
}

std::string refusal_text_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

errc refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.ferry_code();
  }
  return errc{};
}

// Ticks until told to end; its word shows how often.
Task<void> tick(Island& island, Board& board, TimePoint& ended) {
  std::array<std::uint64_t, 2> words{};
  RDMABuffer buffer = register_memory(island.node(), std::span(words));
  board.post("words", island, buffer);
  while (words[1] == 0) {
    ++words[0];
    co_await sleep_for(100us);
  }
  ended = island.world().now();
}

Task<void> look_while_paused(Island& island, Board& board, Process& ticking) {
  const BufferRef words = co_await wait_for(board, "words", island);
  OngoingFaults& faults = island.world().faults();
  std::array<std::uint64_t, 2> before{};
  co_await words.read_into(std::span(before));  // a connection is made by both processes
  co_await sleep_for(5ms);
  faults.pause(ticking);
  std::array<std::uint64_t, 2> after{};
  co_await words.read_into(std::span(before));
  const std::array<std::uint64_t, 1> end{1};
  co_await words.subrange(8, 8).write_from(std::span(end));
  co_await sleep_for(50ms);
  co_await words.read_into(std::span(after));
  require(before[0] > 10, "it ticked before the pause");
  require(after[0] == before[0], "it ticks no more");
  require(after[1] == 1, "its memory is written meanwhile");
  faults.resume(ticking);
}

TEST(Pause, AProcessDoesNothingWhileItsMemoryIsReadAndWrittenAndGoesOnAfterwards) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Board board;
    TimePoint ended{};
    // Where writes are ordered by the NIC; elsewhere a delivered write is answered by the owner's process.
    World world({.seed = seed, .fabric = {.profile = nic_profile("strict")}});
    Process& ticking = world.start("ticking", run_task([&](Island& island) { return tick(island, board, ended); }));
    world.start("looking", run_task([&](Island& island) { return look_while_paused(island, board, ticking); }));
    const WorldResult result = world.run();
    ASSERT_EQ(result.outcome, Outcome::passed) << result.to_text();
    EXPECT_GE(ended.time_since_epoch(), 55ms);
    EXPECT_THAT(result.faults,
                ElementsAre(HasSubstr("s: process 1 (ticking) paused"), HasSubstr("s: process 1 (ticking) resumed")));
  }
}

TEST(Pause, OfAProcessThatNobodyResumesIsNamedWhereTheWorldIsStuck) {
  World world({.seed = 1});
  Process& process = world.start("dozing", sleeper(1s));
  world.at(1ms).pause(process);
  const WorldResult result = world.run();
  EXPECT_EQ(result.outcome, Outcome::stuck);
  EXPECT_EQ(result.what, "dozing (process 1, paused): its main task has not ended");
}

TEST(Pause, DoesNotKeepAProcessFromBeingKilledNorItsTimersFromFiringLate) {
  World world({.seed = 1});
  Process& process = world.start("dozing", sleeper(10ms));
  Process& killed = world.start("killed", sleeper(10ms));
  world.at(5ms).pause(process).pause(killed);
  world.at(1s).crash(killed).resume(process);
  const WorldResult result = world.run();
  EXPECT_EQ(result.outcome, Outcome::passed) << result.to_text();
  EXPECT_EQ(result.virtual_time, Duration(1s));
  EXPECT_EQ(process.state(), Process::State::exited);
  EXPECT_EQ(killed.state(), Process::State::killed);
}

class Echo : public Actor {
 public:
  explicit Echo(ActorContext&) {}
  std::uint64_t next() { return ++number_; }
  static constexpr auto endpoints = ferry::endpoints<&Echo::next>;

 private:
  std::uint64_t number_ = 0;
};

constexpr auto kActors = ferry::actors<Echo>;

Task<ActorRef<Echo>> start_echo(Context context) {
  auto processes = co_await context.this_host().spawn_procs({{"echo", 1}});
  auto echoes = co_await processes.spawn<Echo>("echo");
  co_return echoes.only();
}

Task<int> call_paused(World& world, Context context, Duration& answered) {
  const ActorRef<Echo> echo = co_await start_echo(context);
  Process& child = *world.processes()[1];
  world.faults().pause(child);
  world.at(world.now().time_since_epoch() + 2s).resume(child);
  for (std::uint64_t number = 1; number <= 3; ++number) {
    const std::uint64_t got = co_await echo.call<&Echo::next>();
    require(got == number, "no message is lost or comes twice");
  }
  answered = world.now().time_since_epoch();
  co_return 0;
}

// Between the two events of that process: only what a NIC does.
void expect_nothing_of_it_runs(const Trace& trace, ProcessNumber process) {
  TimePoint paused = kNever;
  TimePoint resumed = kNever;
  for (const TracedEvent& event : trace.events()) {
    paused = event.text.ends_with(" paused") ? event.at : paused;
    resumed = event.text.ends_with(" resumed") ? event.at : resumed;
  }
  ASSERT_LT(paused, resumed);
  for (const TracedStep& step : trace.steps()) {
    if (step.process == process && step.at > paused && step.at < resumed) {
      const bool is_of_its_nic = step.kind == StepKind::sample || step.kind == StepKind::place ||
                                 step.kind == StepKind::packet || step.kind == StepKind::retry;
      EXPECT_TRUE(is_of_its_nic) << to_text(step, trace.processes());
    }
  }
}

TEST(Pause, MessagesWaitUntilTheProcessIsResumed) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Duration answered{};
    Trace trace;
    const Report report = sim::run({.seed = seed, .trace = &trace}, kActors, [&](World& world, Context& context) {
      return call_paused(world, context, answered);
    });
    ASSERT_EQ(report.status, 0) << report.result.to_text();
    EXPECT_GE(answered, Duration(2s));
    expect_nothing_of_it_runs(trace, ProcessNumber(2));
  }
}

TEST(Clocks, ThatDriftMoveTimersAlsoThoseThatRun) {
  const auto ends_at = [](std::int64_t first, std::int64_t later) {
    World world({.seed = 1});
    Process& process = world.start("clock", sleeper(1s));
    world.at(Duration::zero()).set_drift(process, first);
    world.at(500ms).set_drift(process, later);
    const WorldResult result = world.run();
    EXPECT_EQ(result.outcome, Outcome::passed) << result.to_text();
    return result.virtual_time;
  };
  EXPECT_EQ(ends_at(0, 0), Duration(1s));
  EXPECT_EQ(ends_at(100'000, 100'000), Duration(909'090'910));      // 1 s / 1.1, rounded up
  EXPECT_EQ(ends_at(-100'000, -100'000), Duration(1'111'111'112));  // 1 s / 0.9
  // Half a second of 1.1 leaves 0.45, at 0.9; each change rounds up.
  EXPECT_EQ(ends_at(100'000, -100'000), Duration(1'000'000'002));
}

TEST(Clocks, NeverGoBackAndShowTheFirstMomentThatIsNotEarlier) {
  ProcessClock clock;
  Random random(7);
  TimePoint now{};
  TimePoint shown{};
  for (int round = 0; round < 2'000; ++round) {
    clock.set_drift(now, static_cast<std::int64_t>(random.below(200'001)) - 100'000);
    ASSERT_GE(clock.local(now), shown);
    const TimePoint due = clock.local(now) + Duration(random.below(10'000'000'000));
    const TimePoint world = clock.world(due);
    ASSERT_GE(clock.local(world), due);
    ASSERT_TRUE(world <= now || clock.local(world - 1ns) < due) << clock.drift();
    now += Duration(random.below(1'000'000'000));
    shown = clock.local(now);
  }
  EXPECT_EQ(clock.world(kNever), kNever);
  EXPECT_EQ(clock.local(kNever), kNever);
}

TEST(Clocks, DriftBeyondATenthIsRefused) {
  World world({.seed = 1});
  Process& process = world.start("clock", sleeper(1s));
  EXPECT_EQ(refusal_of([&] { world.faults().set_drift(process, 100'001); }), errc::invalid_argument);
  EXPECT_EQ(refusal_of([&] { world.faults().set_drift(process, -100'001); }), errc::invalid_argument);
}

TEST(Restart, IsANewIncarnationAtTheSamePort) {
  World world({.seed = 1});
  std::vector<std::string> lives;
  Process& process = world.start("phoenix", [&](Process& self) -> std::unique_ptr<Program> {
    lives.push_back(to_string(self.bootstrap().self) + " at " + std::to_string(self.port().value()));
    if (lives.size() == 2) {
      self.exit(0);
    }
    return nullptr;
  });
  world.at(1ms).restart(process);
  const WorldResult result = world.run();
  EXPECT_EQ(result.outcome, Outcome::passed) << result.to_text();
  ASSERT_EQ(lives.size(), 2U);
  EXPECT_NE(lives[0], lives[1]);
  EXPECT_THAT(lives[0], HasSubstr(" at 1"));
  EXPECT_THAT(lives[1], HasSubstr(" at 1"));
  EXPECT_EQ(process.state(), Process::State::killed);
}

Task<int> restart_child(World& world, Context context, std::string& refusal) {
  co_await start_echo(context);
  try {
    world.faults().restart(*world.processes()[1]);
  } catch (const Error& error) {
    refusal = error.what();
  }
  co_return 0;
}

TEST(Restart, OfAChildIsItsParentsAffair) {
  std::string refusal;
  const Report report = sim::run(
      {}, kActors, [&](World& world, Context& context) -> Task<int> { return restart_child(world, context, refusal); });
  EXPECT_EQ(report.status, 0) << report.result.to_text();
  EXPECT_THAT(refusal, AllOf(HasSubstr("process 2"), HasSubstr("its parent decides")));
}

TEST(Hosts, CrashWithTheirProcessesAndBringThoseOfTheWorldBack) {
  World world({.seed = 1, .hosts = 3});
  for (std::uint32_t host = 0; host < 3; ++host) {
    world.start("here", sleeper(4s), {}, Host{host});
  }
  Process& done = world.start("done", sleeper(1ms), {}, Host{1});
  world.at(1s).crash(world.host(1));
  world.at(2s, [&world] {
    EXPECT_EQ(world.processes()[0]->state(), Process::State::running);
    EXPECT_EQ(world.processes()[1]->state(), Process::State::killed);
    EXPECT_EQ(world.processes()[2]->state(), Process::State::running);
    EXPECT_EQ(refusal_of([&world] { world.start("early", sleeper(1s), {}, Host{1}); }), errc::invalid_argument);
  });
  world.at(3s).restart(world.host(1));
  const WorldResult result = world.run();
  EXPECT_EQ(result.outcome, Outcome::passed) << result.to_text();
  EXPECT_EQ(result.virtual_time, Duration(7s));
  EXPECT_EQ(world.processes().size(), 5U);
  EXPECT_EQ(world.processes()[4]->port(), world.processes()[1]->port());
  EXPECT_EQ(done.state(), Process::State::exited);
  EXPECT_EQ(refusal_of([&world] { static_cast<void>(world.host(3)); }), errc::invalid_argument);
  EXPECT_EQ(refusal_of([] { World none({.hosts = 0}); }), errc::invalid_argument);
}

Task<int> spread(World& world, Context context, std::vector<std::uint32_t>& hosts) {
  co_await context.this_host().spawn_procs({{"worker", 5}});
  for (const auto& process : world.processes()) {
    hosts.push_back(process->host_in_world().index);
  }
  world.faults().crash(world.host(1));
  hosts.push_back(99);
  co_await context.this_host().spawn_procs({{"more", 3}});
  for (std::size_t index = 6; index < world.processes().size(); ++index) {
    hosts.push_back(world.processes()[index]->host_in_world().index);
  }
  co_return 0;
}

TEST(Hosts, ChildrenAreSpreadOverThoseThatAreUpUnlessTheyStayWithTheirParent) {
  const auto hosts_of = [](Placement placement) {
    std::vector<std::uint32_t> hosts;
    const Report report = sim::run({.hosts = 3, .placement = placement}, kActors,
                                   [&](World& world, Context& context) { return spread(world, context, hosts); });
    EXPECT_EQ(report.status, 0) << report.result.to_text();
    return hosts;
  };
  EXPECT_THAT(hosts_of(Placement::spread), ElementsAre(0, 1, 2, 0, 1, 2, 99, 0, 2, 0));
  EXPECT_THAT(hosts_of(Placement::with_parent), ElementsAre(0, 0, 0, 0, 0, 0, 99, 0, 0, 0));
}

Task<int> spawn_thrice(World& world, Context context, std::vector<std::string>& refusals) {
  world.faults().refuse_spawns(world.host(0), 2);
  for (int round = 0; round < 3; ++round) {
    try {
      co_await context.this_host().spawn_procs({{"worker", 1}});
      refusals.emplace_back();
    } catch (const MeshError& error) {
      refusals.emplace_back(error.what());
    }
  }
  co_return 0;
}

TEST(SpawnFailures, ComeAsOftenAsPlannedWithTheErrorOfARealHost) {
  std::vector<std::string> refusals;
  const Report report = sim::run(
      {}, kActors, [&](World& world, Context& context) -> Task<int> { return spawn_thrice(world, context, refusals); });
  EXPECT_EQ(report.status, 0) << report.result.to_text();
  const auto refused =
      AllOf(HasSubstr("spawn_failed"), HasSubstr("starting a process: Resource temporarily unavailable"));
  EXPECT_THAT(refusals, ElementsAre(refused, refused, ""));
}

Task<void> register_twice(Island& island, errc& first) {
  std::array<std::uint64_t, 2> words{};
  island.world().faults().refuse_registrations(island.process(), 1);
  first = refusal_of([&] { RDMABuffer refused = register_memory(island.node(), std::span(words)); });
  RDMABuffer taken = register_memory(island.node(), std::span(words));
  co_return;
}

TEST(RegistrationFailures, ComeAsOftenAsPlanned) {
  errc first{};
  World world({.seed = 1});
  world.start("registers", run_task([&](Island& island) { return register_twice(island, first); }));
  const WorldResult result = world.run();
  EXPECT_EQ(result.outcome, Outcome::passed) << result.to_text();
  EXPECT_EQ(first, errc::resource_exhausted);
  EXPECT_THAT(result.faults, ElementsAre(HasSubstr("registration_fails at process 1 (registers)")));
}

// What the library needs for itself counts as well, so that a process may find none for its operations.
Task<int> register_under_quota(Context& context, std::vector<std::string>& said) {
  std::vector<std::byte> large(256 << 10);
  const auto refused = refusal_text_of([&] { RDMABuffer none = context.register_memory(std::span(large)); });
  said.push_back(refused);
  {
    RDMABuffer half = context.register_memory(std::span(large).first(96 << 10));
    said.push_back(
        refusal_text_of([&] { RDMABuffer none = context.register_memory(std::span(large).last(96 << 10)); }));
  }
  RDMABuffer again = context.register_memory(std::span(large).last(96 << 10));
  auto procs = co_await context.this_host().spawn_procs({{"procs", 1}});
  auto echo = co_await procs.spawn<Echo>("echo");
  const std::uint64_t answered = co_await echo.only().call<&Echo::next>();
  said.push_back(std::to_string(answered));
  co_return 0;
}

class Passing : public Actor {
 public:
  explicit Passing(ActorContext&) {}
  int next(int value) { return value + 1; }
  Task<int> pass(ActorRef<Passing> other, int value) {
    auto call = other.call<&Passing::next>(value);
    co_return co_await call;
  }
  static constexpr auto endpoints = ferry::endpoints<&Passing::next, &Passing::pass>;
};

Task<int> crash_what_a_stopped_one_had_called(World& world, Context& context) {
  auto procs = co_await context.this_host().spawn_procs({{"procs", 2}});
  auto mesh = co_await procs.spawn<Passing>("passing");
  co_await mesh[0].call<&Passing::pass>(mesh[1], 5);
  const Process& caller = *world.processes()[1];
  world.when([&caller](const View&) { return !caller.is_alive(); }).crash(*world.processes()[2]);
  auto first = procs.slice("procs", 0);
  co_await first.stop();
  co_return 0;
}

TEST(Crash, OfAPeerOfOneThatHasJustEnded) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Report report = sim::run({.seed = seed}, ferry::actors<Passing>, [](World& world, Context& context) {
      return crash_what_a_stopped_one_had_called(world, context);
    });
    EXPECT_EQ(report.result.outcome, Outcome::passed) << report.result.to_text();
  }
}

TEST(LockedMemory, BeyondTheQuotaIsRefusedWithItsNumbersAndTheRestGoesOn) {
  std::vector<std::string> said;
  WorldOptions options;
  options.fabric.locked_memory = 128 << 10;
  const Report report = sim::run(
      options, kActors, [&](World&, Context& context) -> Task<int> { return register_under_quota(context, said); });
  EXPECT_EQ(report.status, 0) << report.result.to_text();
  const auto refused = AllOf(HasSubstr("resource_exhausted"), HasSubstr("of the process's 131072 bytes"),
                             HasSubstr("FabricOptions::locked_memory"));
  EXPECT_THAT(said, ElementsAre(AllOf(refused, HasSubstr("registering 262144 bytes: 0 of")),
                                AllOf(refused, HasSubstr("registering 98304 bytes: 98304 of")), "1"));
}

TEST(When, StrikesOnceTheConditionHasHeld) {
  World world({.seed = 1, .hosts = 2});
  world.start("first", sleeper(3s));
  Process& second = world.start("second", sleeper(3s), {}, Host{1});
  world.when([](const View& view) { return view.now().time_since_epoch() >= 1s; }).crash(Host{1});
  world.at(1s, [] {});
  const WorldResult result = world.run();
  EXPECT_EQ(result.outcome, Outcome::passed) << result.to_text();
  EXPECT_EQ(second.state(), Process::State::killed);
  EXPECT_THAT(result.faults, ElementsAre("1.000000000 s: host 1 crashed"));
  EXPECT_EQ(refusal_of([&world] { static_cast<void>(world.when({})); }), errc::invalid_argument);
}

Task<void> heal_all(Island& island) {
  World& world = island.world();
  world.faults().partition(world.host(0), world.host(1));
  world.faults().cut(*world.processes()[0], *world.processes()[1]);
  world.faults().hold(*world.processes()[1], *world.processes()[0]);
  world.faults().set_network({.drop = 2});
  world.faults().crash(world.host(1));
  world.faults().pause(*world.processes()[1]);
  world.faults().set_drift(*world.processes()[1], 5'000);
  world.faults().refuse_spawns(world.host(0), 1'000);
  co_await world.heal();
  require(world.faults().is_up(world.host(1)), "hosts are up");
  require(!world.faults().is_paused(*world.processes()[1]), "processes go on");
  require(world.processes()[1]->executor().clock().drift() == 0, "clocks are right");
  require(!world.faults().spawn_refusal(world.host(0)), "nothing is refused");
  Network& network = world.fabric().network();
  const ProcessNumber first(1);
  const ProcessNumber second(2);
  require(!network.is_blocked(first, second) && !network.is_blocked(second, first), "the network is whole");
  require(network.rates().drop == 0, "nothing gets lost");
}

TEST(Heal, EndsEveryFaultThatGoesOn) {
  World world({.seed = 1, .hosts = 2});
  world.start("root", run_task([](Island& island) { return heal_all(island); }));
  world.start("peer", sleeper(1s));
  world.start("far", sleeper(1s), {}, Host{1});
  const WorldResult result = world.run();
  EXPECT_EQ(result.outcome, Outcome::passed) << result.to_text();
  EXPECT_EQ(world.processes().size(), 4U);
}

// Leak checking is the point: run under AddressSanitizer by the stage asan.
TEST(Pause, WorldsThatAreGivenUpMeanwhileLeaveNothingBehind) {
  int given_up = 0;
  for (std::uint64_t steps = 1; steps < 200; steps += 3) {
    Duration answered{};
    const Report report = sim::run({.seed = steps, .steps = steps}, kActors, [&](World& world, Context& context) {
      world.when([](const View& view) { return view.world().processes().size() > 1; },
                 [&world] { world.faults().pause(*world.processes()[1]); });
      return call_paused(world, context, answered);
    });
    given_up += report.result.outcome == Outcome::steps ? 1 : 0;
  }
  EXPECT_GE(given_up, 3);
}

}  // namespace
}  // namespace ferry::sim::test
