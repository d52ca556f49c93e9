// Quiet completion: an operation ends once, and after that its local memory is neither read nor written for it,
// however it ended.
#include <memory>
#include <vector>

#include <ferry/buffer/batch.hpp>
#include <ferry/buffer/sequence.hpp>

#include "patterns.hpp"
#include "scenario.hpp"

namespace ferry::conformance {
namespace {

FERRY_CONFORMANCE(Quiet);

bool ended_as_asked(errc code) {
  return code == errc{} || code == errc::cancelled || code == errc::timed_out;
}

// One operation that is given up at some moment; local memory is used for something else as soon as it has ended.
Task<void> give_up_one(BufferRef ref, std::uint64_t draw, std::size_t& given_up) {
  Guarded local(ref.size());
  local.fill(std::byte{0x31});
  StopSource stop;
  const StopToken token = stop.get_token();
  const bool reads = draw % 2 == 0;
  auto operation = reads ? start(code_of(ref.read_into(local.bytes(), {.stop = token})))
                         : start(code_of(ref.write_from(local.bytes(), {.stop = token})));
  for (std::uint64_t turn = draw / 2 % 5; turn > 0; --turn) {
    auto nap = sleep_for(std::chrono::microseconds(draw / 10 % 60));
    co_await nap;
  }
  stop.request_stop();
  const errc code = co_await operation;
  EXPECT_TRUE(ended_as_asked(code)) << to_string(code);
  given_up += code == errc::cancelled ? 1U : 0U;
  if (!reads) {
    EXPECT_TRUE(all_are(local.bytes(), std::byte{0x31})) << "a write changed its source";
  }
  local.fill(std::byte{0x32});
  std::array<std::byte, 8> other{};
  co_await ref.subrange(0, 8).read_into(std::span(other));  // the channel lives, and has moved on
  EXPECT_TRUE(all_are(local.bytes(), std::byte{0x32})) << "local memory changed after the end";
  EXPECT_TRUE(local.guards_are_intact());
}

Task<void> random_stops(Cluster& cluster) {
  const bool real = cluster.traits().threads;
  const std::size_t size = real ? 5 * limits::kPieceBytes + 3 : 30'001;
  Shared<std::byte> owner(cluster, 1, size);
  Random& random = cluster.random();
  std::size_t given_up = 0;
  for (std::size_t round = 0; round < (real ? repetitions(100) : 8); ++round) {
    auto one = give_up_one(owner.ref(cluster, 0), random.next(), given_up);
    co_await one;
  }
  const std::byte last{0x41};
  std::vector<std::byte> local(size, last);
  co_await owner.ref(cluster, 0).write_from(std::span<const std::byte>(local));
  EXPECT_TRUE(all_are(owner.values, last)) << "an earlier write landed over a later one";
}
TEST_P(Quiet, CancelledTransferLeavesItsMemoryAloneFromItsEndOn) {
  // Longer than any device takes for what is under way: beyond it writes end outcome_unknown.
  play(random_stops, {.limits = {.quiet_grace = std::chrono::seconds(60)}});
}

// Local memory is freed and allocated again the moment that the operation has ended.
Task<void> freed_and_reused(Cluster& cluster) {
  const bool real = cluster.traits().threads;
  const std::size_t size = real ? 3 * limits::kPieceBytes : 20'000;
  Shared<std::byte> owner(cluster, 1, size, std::byte{0x51});
  const BufferRef ref = owner.ref(cluster, 0);
  for (std::size_t round = 0; round < (real ? 30 : 6); ++round) {
    auto first = std::make_unique<std::byte[]>(size);
    const Limits limit{std::chrono::microseconds(30 * round), {}};
    const errc code = co_await code_of(ref.read_into(std::span(first.get(), size), limit));
    EXPECT_TRUE(ended_as_asked(code)) << to_string(code);
    first.reset();
    auto second = std::make_unique<std::byte[]>(size);  // often the same addresses
    std::fill_n(second.get(), size, std::byte{0x52});
    std::array<std::byte, 8> other{};
    co_await ref.subrange(0, 8).read_into(std::span(other));
    EXPECT_TRUE(all_are(std::span(second.get(), size), std::byte{0x52}));
  }
}
TEST_P(Quiet, MemoryMayBeFreedAndReusedRightAfterATimeout) {
  play(freed_and_reused);
}

Task<void> dropped(Cluster& cluster) {
  const bool real = cluster.traits().threads;
  const std::size_t size = real ? 4 * limits::kPieceBytes : 20'000;
  Shared<std::byte> owner(cluster, 1, size, std::byte{0x61});
  const BufferRef ref = owner.ref(cluster, 0);
  for (std::size_t round = 0; round < (real ? 30 : 6); ++round) {
    Guarded local(size);
    {
      auto operation = start(ref.read_into(local.bytes()));
      if (round % 3 != 0) {
        co_await between_looks(cluster);
      }
    }  // dropped here, wherever it is
    local.fill(std::byte{0x62});
    std::array<std::byte, 8> other{};
    co_await ref.subrange(0, 8).read_into(std::span(other));
    EXPECT_TRUE(all_are(local.bytes(), std::byte{0x62}) && local.guards_are_intact());
  }
}
TEST_P(Quiet, DroppingAStartedOperationIsItsEnd) {
  play(dropped);
}

Task<void> limits_at_once(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 100);
  const BufferRef ref = owner.ref(cluster, 0);
  std::array<std::uint64_t, 100> local{};
  const Limits no_time{Duration::zero(), {}};
  const errc read = co_await code_of(ref.read_into(std::span(local), no_time));
  EXPECT_TRUE(ended_as_asked(read)) << to_string(read);
  StopSource source;
  source.request_stop();
  const StopToken token = source.get_token();
  const Limits stopped{{}, token};
  const errc write = co_await code_of(ref.write_from(std::span(local), {.stop = token}));
  EXPECT_TRUE(ended_as_asked(write)) << to_string(write);
  const errc add = co_await code_of(ref.fetch_add(1, {.stop = token}));
  EXPECT_TRUE(ended_as_asked(add)) << to_string(add);
  Batch batch;
  batch.add(ref.fetch_add(1, {.offset = 8}));
  batch.add(ref.read_into(std::span(local)));
  const Outcomes outcomes = co_await batch.run(stopped);
  for (std::size_t index = 0; index < outcomes.size(); ++index) {
    const auto outcome = outcomes[index];
    EXPECT_TRUE(outcome || ended_as_asked(outcome.error().code()));
  }
  Sequence sequence;
  sequence.add(ref.fetch_add(1, {.offset = 16}));
  sequence.add(ref.fetch_add(1, {.offset = 24}));
  const Outcomes in_order = co_await sequence.run(stopped);
  EXPECT_TRUE(in_order[0] || !in_order[1]) << "a member took effect behind one that did not";
  co_await ref.read_into(std::span(local));
  EXPECT_LE(local[0], 1U);
  EXPECT_LE(local[1], 1U);
  EXPECT_LE(local[3], local[2]);
}
TEST_P(Quiet, LimitsThatHavePassedAlreadyEndAnOperationAtOnce) {
  play(limits_at_once);
}

Task<void> scoped_limits(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 1);
  const BufferRef word = owner.ref(cluster, 0);
  NotificationStream stream = owner.buffer.notifications();
  auto waiting = cluster.on(1, code_of(stream.next({.timeout = std::chrono::milliseconds(2)})));
  const errc late = co_await waiting;
  EXPECT_EQ(late, errc::timed_out);
  auto scoped = code_of(stream.next());
  auto inherited =
      cluster.on(1, ferry::detail::as_task(std::move(scoped).with({.timeout = std::chrono::milliseconds(2)})));
  const errc same = co_await inherited;
  EXPECT_EQ(same, errc::timed_out);
  auto stopped = start(cluster.on(1, code_of(stream.next())));
  stopped.cancel();
  const errc cancelled = co_await stopped;
  EXPECT_EQ(cancelled, errc::cancelled);
  const std::array<std::uint64_t, 1> value{1};
  co_await word.write_from(std::span(value), {.notify = 3});
  auto next = cluster.on(1, ferry::detail::as_task(stream.next()));
  const std::uint64_t tag = co_await next;
  EXPECT_EQ(tag, 3U) << "those that gave up took nothing";
}
TEST_P(Quiet, WaitingForNotificationsEndsByLimitStopAndScope) {
  play(scoped_limits);
}

}  // namespace
}  // namespace ferry::conformance
