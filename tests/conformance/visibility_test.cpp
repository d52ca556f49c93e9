#include <vector>

#include "patterns.hpp"
#include "scenario.hpp"

namespace ferry::conformance {
namespace {

FERRY_CONFORMANCE(Visibility);

using testing::HasSubstr;

// Looks at memory when it is told to: as the owner with its own loads, as anybody else by a one-sided read.
class Witness final : public Actor {
 public:
  Witness(ActorContext& context, std::uint64_t size)
      : memory_(size), buffer_(context.register_memory(std::span(memory_))) {}

  BufferRef memory() const { return buffer_.ref(); }
  bool holds(std::uint64_t number, std::uint64_t length) const {
    return is_pattern(std::span<const std::byte>(memory_).first(length), number);
  }
  Task<bool> sees(BufferRef memory, std::uint64_t number) {
    std::vector<std::byte> local(memory.size());
    co_await memory.read_into(std::span(local));
    co_return is_pattern(local, number);
  }

  static constexpr auto endpoints = ferry::endpoints<&Witness::memory, &Witness::holds, &Witness::sees>;

 private:
  vector<std::byte> memory_;
  RDMABuffer buffer_;
};

ScenarioOptions with_witnesses(std::size_t nodes) {
  return {.nodes = nodes, .classes = actors<Witness>.classes(), .seeds = 8};
}

std::vector<std::size_t> some_sizes(const Cluster& cluster) {
  return cluster.traits().threads ? std::vector<std::size_t>{8, 5'000, 2 * limits::kPieceBytes + 8}
                                  : std::vector<std::size_t>{8, 5'000, 30'000};
}

Task<void> told_about_a_delivered_write(Cluster& cluster) {
  const std::vector<std::size_t> sizes = some_sizes(cluster);
  auto owner_spawned = spawn_on<Witness>(cluster, 1, "owner", sizes.back());
  const ActorRef<Witness> owner = co_await owner_spawned;
  auto third_spawned = spawn_on<Witness>(cluster, 2, "third", std::uint64_t{0});
  const ActorRef<Witness> third = co_await third_spawned;
  const BufferRef memory = co_await owner.call<&Witness::memory>();
  std::uint64_t number = 0;
  for (const std::size_t size : sizes) {
    std::vector<std::byte> local(size);
    const BufferRef part = memory.subrange(0, size);
    for (int round = 0; round < (size > 100'000 ? 10 : 100); ++round) {
      fill_pattern(local, ++number);
      co_await part.write_from(std::span(local));
      fill_pattern(local, 0);  // it may be reused
      const bool seen = co_await third.call<&Witness::sees>(part, number);
      EXPECT_TRUE(seen) << "by a third process, " << size << " bytes";
      const bool held = co_await owner.call<&Witness::holds>(number, size);
      EXPECT_TRUE(held) << "by the owner, " << size << " bytes";
    }
  }
}
TEST_P(Visibility, DeliveredWriteIsSeenByWhoeverIsToldOfItsCompletion) {
  play(told_about_a_delivered_write, with_witnesses(3));
}

Task<void> transmitted_then_flushed(Cluster& cluster) {
  const std::vector<std::size_t> sizes = some_sizes(cluster);
  auto owner_spawned = spawn_on<Witness>(cluster, 1, "owner", 4 * sizes.back());
  const ActorRef<Witness> owner = co_await owner_spawned;
  auto third_spawned = spawn_on<Witness>(cluster, 2, "third", std::uint64_t{0});
  const ActorRef<Witness> third = co_await third_spawned;
  const BufferRef memory = co_await owner.call<&Witness::memory>();
  std::uint64_t number = 0;
  for (const std::size_t size : sizes) {
    std::vector<std::byte> local(size);
    for (int round = 0; round < (size > 100'000 ? 5 : 30); ++round) {
      const std::uint64_t first = number;
      for (std::uint64_t part = 0; part < 4; ++part) {
        fill_pattern(local, ++number);
        co_await memory.subrange(part * size, size).write_from(std::span(local), {.completion = transmitted});
        std::ranges::fill(local, std::byte{0xee});  // `local` may be reused already
      }
      co_await memory.flush();
      for (std::uint64_t part = 0; part < 4; ++part) {
        const BufferRef range = memory.subrange(part * size, size);
        const bool seen = co_await third.call<&Witness::sees>(range, first + part + 1);
        EXPECT_TRUE(seen) << "part " << part << " of " << size << " bytes";
      }
    }
  }
}
TEST_P(Visibility, TransmittedWritesAreSeenAfterAFlushAndTheirSourceMayBeReusedBefore) {
  play(transmitted_then_flushed, with_witnesses(3));
}

Task<void> flush_without_writes(Cluster& cluster) {
  Shared<std::byte> owner(cluster, 1, 8);
  const BufferRef ref = owner.ref(cluster, 0);
  co_await ref.flush();
  co_await ref.with_rights(Access::none).flush();
  auto revoked = cluster.on(1, owner.buffer.revoke());
  co_await revoked;
  co_await ref.flush();  // it is about the peer, not the region
  Shared<std::byte> own(cluster, 0, 8);
  co_await own.ref(cluster, 0).flush();
}
TEST_P(Visibility, FlushWithNothingToConfirmSucceeds) {
  play(flush_without_writes);
}

// Takes `count` tags; each names the slot whose bytes must be there.
Task<std::vector<std::uint64_t>> take_notifications(RDMABuffer& buffer, std::span<const std::byte> memory,
                                                    std::size_t slot_bytes, std::size_t count) {
  NotificationStream stream = buffer.notifications();
  std::vector<std::uint64_t> tags;
  while (tags.size() < count) {
    const std::uint64_t tag = co_await stream.next();
    EXPECT_TRUE(is_pattern(memory.subspan(tag * slot_bytes, slot_bytes), tag + 1))
        << "the notification of slot " << tag << " came before its " << slot_bytes << " bytes";
    tags.push_back(tag);
  }
  co_return tags;
}

Task<void> write_slots(BufferRef memory, std::size_t slot_bytes, std::uint64_t first, std::uint64_t step,
                       std::uint64_t slots) {
  std::vector<std::byte> local(slot_bytes);
  for (std::uint64_t slot = first; slot < slots; slot += step) {
    fill_pattern(local, slot + 1);
    co_await memory.subrange(slot * slot_bytes, slot_bytes).write_from(std::span(local), {.notify = slot});
  }
}

Task<void> bytes_before_notification(Cluster& cluster) {
  for (const std::size_t size : some_sizes(cluster)) {
    const std::size_t slots = size > 100'000 ? 12 : 60;
    Shared<std::byte> owner(cluster, 1, size * slots);
    static_cast<void>(owner.buffer.notifications());  // opened before anybody writes
    auto taking = start(cluster.on(1, take_notifications(owner.buffer, owner.values, size, slots)));
    auto even = start(cluster.on(0, write_slots(owner.ref(cluster, 0), size, 0, 2, slots)));
    auto odd = start(cluster.on(2, write_slots(owner.ref(cluster, 2), size, 1, 2, slots)));
    co_await even;
    co_await odd;
    const std::vector<std::uint64_t> tags = co_await taking;
    std::array<std::uint64_t, 2> next{0, 1};  // of each writer, in its order
    for (const std::uint64_t tag : tags) {
      EXPECT_EQ(tag, next[tag % 2]);
      next[tag % 2] = tag + 2;
    }
  }
}
TEST_P(Visibility, NotificationComesOnceAndAfterItsBytes) {
  play(bytes_before_notification, {.nodes = 3, .seeds = 6});
}

Task<void> owner_writes_with_notify(Cluster& cluster) {
  Shared<std::uint64_t> own(cluster, 0, 1);
  NotificationStream stream = own.buffer.notifications();
  const std::array<std::uint64_t, 1> local{5};
  co_await own.ref(cluster, 0).write_from(std::span(local), {.notify = 77});
  const std::uint64_t tag = co_await stream.next();
  EXPECT_EQ(tag, 77U);
  EXPECT_EQ(own.values[0], 5U);
  const std::span<const std::uint64_t> nothing;
  co_await own.ref(cluster, 0).subrange(8, 0).write_from(nothing, {.notify = 78});
  const std::uint64_t bare = co_await stream.next();
  EXPECT_EQ(bare, 78U) << "a notification without bytes";
}
TEST_P(Visibility, OwnWritesAndEmptyWritesNotifyToo) {
  play(owner_writes_with_notify);
}

Task<void> notifications_overflow(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 1);
  const BufferRef ref = owner.ref(cluster, 0);
  std::array<std::uint64_t, 1> local{1};
  const Failure unheard = co_await failure_of(ref.write_from(std::span(local), {.notify = 1}));
  EXPECT_TRUE(unheard && unheard.code() == errc::unsupported);
  EXPECT_THAT(unheard.to_text(), HasSubstr("notifications()"));
  EXPECT_EQ(unheard.effect(), Effect::unknown);

  NotificationStream stream = owner.buffer.notifications();
  for (std::uint64_t tag = 0; tag < limits::kNotifications; ++tag) {
    co_await ref.write_from(std::span(local), {.notify = tag});
  }
  local[0] = 2;
  const Failure full = co_await failure_of(ref.write_from(std::span(local), {.notify = limits::kNotifications}));
  EXPECT_TRUE(full && full.code() == errc::overloaded);
  EXPECT_EQ(full.effect(), Effect::unknown);
  for (std::uint64_t expected = 0; expected < limits::kNotifications; ++expected) {
    auto taken = cluster.on(1, ferry::detail::as_task(stream.next()));
    const std::uint64_t tag = co_await taken;
    EXPECT_EQ(tag, expected);
    if (expected == 0) {  // there is room for one now
      co_await ref.write_from(std::span(local), {.notify = limits::kNotifications});
    }
  }
  auto last = cluster.on(1, ferry::detail::as_task(stream.next()));
  const std::uint64_t tag = co_await last;
  EXPECT_EQ(tag, limits::kNotifications) << "the refused one must not come";
}
TEST_P(Visibility, NotificationsThatNobodyTakesAreRefusedAtTheirBoundAndLaterOnesWork) {
  play(notifications_overflow, {.seeds = 1});
}

Task<void> notifications_end(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 1);
  const BufferRef ref = owner.ref(cluster, 0);
  NotificationStream stream = owner.buffer.notifications();
  const std::array<std::uint64_t, 1> local{1};
  co_await ref.write_from(std::span(local), {.notify = 9});
  const errc contradiction =
      co_await code_of(ref.write_from(std::span(local), {.completion = transmitted, .notify = 9}));
  EXPECT_EQ(contradiction, errc::invalid_argument);
  auto revoked = cluster.on(1, owner.buffer.revoke());
  co_await revoked;
  const errc late = co_await code_of(ref.write_from(std::span(local), {.notify = 10}));
  EXPECT_EQ(late, errc::revoked);
  auto left = cluster.on(1, ferry::detail::as_task(stream.next()));
  const std::uint64_t tag = co_await left;
  EXPECT_EQ(tag, 9U) << "what arrived before the revocation is still there to take";
  auto end = cluster.on(1, code_of(stream.next()));
  const errc code = co_await end;
  EXPECT_EQ(code, errc::revoked);
}
TEST_P(Visibility, NotificationsEndWithTheRevocationAfterThoseThatArrived) {
  play(notifications_end);
}

}  // namespace
}  // namespace ferry::conformance
