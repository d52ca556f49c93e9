// Every error of registered memory and one-sided operations, by the condition itself, with its text.
#include <array>
#include <vector>

#include <ferry/buffer/batch.hpp>
#include <ferry/buffer/sequence.hpp>

#include "errors.hpp"

namespace ferry::conformance {
namespace {

FERRY_CONFORMANCE(OneSidedErrors);

Task<void> refused_arguments(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 4);
  const BufferRef ref = owner.ref(cluster, 0);
  const std::string at = named(cluster, 1);
  std::array<std::uint64_t, 4> local{};

  const Failure empty = co_await failure_of(BufferRef().read_into(std::span(local)));
  expect_failure(empty, Effect::none,
                 "read_into of offset 0, length 32 of 0 bytes: invalid_argument: the reference is empty "
                 "(default-constructed)");
  const WriteOptions contradiction{.completion = transmitted, .notify = 1};
  const Failure both = co_await failure_of(ref.write_from(std::span(local), contradiction));
  expect_failure(both, Effect::none,
                 fmt::format("write_from of offset 0, length 32 of 32 bytes at {}: invalid_argument: a write with "
                             "notify is delivered; it cannot be transmitted only",
                             at));
  const std::span<std::byte, 32> nowhere(static_cast<std::byte*>(nullptr), 32);
  const Failure null = co_await failure_of(ref.read_into(nowhere));
  expect_failure(null, Effect::none,
                 fmt::format("read_into of offset 0, length 32 of 32 bytes at {}: invalid_argument: the local memory "
                             "is a null pointer",
                             at));
  const Failure shorter = co_await failure_of(ref.read_into(std::span(local).first(3)));
  expect_failure(shorter, Effect::none,
                 fmt::format("read_into of offset 0, length 24 of 32 bytes at {}: invalid_range: the local memory has "
                             "24 bytes, the referenced range 32; they must be equal (narrow the reference with "
                             "subrange)",
                             at));
  const Chunk beyond{24, reinterpret_cast<std::byte*>(local.data()), 16};
  const Failure chunk = co_await failure_of(ref.write_from(std::span(&beyond, 1)));
  expect_failure(chunk, Effect::none,
                 fmt::format("write_from of offset 24, length 16 of 32 bytes at {}: invalid_range: [24, +16) does not "
                             "lie inside the 32 bytes that the reference names",
                             at));
  const AtomicOptions crooked{.offset = 4};
  const Failure misaligned = co_await failure_of(ref.fetch_add(1, crooked));
  expect_failure(misaligned, Effect::none,
                 fmt::format("fetch_add of offset 4, length 8 of 32 bytes at {}: misaligned: an atomic needs a word "
                             "whose address in the owner's memory is a multiple of 8; offset 4 lies 4 bytes behind "
                             "one",
                             at));
  const std::vector<Chunk> many(limits::kChunks + 1, Chunk{0, reinterpret_cast<std::byte*>(local.data()), 0});
  const Failure too_many = co_await failure_of(ref.read_into(std::span<const Chunk>(many)));
  expect_failure(too_many, Effect::none,
                 fmt::format("read_into of offset 0, length 0 of 32 bytes at {}: too_large: a chunk list has at most "
                             "65536 pieces, not 65537",
                             at));
  expect_failure(thrown_by([&] { static_cast<void>(ref.subrange(24, 16)); }), Effect::none,
                 "subrange of offset 24, length 16 of 32 bytes: invalid_range: [24, +16) does not lie "
                 "inside the 32 bytes that the reference names");
  co_await ref.read_into(std::span(local));
  EXPECT_EQ(local, (std::array<std::uint64_t, 4>{}));
}
TEST_P(OneSidedErrors, WrongArgumentsAreRefusedBeforeAnyTraffic) {
  play(refused_arguments, {.seeds = 1});
}

Task<void> refused_registrations(Cluster& cluster) {
  const Context context = cluster.context(0);
  std::uint64_t word = 0;
  const auto registering = [&](std::byte* base, std::size_t size, const RegisterOptions& options = {}) {
    return thrown_by([&] { static_cast<void>(context.register_memory(std::span(base, size), options)); });
  };
  expect_failure(registering(nullptr, 8), Effect::none,
                 "register_memory: invalid_argument: the memory to register is a null pointer");
  expect_failure(registering(reinterpret_cast<std::byte*>(&word), (std::size_t{1} << 63) + 1), Effect::none,
                 "register_memory: too_large: a region has at most 9223372036854775808 bytes, not "
                 "9223372036854775809");
  if (!cluster.traits().has_nic_atomics) {
    expect_failure(registering(reinterpret_cast<std::byte*>(&word), 8, {.atomics = AtomicDomain::nic}), Effect::none,
                   "register_memory: unsupported: no NIC of this node executes atomics; register with the "
                   "cpu domain");
  }
  RDMABuffer empty;
  expect_failure(thrown_by([&] { static_cast<void>(empty.ref()); }), Effect::none,
                 "ref: invalid_argument: the buffer is empty (default-constructed or moved from)");
  expect_failure(thrown_by([&] { static_cast<void>(empty.notifications()); }), Effect::none,
                 "notifications: invalid_argument: the buffer is empty (default-constructed or moved from)");
  RDMABuffer buffer = context.register_memory(std::span(&word, 1));
  auto revoked = buffer.revoke();
  co_await revoked;
  expect_failure(thrown_by([&] { static_cast<void>(buffer.ref()); }), Effect::none,
                 "ref: revoked: the buffer was revoked; register the memory again");
  expect_failure(thrown_by([&] { static_cast<void>(BufferRef().to_text()); }), Effect::none,
                 "to_text: invalid_argument: an empty reference has no text");
}
TEST_P(OneSidedErrors, MemoryThatCannotBeRegisteredOrReferredToIsRefused) {
  play(refused_registrations, {.nodes = 1, .seeds = 1});
}

Task<void> refused_by_the_owner(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 2);
  Shared<std::uint64_t> gone(cluster, 1, 2);
  Shared<std::uint64_t> read_only(cluster, 1, 2, 0, {.rights = Access::read});
  const BufferRef ref = owner.ref(cluster, 0);
  const BufferRef stale = gone.ref(cluster, 0);
  auto revoking = cluster.on(1, gone.buffer.revoke());
  co_await revoking;
  std::array<std::uint64_t, 2> local{};
  co_await ref.read_into(std::span(local));
  const std::string at = named(cluster, 1);

