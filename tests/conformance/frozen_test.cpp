// What happens while the peer's process is stopped, and when it goes on.
#include <vector>

#include <ferry/buffer/batch.hpp>
#include <ferry/buffer/sequence.hpp>

#include "held_actor.hpp"
#include "patterns.hpp"
#include "scenario.hpp"

namespace ferry::conformance {
namespace {

FERRY_CONFORMANCE(Frozen);

using testing::HasSubstr;

// Detection of failures is far off unless the scenario is about it.
ScenarioOptions with_freezable(std::size_t nodes, Duration failure_detection = std::chrono::seconds(600),
                               Duration no_progress = limits::kNoProgress) {
  ScenarioOptions options{.nodes = nodes, .classes = actors<Held>.classes(), .freezable = {1}};
  options.limits.failure_detection = failure_detection;
  options.limits.no_progress = no_progress;
  options.limits.quiet_grace = std::chrono::milliseconds(20);
  return options;
}

constexpr Limits kShort{std::chrono::milliseconds(30), {}};

bool ended_or_timed_out(errc code) {
  return code == errc{} || code == errc::timed_out;
}

Task<void> read_times_out(Cluster& cluster) {
  for (const std::size_t size : {std::size_t{8}, std::size_t{5'000}, 3 * limits::kPieceBytes}) {
    Shared<std::byte> owner(cluster, 1, size, std::byte{0x71});
    const BufferRef ref = owner.ref(cluster, 0);
    Guarded local(size);
    co_await ref.read_into(local.bytes());
    EXPECT_TRUE(all_are(local.bytes(), std::byte{0x71}));
    cluster.freeze(1);
    const errc code = co_await code_of(ref.read_into(local.bytes(), kShort));
    EXPECT_TRUE(ended_or_timed_out(code)) << to_string(code);
    EXPECT_TRUE(!cluster.traits().needs_owner || code == errc::timed_out) << to_string(code);
    local.fill(std::byte{0x72});
    cluster.thaw(1);
    Guarded after(size);
    co_await ref.read_into(after.bytes());  // everything that was on its way has arrived before
    EXPECT_TRUE(all_are(after.bytes(), std::byte{0x71}));
    EXPECT_TRUE(all_are(local.bytes(), std::byte{0x72})) << "a read that had timed out wrote " << size << " bytes late";
    EXPECT_TRUE(local.guards_are_intact());
  }
}
TEST_P(Frozen, ReadThatTimedOutWritesNothingWhenItsOwnerGoesOn) {
  if (!traits().can_freeze) {
    return;  // no such thing as a stopped process here
  }
  play(read_times_out, with_freezable(2));
}

Task<void> write_times_out(Cluster& cluster) {
  for (const std::size_t size : {std::size_t{8}, std::size_t{5'000}, 3 * limits::kPieceBytes}) {
    Shared<std::byte> owner(cluster, 1, size, std::byte{0x71});
    const BufferRef ref = owner.ref(cluster, 0);
    std::vector<std::byte> local(size, std::byte{0x72});
    co_await ref.subrange(0, 8).read_into(std::span(local).first(8));
    std::ranges::fill(local, std::byte{0x72});
    cluster.freeze(1);
    const Failure failure = co_await failure_of(ref.write_from(std::span(local), {.timeout = kShort.timeout}));
    std::ranges::fill(local, std::byte{0x73});  // its source is not read any more
    // Timed out: it will not land. Where the owner may still find it, its outcome is unknown.
    EXPECT_TRUE(!failure || failure.code() == errc::timed_out || failure.code() == errc::outcome_unknown)
        << failure.to_text();
    cluster.thaw(1);
    co_await ref.subrange(0, 8).read_into(std::span(local).first(8));
    EXPECT_TRUE(std::ranges::find(owner.values, std::byte{0x73}) == owner.values.end())
        << "a write read its source after its end";
    std::vector<std::byte> last(size, std::byte{0x74});
    co_await ref.write_from(std::span<const std::byte>(last));
    co_await ref.read_into(std::span(local));
    EXPECT_TRUE(all_are(local, std::byte{0x74})) << "the write that had timed out landed over a later one";
  }
}
TEST_P(Frozen, WriteThatTimedOutReadsItsSourceNoMoreAndLandsOverNothingLater) {
  if (!traits().can_freeze) {
    return;
  }
  play(write_times_out, with_freezable(2));
}

Task<void> atomics_time_out(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 1);
  const BufferRef word = owner.ref(cluster, 0);
  co_await word.fetch_add(1);
  cluster.freeze(1);
  std::uint64_t sure = 1;
  std::uint64_t possible = 1;
  for (int round = 0; round < 5; ++round) {
    const Failure failure = co_await failure_of(word.fetch_add(1, {.timeout = kShort.timeout}));
    EXPECT_TRUE(!failure || failure.code() == errc::timed_out || failure.code() == errc::outcome_unknown);
    sure += failure ? 0U : 1U;
    possible += failure && failure.effect() == Effect::none ? 0U : 1U;
  }
  cluster.thaw(1);
  const std::uint64_t old = co_await word.fetch_add(0);
  EXPECT_GE(old, sure);
  EXPECT_LE(old, possible) << "an addition that ended with effect none was executed, or one was executed twice";
}
TEST_P(Frozen, AtomicThatTimedOutIsExecutedAtMostOnce) {
  if (!traits().can_freeze) {
    return;
  }
  play(atomics_time_out, with_freezable(2));
}

Task<void> groups_time_out(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 8);
  Shared<std::uint64_t> other(cluster, 2, 8);
  const BufferRef ref = owner.ref(cluster, 0);
  const BufferRef third = other.ref(cluster, 0);
  co_await ref.fetch_add(0);
  co_await third.fetch_add(0);  // making a connection is not what the limit is for
  std::array<std::uint64_t, 8> local{};
  cluster.freeze(1);
  Batch batch;
  batch.add(ref.read_into(std::span(local)));
  batch.add(third.fetch_add(3, {.offset = 8}));
  batch.add(ref.fetch_add(1, {.offset = 8}));
  const Outcomes outcomes = co_await batch.run(kShort);
  EXPECT_TRUE(outcomes[1]) << "the member at another owner: " << outcomes[1].error().to_text();
  for (const std::size_t member : {0U, 2U}) {
    const auto outcome = outcomes[member];
    EXPECT_TRUE(outcome || outcome.error().code() == errc::timed_out ||
                (member == 2 && outcome.error().code() == errc::outcome_unknown));
  }
  Sequence sequence;
  for (std::uint64_t index = 2; index < 6; ++index) {
    sequence.add(ref.fetch_add(1, {.offset = 8 * index}));
  }
  const Outcomes in_order = co_await sequence.run(kShort);
  cluster.thaw(1);
  co_await ref.read_into(std::span(local));
  for (std::size_t index = 0; index + 1 < 4; ++index) {
    EXPECT_GE(local[index + 2], local[index + 3]) << "a later member took effect and an earlier one did not";
  }
  for (std::size_t index = 0; index < 4; ++index) {
    const auto outcome = in_order[index];
    EXPECT_TRUE(!outcome || local[index + 2] == 1U);
    EXPECT_TRUE(outcome || outcome.error().effect() == Effect::unknown || local[index + 2] == 0U)
        << outcome.error().to_text();
  }
}
TEST_P(Frozen, BatchesAndSequencesEndByTheirLimitAndKeepTheirPromises) {
  if (!traits().can_freeze) {
    return;
  }
  play(groups_time_out, with_freezable(3));
}

Task<void> no_progress(Cluster& cluster) {
  Shared<std::byte> owner(cluster, 1, 100'000);
  const BufferRef ref = owner.ref(cluster, 0);
  std::vector<std::byte> local(100'000);
  co_await ref.read_into(std::span(local));
  cluster.freeze(1);
  const Failure failure = co_await failure_of(ref.read_into(std::span(local)));
  EXPECT_TRUE(!failure || failure.code() == errc::timed_out) << failure.to_text();
  EXPECT_TRUE(!cluster.traits().needs_owner || failure);
  cluster.thaw(1);
  co_await ref.read_into(std::span(local));
}
TEST_P(Frozen, OperationThatDoesNotMoveEndsByTheLimitOfNoProgress) {
  if (!traits().can_freeze) {
    return;
  }
  play(no_progress, with_freezable(2, std::chrono::seconds(600), std::chrono::milliseconds(300)));
}

Task<void> others_go_on(Cluster& cluster) {
  Shared<std::byte> stopped(cluster, 1, 2 * limits::kPieceBytes);
  Shared<std::byte> alive(cluster, 2, 2 * limits::kPieceBytes, std::byte{0x75});
  auto held_spawned = spawn_on<Held>(cluster, 2, "alive");
  const ActorRef<Held> held = co_await held_spawned;
  const BufferRef to_stopped = stopped.ref(cluster, 0);
  const BufferRef to_alive = alive.ref(cluster, 0);
  std::vector<std::byte> first(stopped.values.size());
  std::vector<std::byte> second(alive.values.size());
  co_await to_stopped.read_into(std::span(first));
  cluster.freeze(1);
  auto pending = start(code_of(to_stopped.read_into(std::span(first))));
  auto pending_write = start(code_of(to_stopped.write_from(std::span<const std::byte>(second))));
  for (int round = 0; round < 50; ++round) {
    std::ranges::fill(second, std::byte{0});
    co_await to_alive.read_into(std::span(second));
    EXPECT_TRUE(all_are(second, std::byte{0x75}));
    const std::uint64_t value = co_await held.call<&Held::take>(std::uint64_t{6});
    EXPECT_EQ(value, 6U);
  }
  if (cluster.traits().needs_owner) {
    EXPECT_FALSE(pending.is_done());
  }
  cluster.thaw(1);
  const errc read = co_await pending;
  EXPECT_EQ(read, errc{}) << "it had no limit: it ends when the owner goes on";
  const errc write = co_await pending_write;
  EXPECT_EQ(write, errc{});
}
TEST_P(Frozen, StoppedPeerSlowsNoOther) {
  if (!traits().can_freeze) {
    return;
  }
  play(others_go_on, with_freezable(3));
}

Task<void> calls_time_out(Cluster& cluster) {
  auto spawned = spawn_on<Held>(cluster, 1, "held");
  const ActorRef<Held> held = co_await spawned;
  co_await held.call<&Held::take>(std::uint64_t{1});
  cluster.freeze(1);
  for (std::uint64_t value = 2; value < 12; ++value) {
    const Failure failure = co_await failure_of(held.call<&Held::take>(value).with(kShort));
    EXPECT_TRUE(failure && failure.code() == errc::timed_out);
    EXPECT_THAT(failure.to_text(), HasSubstr("Held::take"));
  }
  std::vector<Running<std::uint64_t>> calls;
  for (std::uint64_t value = 100; value < 110; ++value) {
    calls.push_back(start(held.call<&Held::take>(value)));
  }
  cluster.thaw(1);
  for (std::uint64_t value = 100; value < 110; ++value) {
    const std::uint64_t reply = co_await calls[value - 100];
    EXPECT_EQ(reply, value) << "a reply to a call that had timed out met this one";
  }
}
TEST_P(Frozen, RepliesOfAPeerThatGoesOnMeetTheirOwnCalls) {
  if (!traits().can_freeze) {
    return;
  }
  play(calls_time_out, with_freezable(2));
}

Task<void> is_detected(Cluster& cluster) {
  auto spawned = spawn_on<Held>(cluster, 1, "held");
  const ActorRef<Held> held = co_await spawned;
  const BufferRef door = co_await held.call<&Held::door>();
  auto holding = start(failure_of(held.call<&Held::hold>(std::uint64_t{1})));
  auto is_held = until_held(held, 1, cluster);
  co_await is_held;
  cluster.freeze(1);
  const Failure failure = co_await holding;  // it has no limit: only detection ends it
  EXPECT_TRUE(failure && failure.code() == errc::peer_lost) << (failure ? failure.to_text() : "a reply");
  EXPECT_EQ(failure.effect(), Effect::unknown);
  cluster.thaw(1);
  std::array<std::uint64_t, 1> word{};
  co_await door.read_into(std::span(word));
}
TEST_P(Frozen, CallWithoutALimitEndsByFailureDetectionAndTheNextConnectionWorks) {
  if (!traits().can_freeze) {
    return;
  }
  ScenarioOptions options = with_freezable(2, std::chrono::seconds(1));
  options.limits.heartbeat = std::chrono::milliseconds(100);
  play(is_detected, options);
}

}  // namespace
}  // namespace ferry::conformance
