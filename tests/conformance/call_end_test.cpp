// How calls end: replies, limits, stops, and what a late reply must not do.
#include <string>
#include <vector>

#include "held_actor.hpp"
#include "scenario.hpp"

namespace ferry::conformance {
namespace {

FERRY_CONFORMANCE(CallEnd);

using testing::ElementsAre;
using testing::HasSubstr;

// Passes a call on, without a limit of its own, and remembers how it ended.
class Relay final : public Actor {
 public:
  explicit Relay(ActorContext&) {}
  Task<std::uint64_t> pass_on(ActorRef<Held> held, std::uint64_t value) {
    auto outcome = as_result(held.call<&Held::take>(value));
    const auto result = co_await outcome;
    last_ = result ? 0 : static_cast<std::uint64_t>(result.error().code());
    co_return result ? *result : 0;
  }
  std::uint64_t last() const { return last_; }
  static constexpr auto endpoints = ferry::endpoints<&Relay::pass_on, &Relay::last>;

 private:
  std::uint64_t last_ = 0;
};

ScenarioOptions with_held(std::size_t nodes = 2) {
  return {.nodes = nodes, .classes = actors<Held, Relay>.classes(), .seeds = 8};
}

struct HeldActor {
  ActorRef<Held> actor;
  BufferRef door;
};

Task<HeldActor> spawn_held(Cluster& cluster, std::size_t node, std::string_view name) {
  auto spawned = spawn_on<Held>(cluster, node, name);
  const ActorRef<Held> actor = co_await spawned;
  const BufferRef door = co_await actor.call<&Held::door>();
  co_return HeldActor{actor, door};
}

Task<void> cancelled_while_queued(Cluster& cluster) {
  auto spawned = spawn_held(cluster, 1, "held");
  const HeldActor held = co_await spawned;
  auto holding = start(held.actor.call<&Held::hold>(std::uint64_t{1}));
  auto is_held = until_held(held.actor, 1, cluster);
  co_await is_held;
  std::vector<Running<Failure>> calls;
  for (std::uint64_t value = 10; value < 20; ++value) {
    calls.push_back(start(failure_of(held.actor.call<&Held::take>(value))));
  }
  for (std::size_t index = 0; index < calls.size(); index += 2) {
    calls[index].cancel();
    const Failure failure = co_await calls[index];
    EXPECT_TRUE(failure && failure.code() == errc::cancelled);
    EXPECT_THAT(failure.to_text(), HasSubstr("Held::take"));
  }
  auto told = until_held(held.actor, 1, cluster);  // behind the cancellations: they have arrived
  co_await told;
  auto gone = let_go(held.door);
  co_await gone;
  const std::uint64_t value = co_await holding;
  EXPECT_EQ(value, 1U);
  for (std::size_t index = 1; index < calls.size(); index += 2) {
    const Failure failure = co_await calls[index];
    EXPECT_FALSE(failure);
  }
  const std::vector<std::uint64_t> taken = co_await held.actor.call<&Held::taken>();
  EXPECT_THAT(taken, ElementsAre(11, 13, 15, 17, 19)) << "a cancelled request was executed";
}
TEST_P(CallEnd, CancelledRequestThatWaitsInTheMailboxIsNeverExecuted) {
  play(cancelled_while_queued, with_held());
}

Task<void> running_goes_on(Cluster& cluster) {
  auto spawned = spawn_held(cluster, 1, "held");
  const HeldActor held = co_await spawned;
  auto abandoned = start(failure_of(held.actor.call<&Held::hold>(std::uint64_t{3})));
  auto is_held = until_held(held.actor, 3, cluster);
  co_await is_held;
  abandoned.cancel();
  const Failure failure = co_await abandoned;
  EXPECT_TRUE(failure && failure.code() == errc::cancelled);
  EXPECT_EQ(failure.effect(), Effect::unknown) << "it was being executed";
  auto gone = let_go(held.door);
  co_await gone;
  std::vector<std::uint64_t> done;
  while (done.empty()) {
    done = co_await held.actor.call<&Held::done>();
  }
  EXPECT_THAT(done, ElementsAre(3)) << "the endpoint has no token: it goes on to its end";
}
TEST_P(CallEnd, EndpointWithoutAStopTokenGoesOnWhenItsCallerGivesUp) {
  play(running_goes_on, with_held());
}

Task<void> running_is_told(Cluster& cluster) {
  auto spawned = spawn_held(cluster, 1, "held");
  const HeldActor held = co_await spawned;
  auto abandoned = start(failure_of(held.actor.call<&Held::hold_unless_stopped>(std::uint64_t{4})));
  auto is_held = until_held(held.actor, 4, cluster);
  co_await is_held;
  abandoned.cancel();
  const Failure failure = co_await abandoned;
  EXPECT_TRUE(failure && failure.code() == errc::cancelled);
  const std::vector<std::uint64_t> stopped = co_await held.actor.call<&Held::stopped>();  // behind it in the mailbox
  EXPECT_THAT(stopped, ElementsAre(4));
}
TEST_P(CallEnd, StopTokenOfAnEndpointStopsWhenItsCallerGivesUp) {
  play(running_is_told, with_held());
}

// Replies to given-up calls come while other calls wait: each must get its own.
Task<void> late_replies(Cluster& cluster) {
  auto spawned = spawn_held(cluster, 1, "held");
  const HeldActor held = co_await spawned;
  const std::uint64_t rounds = cluster.traits().threads ? 100 : 10;
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    auto late = start(failure_of(held.actor.call<&Held::hold>(round)));
    auto is_held = until_held(held.actor, round, cluster);
    co_await is_held;
    late.cancel();
    const Failure failure = co_await late;
    EXPECT_TRUE(failure && failure.code() == errc::cancelled);
    std::vector<Running<std::uint64_t>> calls;
    for (std::uint64_t value = 0; value < 8; ++value) {
      calls.push_back(start(held.actor.call<&Held::take>(1'000 * round + value)));
    }
    auto gone = let_go(held.door);
    co_await gone;
    for (std::uint64_t value = 0; value < 8; ++value) {
      const std::uint64_t reply = co_await calls[value];
      EXPECT_EQ(reply, 1'000 * round + value) << "a late reply met another call";
    }
  }
}
TEST_P(CallEnd, LateReplyNeverMeetsAnotherCall) {
  play(late_replies, with_held());
}

Task<void> time_limits(Cluster& cluster) {
  auto spawned = spawn_held(cluster, 1, "held");
  const HeldActor held = co_await spawned;
  auto holding = start(held.actor.call<&Held::hold>(std::uint64_t{1}));
  auto is_held = until_held(held.actor, 1, cluster);
  co_await is_held;
  const Limits limit{std::chrono::milliseconds(5), {}};
  const Failure late = co_await failure_of(held.actor.call<&Held::take>(std::uint64_t{8}).with(limit));
  EXPECT_TRUE(late && late.code() == errc::timed_out);
  auto scoped = code_of(held.actor.call<&Held::take>(std::uint64_t{9}));
  const errc inherited = co_await std::move(scoped).with(limit);
  EXPECT_EQ(inherited, errc::timed_out) << "the limit of the enclosing task";
  StopSource stopped;
  stopped.request_stop();
  const StopToken token = stopped.get_token();
  const Limits stop{{}, token};
  const errc at_once = co_await code_of(held.actor.call<&Held::take>(std::uint64_t{10}).with(stop));
  EXPECT_EQ(at_once, errc::cancelled) << "a stop that was requested before";
  auto told = until_held(held.actor, 1, cluster);  // behind the cancellations: they have arrived
  co_await told;
  auto gone = let_go(held.door);
  co_await gone;
  co_await holding;
  const std::vector<std::uint64_t> taken = co_await held.actor.call<&Held::taken>();
  EXPECT_TRUE(taken.empty()) << "a request that had timed out was executed";
}
TEST_P(CallEnd, LimitsOfTheCallAndOfItsTaskEndIt) {
  play(time_limits, with_held());
}

Task<void> deadline_is_inherited(Cluster& cluster) {
  auto spawned = spawn_held(cluster, 2, "held");
  const HeldActor held = co_await spawned;
  auto relay_spawned = spawn_on<Relay>(cluster, 1, "relay");
  const ActorRef<Relay> relay = co_await relay_spawned;
  auto holding = start(held.actor.call<&Held::hold>(std::uint64_t{1}));
  auto is_held = until_held(held.actor, 1, cluster);
  co_await is_held;
  // Enough for the call to reach the relay, on an emulated machine too.
  const Limits limit{std::chrono::milliseconds(cluster.traits().threads ? 500 : 20), {}};
  const errc code = co_await code_of(relay.call<&Relay::pass_on>(held.actor, std::uint64_t{5}).with(limit));
  // The inner call ends at the same moment, and the relay's answer may come before the caller gives up.
  EXPECT_TRUE(code == errc::timed_out || code == errc{}) << static_cast<int>(code);
  // Behind it in the relay's mailbox: answered only if the inner call, which had no limit of its own, has ended.
  const std::uint64_t inner = co_await relay.call<&Relay::last>();
  EXPECT_EQ(static_cast<errc>(inner), errc::timed_out) << "of the call that the endpoint made";
  auto gone = let_go(held.door);
  co_await gone;
  co_await holding;
}
TEST_P(CallEnd, DeadlineOfACallIsInheritedByTheCallsThatItsEndpointMakes) {
  play(deadline_is_inherited, with_held(3));
}

// The endpoint's own wait ends at the caller's deadline too: which of the two is noticed first must not matter.
Task<void> cut_with_its_call(Cluster& cluster) {
  auto spawned = spawn_held(cluster, 1, "held");
  const HeldActor held = co_await spawned;
  for (std::uint64_t value = 0; value < 40; ++value) {
    const Limits limit{std::chrono::milliseconds(2), {}};
    const Failure cut = co_await failure_of(held.actor.call<&Held::hold>(value).with(limit));
    EXPECT_TRUE(cut && cut.code() == errc::timed_out) << cut.to_text();
  }
}
TEST_P(CallEnd, EndpointThatIsCutByTheCallersDeadlineIsTimedOutForTheCaller) {
  play(cut_with_its_call, with_held());
}

Task<void> stop_actor(Context context, ActorId id) {
  auto stopped = context.stack().actors().stop(id, Failure(errc::actor_stopped, "the scenario stopped it"));
  co_await stopped;
}

Task<void> actor_is_stopped(Cluster& cluster) {
  auto spawned = spawn_held(cluster, 1, "held");
  const HeldActor held = co_await spawned;
  auto running = start(failure_of(held.actor.call<&Held::hold>(std::uint64_t{1})));
  auto is_held = until_held(held.actor, 1, cluster);
  co_await is_held;
  std::vector<Running<Failure>> queued;
  for (std::uint64_t value = 0; value < 5; ++value) {
    queued.push_back(start(failure_of(held.actor.call<&Held::take>(value))));
  }
  // A call that is known to have been answered behind them: they are in the mailbox now.
  const std::uint64_t by = co_await held.actor.call<&Held::held_by>();
  EXPECT_EQ(by, 1U);
  auto stopped = cluster.on(1, stop_actor(cluster.context(1), held.actor.id()));
  co_await stopped;
  const Failure cut = co_await running;
  EXPECT_TRUE(cut && cut.code() == errc::actor_stopped);
  EXPECT_EQ(cut.effect(), Effect::unknown) << "it had begun";
  for (Running<Failure>& call : queued) {
    const Failure failure = co_await call;
    EXPECT_TRUE(failure && failure.code() == errc::actor_stopped);
    EXPECT_EQ(failure.effect(), Effect::none) << "it had not begun";
  }
  const Failure after = co_await failure_of(held.actor.call<&Held::taken>());
  EXPECT_TRUE(after && after.code() == errc::actor_stopped);
  const errc memory = co_await code_of(let_go(held.door));
  EXPECT_EQ(memory, errc::revoked);
  auto again = spawn_held(cluster, 1, "held");  // the name is free
  const HeldActor second = co_await again;
  const std::vector<std::uint64_t> fresh = co_await second.actor.call<&Held::taken>();
  EXPECT_TRUE(fresh.empty());
}
TEST_P(CallEnd, StoppingAnActorEndsItsCallsAndSaysWhichHadBegun) {
  play(actor_is_stopped, with_held());
}

Task<void> process_ends(Cluster& cluster) {
  auto spawned = spawn_held(cluster, 1, "held");
  const HeldActor held = co_await spawned;
  auto other_spawned = spawn_held(cluster, 2, "other");
  const HeldActor other = co_await other_spawned;
  auto running = start(failure_of(held.actor.call<&Held::hold>(std::uint64_t{1})));
  auto is_held = until_held(held.actor, 1, cluster);
  co_await is_held;
  auto queued = start(failure_of(held.actor.call<&Held::take>(std::uint64_t{2})));
  const std::uint64_t before = co_await other.actor.call<&Held::take>(std::uint64_t{3});
  EXPECT_EQ(before, 3U);
  cluster.stop(1);
  const Failure first = co_await running;
  const Failure second = co_await queued;
  for (const Failure& failure : {first, second}) {
    EXPECT_TRUE(failure && (failure.code() == errc::peer_lost || failure.code() == errc::actor_stopped))
        << (failure ? failure.to_text() : "it succeeded");
  }
  const std::uint64_t after = co_await other.actor.call<&Held::take>(std::uint64_t{4});
  EXPECT_EQ(after, 4U);
}
TEST_P(CallEnd, EndOfAProcessEndsTheCallsToItAndNoOthers) {
  if (!traits().can_restart) {
    return;  // there is but one process
  }
  play(process_ends, with_held(3));
}

}  // namespace
}  // namespace ferry::conformance