  const std::string revoked = "revoked: the owner revoked or released this memory; ask it for a new reference";
  const Failure read = co_await failure_of(stale.read_into(std::span(local)));
  expect_failure(read, Effect::none,
                 fmt::format("read_into of offset 0, length 16 of 16 bytes at {}: {}", at, revoked));
  const Failure write = co_await failure_of(stale.write_from(std::span(local)));
  expect_failure(write, Effect::none,
                 fmt::format("write_from of offset 0, length 16 of 16 bytes at {}: {}", at, revoked));
  const AtomicOptions second{.offset = 8};
  const Failure swap = co_await failure_of(stale.swap(1, second));
  expect_failure(swap, Effect::none, fmt::format("swap of offset 8, length 8 of 16 bytes at {}: {}", at, revoked));
  const Failure denied = co_await failure_of(read_only.ref(cluster, 0).write_from(std::span(local)));
  expect_failure(denied, Effect::none,
                 fmt::format("write_from of offset 0, length 16 of 16 bytes at {}: access_denied: the reference "
                             "permits read, the operation needs write; ask the owner for a reference with that right",
                             at));
  const WriteOptions tag{.notify = 7};
  const Failure nobody = co_await failure_of(ref.write_from(std::span(local), tag));
  expect_failure(nobody, Effect::unknown,
                 fmt::format("write_from of offset 0, length 16 of 16 bytes at {}: unsupported: the owner takes no "
                             "notifications for this buffer; it must register it with "
                             "RegisterOptions::notifications, or call notifications() first (it may have taken effect)",
                             at));
  const WriteOptions unconfirmed{.completion = transmitted};
  const Failure late = co_await failure_of(stale.write_from(std::span(local), unconfirmed));
  const Failure flush = co_await failure_of(ref.flush());
  EXPECT_TRUE(static_cast<bool>(late) != static_cast<bool>(flush)) << "told once, by the write or by the flush";
  if (!late && cluster.traits().transmits_unseen && flush.code() == errc::outcome_unknown) {
    co_return;
  }
  expect_failure(
      late ? late : flush, late ? late.effect() : flush.effect(),
      fmt::format("{} at {}: {}", late ? "write_from of offset 0, length 16 of 16 bytes" : "flush", at, revoked));
}
TEST_P(OneSidedErrors, WhatTheOwnerRefusesSaysWhy) {
  play(refused_by_the_owner, {.seeds = 2});
}

Task<void> full_notifications(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 1);
  NotificationStream stream = owner.buffer.notifications();
  const BufferRef ref = owner.ref(cluster, 0);
  std::array<std::uint64_t, 1> local{};
  co_await ref.read_into(std::span(local));
  const std::string at = named(cluster, 1);
  const WriteOptions tag{.notify = 7};
  for (std::size_t count = 0; count < limits::kNotifications; ++count) {
    co_await ref.write_from(std::span(local), tag);
  }
  const Failure full = co_await failure_of(ref.write_from(std::span(local), tag));
  expect_failure(full, Effect::unknown,
                 fmt::format("write_from of offset 0, length 8 of 8 bytes at {}: overloaded: the owner has 4096 "
                             "notifications of this buffer it has not taken; the bytes were written (it may have "
                             "taken effect)",
                             at));
  const Limits at_once{Duration::zero(), {}};
  for (std::size_t count = 0; count < limits::kNotifications; ++count) {
    co_await stream.next(at_once);
  }
  const Limits soon{std::chrono::milliseconds(1), {}};
  const Failure none = co_await failure_of(stream.next(soon));
  expect_failure(none, Effect::none, "timed_out: no value came within the limit");
  StopSource stopped;
  stopped.request_stop();
  const StopToken token = stopped.get_token();
  const Limits stop{{}, token};
  const Failure told = co_await failure_of(stream.next(stop));
  expect_failure(told, Effect::none, "cancelled: a stop was requested");
}
TEST_P(OneSidedErrors, NotificationsSayWhenThereAreTooManyAndWhenThereAreNone) {
  play(full_notifications, {.seeds = 1});
}

