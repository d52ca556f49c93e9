// Every error of actors, calls and sends, by the condition itself, with its text.
#include <stdexcept>
#include <string>

#include "errors.hpp"
#include "held_actor.hpp"

namespace ferry::conformance {
namespace {

FERRY_CONFORMANCE(ActorErrors);

// Throws whatever it is asked to.
class Thrower final : public Actor {
 public:
  explicit Thrower(ActorContext& context) : context_(context) {}

  void throws_std() { throw std::runtime_error("boom 7"); }
  void throws_int() { throw 5; }
  void throws_ferry() { throw Error(Failure(errc::revoked, "as if it were ferry's own").with_peer("nobody")); }
  Task<int> throws_later() {
    auto nap = sleep_for(std::chrono::microseconds(1));
    co_await nap;
    throw std::logic_error("later");
  }
  int calls() { return ++calls_; }
  // Awaits itself, which can never end; gives the text of what that came to.
  Task<std::string> calls_itself() {
    auto outcome = as_result(context_.self<Thrower>().call<&Thrower::calls>());
    const Result<int> result = co_await outcome;
    co_return result ? "it ended" : result.error().to_text();
  }

  static constexpr auto endpoints = ferry::endpoints<&Thrower::throws_std, &Thrower::throws_int, &Thrower::throws_ferry,
                                                     &Thrower::throws_later, &Thrower::calls, &Thrower::calls_itself>;

 private:
  ActorContext& context_;
  int calls_ = 0;
};

// Its constructor throws, in one of several ways.
class Stillborn final : public Actor {
 public:
  Stillborn(ActorContext&, int how) {
    if (how == 0) {
      throw std::runtime_error("no config");
    }
    if (how == 1) {
      throw 5;
    }
    if (how == 2) {
      throw Error(Failure(errc::overloaded, "not now"));
    }
  }
  int lives() const { return 1; }
  static constexpr auto endpoints = ferry::endpoints<&Stillborn::lives>;
};

class Counted final : public Actor {
 public:
  Counted(ActorContext&, const std::string&, std::uint32_t) {}
  void nothing() {}
  static constexpr auto endpoints = ferry::endpoints<&Counted::nothing>;
};

class Unlisted final : public Actor {
 public:
  explicit Unlisted(ActorContext&) {}
  void nothing() {}
  static constexpr auto endpoints = ferry::endpoints<&Unlisted::nothing>;
};

ScenarioOptions with_actors(std::size_t seeds = 3) {
  return {.classes = actors<Thrower, Stillborn, Counted, Held>.classes(), .seeds = seeds};
}

template <class T>
std::string actor_at(Cluster& cluster, const ActorRef<T>& actor) {
  return fmt::format("at actor {} of {}", actor.id().value(), named(cluster, 1));
}

Task<void> endpoints_that_throw(Cluster& cluster) {
  auto spawned = spawn_on<Thrower>(cluster, 1, "thrower");
  const ActorRef<Thrower> thrower = co_await spawned;
  const int before = co_await thrower.call<&Thrower::calls>();
  const std::string at = actor_at(cluster, thrower);
  const Failure standard = co_await failure_of(thrower.call<&Thrower::throws_std>());
  expect_failure(standard, Effect::unknown,
                 fmt::format("call of ferry::conformance::{{anonymous}}::Thrower::throws_std {}: endpoint_failed: "
                             "ferry::conformance::{{anonymous}}::Thrower::throws_std of actor \"thrower\" threw "
                             "std::runtime_error: boom 7 (it may have taken effect)",
                             at));
  const Failure number = co_await failure_of(thrower.call<&Thrower::throws_int>());
  expect_failure(number, Effect::unknown,
                 fmt::format("call of ferry::conformance::{{anonymous}}::Thrower::throws_int {}: endpoint_failed: "
                             "ferry::conformance::{{anonymous}}::Thrower::throws_int of actor \"thrower\" threw an "
                             "exception that is not derived from std::exception (it may have taken effect)",
                             at));
  const Failure own = co_await failure_of(thrower.call<&Thrower::throws_ferry>());
  expect_failure(own, Effect::unknown,
                 fmt::format("call of ferry::conformance::{{anonymous}}::Thrower::throws_ferry {}: endpoint_failed: "
                             "ferry::conformance::{{anonymous}}::Thrower::throws_ferry of actor \"thrower\" threw "
                             "ferry::Error: at nobody: revoked: as if it were ferry's own (it may have taken effect)",
                             at));
  const Failure later = co_await failure_of(thrower.call<&Thrower::throws_later>());
  expect_failure(later, Effect::unknown,
                 fmt::format("call of ferry::conformance::{{anonymous}}::Thrower::throws_later {}: endpoint_failed: "
                             "ferry::conformance::{{anonymous}}::Thrower::throws_later of actor \"thrower\" threw "
                             "std::logic_error: later (it may have taken effect)",
                             at));
  const std::string itself = co_await thrower.call<&Thrower::calls_itself>();
  EXPECT_THAT(itself, testing::StartsWith("call of ferry::conformance::{anonymous}::Thrower::calls at actor "));
  EXPECT_THAT(itself,
              testing::EndsWith(": would_deadlock: the actor calls an endpoint of its own that cannot start before the "
                                "present one ends; call the member function, or list it concurrent"));
  const int after = co_await thrower.call<&Thrower::calls>();
  EXPECT_EQ(after, before + 1) << "the actor lives on with its state";
}
TEST_P(ActorErrors, WhateverAnEndpointThrowsReachesItsCallerWithTheNames) {
  play(endpoints_that_throw, with_actors());
}

Task<void> constructors_that_throw(Cluster& cluster) {
  // Node 1 spawns, and names itself.
  const std::string name = cluster.node(1).name();
  const std::string at = cluster.node(1).peers().find_or_add(cluster.node(1).self()).describe();
  const auto spawn = [&](std::string_view class_name, std::string_view actor, std::string_view why) {
    return fmt::format("spawn of ferry::conformance::{{anonymous}}::{} \"{}\" at {}: {}", class_name, actor, at, why);
  };
  const Failure standard = co_await failure_of(spawn_on<Stillborn>(cluster, 1, "still", 0));
  expect_failure(standard, Effect::none,
                 spawn("Stillborn", "still", "spawn_failed: its constructor threw std::runtime_error: no config"));
  const Failure number = co_await failure_of(spawn_on<Stillborn>(cluster, 1, "still", 1));
  expect_failure(number, Effect::none,
                 spawn("Stillborn", "still",
                       "spawn_failed: its constructor threw an exception that is not derived from std::exception"));
  const Failure own = co_await failure_of(spawn_on<Stillborn>(cluster, 1, "still", 2));
  expect_failure(own, Effect::none,
                 spawn("Stillborn", "still", "spawn_failed: its constructor threw ferry::Error: overloaded: not now"));
  const Failure negative = co_await failure_of(spawn_on<Counted>(cluster, 1, "counted", std::string("a"), -3));
  expect_failure(
      negative, Effect::none,
      spawn("Counted", "counted",
            "malformed: argument 2 of 2 (u32) cannot be decoded: u32 expected at byte 0, found the integer -3"));
  auto spawned = spawn_on<Stillborn>(cluster, 1, "still", 3);
  const ActorRef<Stillborn> lives = co_await spawned;  // the name is free again
  const Failure taken = co_await failure_of(spawn_on<Stillborn>(cluster, 1, "still", 3));
  expect_failure(taken, Effect::none,
                 spawn("Stillborn", "still",
                       fmt::format("name_in_use: {} has an actor named \"still\" already; choose another name, or stop "
                                   "that one first",
                                   name)));
  const Failure unlisted = co_await failure_of(spawn_on<Unlisted>(cluster, 1, "unlisted"));
  expect_failure(unlisted, Effect::none,
                 spawn("Unlisted", "unlisted",
                       fmt::format("no_such_actor_class: {} does not list the actor class "
                                   "ferry::conformance::{{anonymous}}::Unlisted; add it to ferry::actors<…>",
                                   name)));
  // Whoever calls an actor that was never constructed is told why.
  const ActorRef<Stillborn> dead(ActorAddress{lives.address().peer, ActorId(lives.id().value() - 2)});
  const Failure call = co_await failure_of(dead.call<&Stillborn::lives>());
  const std::string there = actor_at(cluster, dead);
  expect_failure(call, Effect::none,
                 fmt::format("call of ferry::conformance::{{anonymous}}::Stillborn::lives {}: "
                             "actor_stopped: ferry::conformance::{{anonymous}}::Stillborn \"still\" was not "
                             "constructed: its constructor threw ferry::Error: overloaded: not now",
                             there));
  const int one = co_await lives.call<&Stillborn::lives>();
  EXPECT_EQ(one, 1);
}
TEST_P(ActorErrors, WhateverAConstructorThrowsReachesTheSpawnerAndTheNameIsFreeAgain) {
  play(constructors_that_throw, with_actors());
}

Task<void> stop_actor(Context context, ActorId id) {
  auto stopped = context.stack().actors().stop(id, Failure(errc::actor_stopped, "the scenario stopped it"));
  co_await stopped;
}

Task<void> calls_to_nobody(Cluster& cluster) {
  auto spawned = spawn_on<Held>(cluster, 1, "held");
  const ActorRef<Held> held = co_await spawned;
  const Failure empty = co_await failure_of(ActorRef<Held>().call<&Held::taken>());
  expect_failure(empty, Effect::none,
                 "call of ferry::conformance::Held::taken: invalid_argument: the actor reference is empty "
                 "(default-constructed)");
  const ActorRef<Held> never(ActorAddress{held.address().peer, ActorId(1'000'000)});
  const Failure nobody = co_await failure_of(never.call<&Held::taken>());
  expect_failure(nobody, Effect::none,
                 fmt::format("call of ferry::conformance::Held::taken at actor 1000000 of {}: no_such_actor: {} never "
                             "had an actor 1000000",
                             named(cluster, 1), cluster.node(1).name()));
  const ActorRef<Unlisted> disguised(held.address());
  const Failure other_class = co_await failure_of(disguised.call<&Unlisted::nothing>());
  expect_failure(other_class, Effect::none,
                 fmt::format("call of ferry::conformance::{{anonymous}}::Unlisted::nothing {}: version_mismatch: the "
                             "caller's ferry::conformance::Held differs from the one that runs here (endpoints, their "
                             "order or their types); build both from the same declaration",
                             actor_at(cluster, held)));
  auto stopping = cluster.on(1, stop_actor(cluster.context(1), held.id()));
  co_await stopping;
  const Failure stopped = co_await failure_of(held.call<&Held::taken>());
  expect_failure(stopped, Effect::none,
                 fmt::format("call of ferry::conformance::Held::taken {}: actor_stopped: the scenario stopped it",
                             actor_at(cluster, held)));
}
TEST_P(ActorErrors, CallsToWhatIsNotThereSayWhatIsMissing) {
  play(calls_to_nobody, with_actors());
}

Task<void> calls_that_give_up(Cluster& cluster) {
  auto spawned = spawn_on<Held>(cluster, 1, "held");
  const ActorRef<Held> held = co_await spawned;
  const BufferRef door = co_await held.call<&Held::door>();
  auto holding = start(held.call<&Held::hold>(std::uint64_t{1}));
  auto is_held = until_held(held, 1, cluster);
  co_await is_held;
  const Limits soon{std::chrono::milliseconds(5), {}};
  const Failure late = co_await failure_of(held.call<&Held::take>(std::uint64_t{8}).with(soon));
  expect_failure(late, Effect::unknown,
                 fmt::format("call of ferry::conformance::Held::take {}: timed_out: no reply came within the limit "
                             "(it may have taken effect)",
                             actor_at(cluster, held)));
  StopSource source;
  source.request_stop();
  const StopToken token = source.get_token();
  const Limits stop{{}, token};
  const Failure cancelled = co_await failure_of(held.call<&Held::take>(std::uint64_t{9}).with(stop));
  expect_failure(cancelled, Effect::unknown,
                 fmt::format("call of ferry::conformance::Held::take {}: cancelled: a stop was requested (it may have "
                             "taken effect)",
                             actor_at(cluster, held)));
  const std::string text(100'000, 'x');
  Result<void> sent;
  for (int count = 0; sent && count < 10'000; ++count) {
    sent = held.try_send<&Held::take_text>(std::uint64_t{10}, text);
  }
  expect_failure(sent ? Failure() : sent.error(), Effect::none,
                 fmt::format("try_send of ferry::conformance::Held::take_text {}: overloaded: the actor has not taken "
                             "what this process sent before; use send, which waits",
                             actor_at(cluster, held)));
  auto gone = let_go(door);
  co_await gone;
  co_await holding;
}
TEST_P(ActorErrors, CallsThatGiveUpSayWhetherTheyMayHaveRun) {
  play(calls_that_give_up, with_actors());
}

}  // namespace
}  // namespace ferry::conformance