Task<void> groups(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 2);
  Shared<std::uint64_t> gone(cluster, 1, 2);
  const BufferRef ref = owner.ref(cluster, 0);
  const BufferRef stale = gone.ref(cluster, 0);
  auto revoking = cluster.on(1, gone.buffer.revoke());
  co_await revoking;
  std::array<std::uint64_t, 2> local{};

  Sequence sequence;
  sequence.add(ref.write_from(std::span(local)));
  sequence.add(stale.write_from(std::span(local)));
  sequence.add(ref.fetch_add(1));
  const Outcomes outcomes = co_await sequence.run();
  EXPECT_TRUE(outcomes[0]);
  const std::string at = named(cluster, 1);
  expect_failure(outcomes[1] ? Failure() : outcomes[1].error(), Effect::none,
                 fmt::format("write_from of offset 0, length 16 of 16 bytes at {}: revoked: the owner revoked or "
                             "released this memory; ask it for a new reference",
                             at));
  expect_failure(outcomes[2] ? Failure() : outcomes[2].error(), Effect::none,
                 fmt::format("fetch_add of offset 0, length 8 of 16 bytes at {}: not_executed: an earlier member of "
                             "the sequence failed",
                             at));
  EXPECT_EQ(owner.values[0], 0U);
  const Failure twice = co_await failure_of(sequence.run());
  expect_failure(twice, Effect::none, "sequence: invalid_argument: it was run before; make another");

  Batch batch;
  const Limits own{std::chrono::seconds(1), {}};
  expect_failure(thrown_by([&] { batch.add(ref.read_into(std::span(local), own)); }), Effect::none,
                 "add: invalid_argument: a member of a batch or sequence has no timeout or stop of its "
                 "own; give them to run()");
  Sequence reads_back;
  reads_back.add(ref.read_into(std::span(local)));
  reads_back.add(ref.write_from(std::span(local)));
  const Failure race = co_await failure_of(reads_back.run());
  expect_failure(race, Effect::none,
                 "sequence: invalid_argument: member 1 reads local memory that an earlier member writes; "
                 "await that one first");
}
TEST_P(OneSidedErrors, GroupsSayWhatWasNotExecutedAndWhatTheyCannotTake) {
  play(groups, {.seeds = 2});
}

Task<void> altered_references(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 2);
  const wire::Bytes whole = encode_reference(owner.ref(cluster, 0));
  NodeCore& node = cluster.node(0);
  std::array<std::uint64_t, 2> local{};
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto cut = decode_reference(node, wire::ByteView(whole.data(), length));
    EXPECT_TRUE(!cut && cut.error().code() == errc::malformed) << "cut to " << length << " bytes";
  }
  // Any single altered byte: not decoded, or refused with a cause; never an access that the owner did not grant.
  for (std::size_t index = 0; index < whole.size(); ++index) {
    wire::Bytes altered = whole;
    altered[index] ^= std::byte{0x41};
    const auto decoded = decode_reference(node, wire::ByteView(altered.data(), altered.size()));
    if (!decoded) {
      EXPECT_EQ(decoded.error().code(), errc::malformed) << "byte " << index;
      EXPECT_THAT(decoded.error().to_text(), testing::HasSubstr("malformed: ")) << "byte " << index;
    } else if (decoded->owner() == cluster.node(1).self() && decoded->size() == 16) {
      const errc code = co_await code_of(decoded->read_into(std::span(local)));
      EXPECT_TRUE(code == errc{} || code == errc::revoked || code == errc::access_denied ||
                  code == errc::invalid_range || code == errc::unsupported)
          << "byte " << index << ": " << to_string(code);
    }
  }
  const Failure text = thrown_by([&] { static_cast<void>(BufferRef::from_text(node, "ferry1:00")); });
  expect_failure(text, Effect::none,
                 "from_text: malformed: the text is no ferry reference: 2 hexadecimal digits cannot be a "
                 "reference; was it cut?");
  const Failure other = thrown_by([&] { static_cast<void>(BufferRef::from_text(node, "http://x")); });
  expect_failure(other, Effect::none,
                 "from_text: malformed: the text is no ferry reference: it must begin with \"ferry1:\"");
  co_await owner.ref(cluster, 0).read_into(std::span(local));
}
TEST_P(OneSidedErrors, ReferencesWithAlteredBytesAreRefusedAndNothingElseHappens) {
  play(altered_references, {.seeds = 1});
}

}  // namespace
}  // namespace ferry::conformance
