// RDMABuffer, BufferRef and single operations: refusals by their own conditions, limits, drops, text and wire forms.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <numeric>
#include <vector>

#include <ferry/base/start.hpp>
#include <ferry/buffer/allocator.hpp>
#include <ferry/buffer/rdma_buffer.hpp>
#include <ferry/memory/region_codec.hpp>

#include <core_node.hpp>
#include <manual_executor.hpp>
#include <text_of.hpp>

namespace ferry {
namespace {

using namespace std::chrono_literals;
using Node = test::CoreNode<test::ManualExecutor>;

using test::text_of;

template <class A>
std::string outcome(Node& node, A awaitable) {
  const auto result = node.run(detail::as_task(as_result(std::move(awaitable))));
  return result ? "done" : result.error().to_text();
}

// A reference to memory of another process.
BufferRef remote(Node& node, std::uint64_t length, Access rights = Access::all) {
  RemoteRegion region;
  region.owner = node.other().id();
  region.slot = RegionSlot(1);
  region.generation = Generation(1);
  region.rights = rights;
  region.size = region.length = length;
  return BufferRef(node.other(), region);
}

TEST(Buffer, IsReadAndWrittenThroughItsReferenceInPlace) {
  Node node;
  std::vector<int> memory(100);
  std::iota(memory.begin(), memory.end(), 0);
  const RDMABuffer buffer = node.context().register_memory(std::span(memory));
  std::vector<int> local(10);
  EXPECT_EQ(outcome(node, buffer.ref().subrange(40, 40).read_into(std::span(local))), "done");
  EXPECT_EQ(local.front(), 10);
  EXPECT_EQ(local.back(), 19);
  std::fill(local.begin(), local.end(), -1);
  EXPECT_EQ(outcome(node, buffer.ref().subrange(0, 40).write_from(std::span<const int>(local))), "done");
  EXPECT_EQ(memory[9], -1);
  EXPECT_EQ(memory[10], 10);
  EXPECT_EQ(buffer.size(), 400U);
  EXPECT_EQ(buffer.data(), reinterpret_cast<std::byte*>(memory.data()));
}

TEST(Buffer, OfConstantMemoryIsReadOnly) {
  Node node;
  const std::vector<int> memory(4, 7);
  const RDMABuffer buffer = node.context().register_memory(std::span(memory));
  EXPECT_EQ(buffer.ref().rights(), Access::read);
  std::vector<int> local(4);
  EXPECT_EQ(outcome(node, buffer.ref().write_from(std::span(local))),
            "write_from of offset 0, length 16 of 16 bytes at process 1/00000007 (test): access_denied: the reference "
            "permits read, the operation needs write; ask the owner for a reference with that right");
}

TEST(BufferRef, NarrowsAndNeverWidens) {
  Node node;
  std::vector<std::byte> memory(100);
  const RDMABuffer buffer = node.context().register_memory(std::span(memory), {.rights = Access::read});
  const BufferRef ref = buffer.ref(Access::all);
  EXPECT_EQ(ref.rights(), Access::read);
  EXPECT_EQ(ref.with_rights(Access::write).rights(), Access::none);
  EXPECT_EQ(ref.with_rights(Access::none).with_rights(Access::all).rights(), Access::none);
  EXPECT_EQ(ref.subrange(100, 0).size(), 0U);
  EXPECT_EQ(
      text_of([&] { static_cast<void>(ref.subrange(10, 80).subrange(79, 2)); }),
      "subrange of offset 79, length 2 of 80 bytes: invalid_range: [79, +2) does not lie inside the 80 bytes that "
      "the reference names");
}

RC_GTEST_PROP(BufferRef, SubrangesOfSubrangesAreWhatTheirSumsSay, ()) {
  RemoteRegion region;
  region.size = *rc::gen::arbitrary<std::uint64_t>() % (limits::kMaxLength + 1);
  region.length = region.size;
  test::ManualExecutor executor;
  NullLog log;
  NodeCore node(executor, log, ProcessId{1, 1}, "n", {}, {});
  BufferRef ref(node.peers().find_or_add(ProcessId{1, 1}), region);
  std::uint64_t begin = 0;
  std::uint64_t length = region.size;
  const auto cuts = *rc::gen::container<std::vector<std::pair<std::uint64_t, std::uint64_t>>>(
      rc::gen::pair(rc::gen::arbitrary<std::uint64_t>(), rc::gen::arbitrary<std::uint64_t>()));
  for (auto [offset, part] : cuts) {
    if (part % 2 == 0 && length > 0) {  // half of them fit
      offset %= length + 1;
      part %= length - offset + 1;
    }
    const bool fits = offset <= length && part <= length - offset;
    try {
      ref = ref.subrange(offset, part);
      RC_ASSERT(fits);
      begin += offset;
      length = part;
    } catch (const Error& error) {
      RC_ASSERT(!fits);
      RC_ASSERT(error.ferry_code() == errc::invalid_range);
    }
    RC_ASSERT(ref.region().offset == begin);
    RC_ASSERT(ref.size() == length);
    RC_ASSERT(begin + length <= region.size);
  }
}

TEST(Transfer, RefusesBeforeAnyTrafficWhatCannotWork) {
  Node node;
  std::array<std::uint64_t, 4> local{};
  const BufferRef ref = remote(node, 32);
  const std::string at = " at process 2/00000001: ";
  EXPECT_EQ(
      outcome(node, BufferRef().read_into(std::span(local))),
      "read_into of offset 0, length 32 of 0 bytes: invalid_argument: the reference is empty (default-constructed)");
  EXPECT_EQ(outcome(node, BufferRef().write_from(std::span(local), {.notify = 1})),
            "write_from of offset 0, length 32 of 0 bytes: invalid_argument: the reference is empty "
            "(default-constructed)");
  EXPECT_EQ(outcome(node, BufferRef().flush()),
            "flush: invalid_argument: the reference is empty (default-constructed)");
  EXPECT_EQ(outcome(node, ref.subrange(0, 16).read_into(std::span(local))),
            "read_into of offset 0, length 32 of 16 bytes" + at +
                "invalid_range: the local memory has 32 bytes, the referenced range 16; they must be equal (narrow the "
                "reference with subrange)");
  EXPECT_EQ(
      outcome(node, ref.read_into(std::span(static_cast<std::byte*>(nullptr), 32))),
      "read_into of offset 0, length 32 of 32 bytes" + at + "invalid_argument: the local memory is a null pointer");
  EXPECT_EQ(outcome(node, ref.write_from(std::span(local), {.completion = transmitted, .notify = 1})),
            "write_from of offset 0, length 32 of 32 bytes" + at +
                "invalid_argument: a write with notify is delivered; it cannot be transmitted only");
  EXPECT_EQ(outcome(node, ref.fetch_add(1, {.offset = 4})),
            "fetch_add of offset 4, length 8 of 32 bytes" + at +
                "misaligned: an atomic needs a word whose address in the owner's memory is a multiple of 8; offset 4 "
                "lies 4 bytes behind one");
  EXPECT_EQ(outcome(node, ref.swap(1, {.offset = 25})),
            "swap of offset 25, length 8 of 32 bytes" + at +
                "invalid_range: the 8-byte word does not lie inside the referenced range");
  EXPECT_EQ(outcome(node, ref.compare_swap(1, 2, {.offset = ~std::uint64_t{0} - 3})),
            "compare_swap of offset 18446744073709551612, length 8 of 32 bytes" + at +
                "invalid_range: the 8-byte word does not lie inside the referenced range");
  EXPECT_EQ(outcome(node, ref.with_rights(Access::read).fetch_add(1)),
            "fetch_add of offset 0, length 8 of 32 bytes" + at +
                "access_denied: the reference permits read, the operation needs atomic; ask the owner for a reference "
                "with that right");
  RemoteRegion device = ref.region();
  device.kind = MemoryKind::dma_buf;
  EXPECT_EQ(outcome(node, BufferRef(node.other(), device).read_into(std::span(local))),
            "read_into of offset 0, length 32 of 32 bytes" + at +
                "unsupported: no transport of this build reaches device memory (dma_buf)");
  EXPECT_TRUE(node.fake().connections.empty()) << "something was started";
}

TEST(Transfer, ChecksEveryPieceOfAList) {
  Node node;
  std::array<std::byte, 64> local{};
  const BufferRef ref = remote(node, 32);
  const std::array<Chunk, 2> outside{Chunk{0, local.data(), 8}, Chunk{~std::uint64_t{0} - 7, local.data(), 16}};
  EXPECT_EQ(outcome(node, ref.read_into(std::span<const Chunk>(outside))),
            "read_into of offset 18446744073709551608, length 16 of 32 bytes at process 2/00000001: invalid_range: "
            "[18446744073709551608, +16) does not lie inside the 32 bytes that the reference names");
  const std::vector<Chunk> many(limits::kChunks + 1, Chunk{0, local.data(), 0});
  EXPECT_EQ(outcome(node, ref.read_into(std::span<const Chunk>(many))),
            "read_into of offset 0, length 0 of 32 bytes at process 2/00000001: too_large: a chunk list has at most "
            "65536 pieces, not 65537");
  EXPECT_TRUE(node.fake().connections.empty());
}

TEST(Transfer, TakesListsOfAnyNumberOfPiecesNoneIncluded) {
  Node node;
  std::vector<std::byte> memory(64, std::byte{1});
  const RDMABuffer buffer = node.context().register_memory(std::span(memory));
  std::array<std::byte, 3> local{};
  EXPECT_EQ(outcome(node, buffer.ref().read_into(std::span<const Chunk>())), "done");
  EXPECT_EQ(outcome(node, buffer.ref().write_from(std::span<const Chunk>())), "done");
  const std::array<Chunk, 3> three{Chunk{0, local.data(), 1}, Chunk{64, nullptr, 0}, Chunk{63, local.data() + 2, 1}};
  EXPECT_EQ(outcome(node, buffer.ref().read_into(std::span<const Chunk>(three))), "done");
  EXPECT_EQ(local, (std::array<std::byte, 3>{std::byte{1}, std::byte{0}, std::byte{1}}));
}

TEST(Transfer, OfLengthZeroSucceedsAndStillChecks) {
  Node node;
  std::vector<std::byte> memory(8);
  const RDMABuffer buffer = node.context().register_memory(std::span(memory));
  const std::span<std::byte> nothing;
  EXPECT_EQ(outcome(node, buffer.ref().subrange(8, 0).read_into(nothing)), "done");
  EXPECT_EQ(outcome(node, buffer.ref().subrange(4, 0).write_from(nothing)), "done");
  RDMABuffer empty = node.context().register_memory(nothing);
  EXPECT_EQ(outcome(node, empty.ref().read_into(nothing)), "done");
}

Task<Duration> wait_long(test::ManualExecutor& executor, Transfer transfer) {
  const TimePoint begin = executor.now();
  auto outcome = as_result(std::move(transfer));
  const Result<void> result = co_await outcome;
  EXPECT_EQ(result.error().code(), errc::timed_out);
  EXPECT_EQ(result.error().detail(), "it did not end, or did not move, within its limit; it was cancelled");
  co_return executor.now() - begin;
}

TEST(Transfer, EndsAfterAMinuteWithoutProgressOrAtItsLimit) {
  Node node;
  std::array<std::byte, 8> local{};
  const BufferRef ref = remote(node, 8);
  EXPECT_EQ(node.run(wait_long(node.executor(), ref.read_into(std::span(local)))), 60s);
  EXPECT_EQ(node.run(wait_long(node.executor(), ref.read_into(std::span(local), {.timeout = 2s}))), 2s);
  EXPECT_EQ(node.run(wait_long(node.executor(), ref.read_into(std::span(local)).with({.timeout = 3s}))), 3s);
}

Task<void> drop(Transfer transfer) {
  auto started = start(std::move(transfer));
  EXPECT_FALSE(started.is_done());
  co_return;
}

TEST(Transfer, DroppedIsAbandoned) {
  Node node;
  std::array<std::byte, 8> local{};
  node.run(drop(remote(node, 8).read_into(std::span(local))));
  EXPECT_EQ(node.fake().only().in_flight(), 0U);
  EXPECT_EQ(node.executor().timers(), 0U);
}

Task<std::string> stopped(Transfer transfer) {
  auto started = start(std::move(transfer));
  started.cancel();
  auto outcome = as_result(std::move(started));
  const Result<void> result = co_await outcome;
  co_return result.error().to_text();
}

TEST(Transfer, IsCancelledByTheStopOfItsTask) {
  Node node;
  std::array<std::byte, 8> local{};
  EXPECT_EQ(node.run(stopped(remote(node, 8).read_into(std::span(local)))),
            "read_into of offset 0, length 8 of 8 bytes at process 2/00000001: cancelled: a stop was requested");
}

// --- Registration.

// A domain that cannot silence a peer before some moment.
class SlowDomain final : public MemoryDomain {
 public:
  Result<TransportKey> attach(RegionHandle, const LocalRegion&) noexcept override {
    ++attached;
    return refuses ? Result<TransportKey>(refuses) : TransportKey{TransportId::tcp, 7, 8};
  }
  Result<void> detach(RegionHandle, TimePoint deadline) noexcept override {
    ++detached;
    if (deadline < quiet_at) {
      return Failure(errc::timed_out, "a peer holds on");
    }
    return {};
  }
  int attached = 0;
  int detached = 0;
  TimePoint quiet_at{};
  Failure refuses{};
};

TEST(Registration, TellsEveryTransportAndCarriesItsKey) {
  Node node;
  SlowDomain domain;
  node.fake().domain = &domain;
  std::vector<std::byte> memory(8);
  {
    RDMABuffer buffer = node.context().register_memory(std::span(memory));
    EXPECT_EQ(buffer.ref().region().key_for(TransportId::tcp)->key, 7U);
    EXPECT_EQ(buffer.ref().region().key_for(TransportId::shm), nullptr);
    RDMABuffer moved = std::move(buffer);
    EXPECT_EQ(domain.detached, 0);
    EXPECT_EQ(text_of([&] { static_cast<void>(buffer.ref()); }),
              "ref: invalid_argument: the buffer is empty (default-constructed or moved from)");
  }
  EXPECT_EQ(domain.attached, 1);
  EXPECT_EQ(domain.detached, 1);
  EXPECT_EQ(node.core().regions().size(), 0U);
}

TEST(Registration, FailsAsAWholeIfATransportFails) {
  Node node;
  SlowDomain domain;
  node.fake().domain = &domain;
  std::vector<std::byte> memory(8);
  domain.refuses = Failure(errc::resource_exhausted, "no more keys");
  EXPECT_EQ(text_of([&] { static_cast<void>(node.context().register_memory(std::span(memory))); }),
            "register_memory: resource_exhausted: no more keys");
  EXPECT_EQ(node.core().regions().size(), 0U);
  domain.refuses = Failure(errc::unsupported, "not such memory");
  const RDMABuffer buffer = node.context().register_memory(std::span(memory));
  EXPECT_EQ(buffer.ref().region().key_for(TransportId::tcp), nullptr);
}

TEST(Registration, RefusesWhatCannotBeRegistered) {
  Node node;
  EXPECT_EQ(text_of([&] { register_bytes(node.core(), nullptr, 8, {}, nullptr); }),
            "register_memory: invalid_argument: the memory to register is a null pointer");
  std::byte byte{};
  EXPECT_EQ(text_of([&] { register_bytes(node.core(), &byte, limits::kMaxLength + 1, {}, nullptr); }),
            "register_memory: too_large: a region has at most 9223372036854775808 bytes, not 9223372036854775809");
  EXPECT_EQ(text_of([&] { register_bytes(node.core(), &byte, 1, {.atomics = AtomicDomain::nic}, nullptr); }),
            "register_memory: unsupported: no NIC of this node executes atomics; register with the cpu domain");
}

Task<void> revoke_twice(RDMABuffer& buffer) {
  auto once = buffer.revoke();
  co_await once;
  auto again = buffer.revoke();
  co_await again;
}

TEST(Registration, RevokedFailsEveryUseOfItsReferencesAndOfNoOther) {
  Node node;
  std::vector<std::uint64_t> memory(4);
  RDMABuffer first = node.context().register_memory(std::span(memory));
  RDMABuffer second = node.context().register_memory(std::span(memory));
  const BufferRef stale = first.ref();
  node.run(revoke_twice(first));
  std::vector<std::uint64_t> local(4);
  EXPECT_EQ(outcome(node, stale.read_into(std::span(local))),
            "read_into of offset 0, length 32 of 32 bytes at process 1/00000007 (test): revoked: the owner revoked or "
            "released this memory; ask it for a new reference");
  EXPECT_EQ(outcome(node, stale.fetch_add(1)),
            "fetch_add of offset 0, length 8 of 32 bytes at process 1/00000007 (test): revoked: the owner revoked or "
            "released this memory; ask it for a new reference");
  EXPECT_EQ(text_of([&] { static_cast<void>(first.ref()); }),
            "ref: revoked: the buffer was revoked; register the memory again");
  EXPECT_EQ(outcome(node, second.ref().read_into(std::span(local))), "done");
  EXPECT_EQ(memory[0], 0U);
}

TEST(Registration, RevokeWaitsForAPeerAndEndsAtItsLimitOrAStop) {
  Node node;
  SlowDomain domain;
  node.fake().domain = &domain;
  std::vector<std::byte> memory(8);
  RDMABuffer buffer = node.context().register_memory(std::span(memory));
  const TimePoint begin = node.executor().now();
  domain.quiet_at = begin + 10s;
  EXPECT_EQ(outcome(node, buffer.revoke({.timeout = 2s})), "revoke: timed_out: a peer holds on");
  StopSource source;
  source.request_stop();
  const StopToken token = source.get_token();
  EXPECT_EQ(outcome(node, buffer.revoke({.stop = token})),
            "revoke: cancelled: a stop was requested; peers may still touch the memory");
  EXPECT_EQ(text_of([&] { static_cast<void>(buffer.ref()); }),
            "ref: revoked: the buffer was revoked; register the memory again");
  EXPECT_EQ(node.core().regions().size(), 1U) << "the slot of memory that is not quiet must stay taken";
  EXPECT_EQ(outcome(node, buffer.revoke()), "done");
  EXPECT_EQ(node.core().regions().size(), 0U);
}

TEST(Registration, ThatCannotBeSilencedIsLoggedAndItsSlotNeverUsedAgain) {
  Node node;
  SlowDomain domain;
  node.fake().domain = &domain;
  domain.quiet_at = kNever;
  std::vector<std::byte> memory(8);
  { const RDMABuffer buffer = node.context().register_memory(std::span(memory)); }
  ASSERT_EQ(node.log().lines().size(), 1U);
  EXPECT_EQ(
      node.log().lines()[0],
      "8 bytes of registered memory were given up while a peer may still touch them (they are quarantined if ferry "
      "allocated them): timed_out: a peer holds on");
  EXPECT_EQ(node.core().regions().size(), 1U);
  domain.quiet_at = TimePoint{};
}

// --- Notifications.

Task<std::vector<std::uint64_t>> notified(RDMABuffer& buffer) {
  NotificationStream stream = buffer.notifications();
  std::array<std::uint64_t, 1> local{9};
  for (std::uint64_t tag : {5U, 6U, 7U}) {
    auto write = buffer.ref().write_from(std::span(local), {.notify = tag});
    co_await write;
  }
  std::vector<std::uint64_t> tags;
  for (int count = 0; count < 3; ++count) {
    auto next = stream.next();
    tags.push_back(co_await next);
  }
  auto revoke = buffer.revoke();
  co_await revoke;
  auto end = as_result(stream.next());
  const auto ended = co_await end;
  EXPECT_EQ(ended.error().to_text(), "revoked: the buffer was revoked");
  co_return tags;
}

TEST(Notifications, ComeInOrderAfterTheBytesAndEndWithTheBuffer) {
  Node node;
  std::array<std::uint64_t, 1> memory{};
  RDMABuffer buffer = node.context().register_memory(std::span(memory));
  EXPECT_EQ(node.run(notified(buffer)), (std::vector<std::uint64_t>{5, 6, 7}));
  EXPECT_EQ(memory[0], 9U);
}

Task<std::uint64_t> first_tag(RDMABuffer& buffer) {
  auto next = buffer.notifications().next();
  co_return co_await next;
}

TEST(Notifications, AreTakenFromTheRegistrationOnIfItAsksForThem) {
  Node node;
  std::array<std::uint64_t, 1> memory{};
  RDMABuffer buffer = node.context().register_memory(std::span(memory), {.notifications = true});
  std::array<std::uint64_t, 1> local{9};
  EXPECT_EQ(outcome(node, buffer.ref().write_from(std::span(local), {.notify = 77})), "done");
  EXPECT_EQ(node.run(first_tag(buffer)), 77U);
}

Task<std::string> end_of_tags(RDMABuffer& buffer) {
  const auto tag = co_await as_result(buffer.notifications().next());
  co_return tag ? std::string("a tag") : tag.error().to_text();
}

Task<std::string> replace_while_awaited(RDMABuffer& buffer, std::span<std::uint64_t> memory, Context context) {
  auto waiting = start(end_of_tags(buffer));
  buffer = context.register_memory(memory);
  co_return co_await waiting;
}

TEST(Notifications, StreamThatSomebodyWaitsForOutlivesTheBufferThatIsReplaced) {
  Node node;
  std::array<std::uint64_t, 1> memory{};
  RDMABuffer buffer = node.context().register_memory(std::span(memory));
  EXPECT_EQ(node.run(replace_while_awaited(buffer, memory, node.context())), "revoked: the buffer was revoked");
  NotificationStream stream = buffer.notifications();
  buffer = RDMABuffer();
  EXPECT_EQ(outcome(node, stream.next()), "revoked: the buffer was revoked");
}

TEST(Notifications, AreRefusedUntilTheOwnerTakesThemAndWhenItTakesTooFew) {
  Node node;
  std::array<std::uint64_t, 1> memory{};
  RDMABuffer buffer = node.context().register_memory(std::span(memory));
  std::array<std::uint64_t, 1> local{9};
  EXPECT_EQ(outcome(node, buffer.ref().write_from(std::span(local), {.notify = 1})),
            "write_from of offset 0, length 8 of 8 bytes at process 1/00000007 (test): unsupported: the owner takes no "
            "notifications for this buffer; it must register it with "
            "RegisterOptions::notifications, or call notifications() first (it may have taken effect)");
  static_cast<void>(buffer.notifications());
  for (std::size_t count = 0; count < limits::kNotifications; ++count) {
    ASSERT_EQ(outcome(node, buffer.ref().write_from(std::span(local), {.notify = count})), "done");
  }
  EXPECT_EQ(outcome(node, buffer.ref().write_from(std::span(local), {.notify = 1})),
            "write_from of offset 0, length 8 of 8 bytes at process 1/00000007 (test): overloaded: the owner has 4096 "
            "notifications of this buffer it has not taken; the bytes were written (it may have taken effect)");
}

// --- Text and wire forms.

BufferRef sample(Node& node) {
  node.other().learn({{TransportId::tcp, "127.0.0.1:4567"}});
  return remote(node, 1000).subrange(8, 64).with_rights(Access::read);
}

TEST(ReferenceText, ReadsBack) {
  Node node;
  const BufferRef ref = sample(node);
  const std::string text = ref.to_text();
  EXPECT_TRUE(text.starts_with("ferry1:"));
  const BufferRef again = BufferRef::from_text(node.core(), text);
  EXPECT_EQ(again.to_text(), text);
  EXPECT_EQ(again.size(), 64U);
  EXPECT_EQ(again.rights(), Access::read);
  EXPECT_EQ(again.peer(), ref.peer());
  EXPECT_EQ(text_of([] { static_cast<void>(BufferRef().to_text()); }),
            "to_text: invalid_argument: an empty reference has no text");
}

TEST(ReferenceText, WithAnyOneCharacterAlteredIsRefused) {
  Node node;
  const std::string text = sample(node).to_text();
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const char other : {'0', '1', '7', 'a', 'f', 'F', ' ', '\0', '\x80'}) {
      std::string altered = text;
      altered[at] = other;
      if (altered != text) {
        EXPECT_THROW(static_cast<void>(BufferRef::from_text(node.core(), altered)), Error) << at << " " << other;
      }
    }
    EXPECT_THROW(static_cast<void>(BufferRef::from_text(node.core(), text.substr(0, at))), Error) << at;
  }
}

TEST(ReferenceText, SaysWhatIsWrong) {
  Node node;
  const std::string text = sample(node).to_text();
  const auto refusal = [&](std::string bad) {
    return text_of([&] { static_cast<void>(BufferRef::from_text(node.core(), bad)); });
  };
  EXPECT_EQ(refusal("hello"), "from_text: malformed: the text is no ferry reference: it must begin with \"ferry1:\"");
  EXPECT_EQ(refusal("ferry1:abc"),
            "from_text: malformed: the text is no ferry reference: 3 hexadecimal digits cannot be a reference; was it "
            "cut?");
  EXPECT_EQ(refusal("ferry1:" + std::string(40, 'x')),
            "from_text: malformed: the text is no ferry reference: \"xx\" at digit 0 is not hexadecimal");
  EXPECT_EQ(refusal(text.substr(0, text.size() - 2)),
            "from_text: malformed: the text is no ferry reference: its checksum is wrong; it was altered");
}

TEST(ReferenceWire, WithAnyByteAlteredIsAnErrorOrAReferenceThatIsSound) {
  Node node;
  wire::Bytes bytes;
  wire::encode(bytes, sample(node));
  EXPECT_LE(bytes.size(), limits::kReferenceBytes + 8);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (unsigned value = 0; value < 256; value += 5) {
      wire::Bytes altered = bytes;
      altered[at] = static_cast<std::byte>(value);
      const auto decoded = wire::decode<BufferRef>({altered.data(), altered.size()}, &node.core());
      if (!decoded) {
        EXPECT_FALSE(decoded.error().detail().empty());
      } else if (*decoded) {
        EXPECT_LE(decoded->region().length, decoded->region().size - decoded->region().offset);
      }
    }
  }
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(wire::decode<BufferRef>({bytes.data(), length}, &node.core())) << length;
  }
}

TEST(ReferenceWire, OfAnEmptyReferenceIsEmptyAndNeedsNoNode) {
  wire::Bytes bytes;
  wire::encode(bytes, BufferRef());
  EXPECT_FALSE(wire::decode<BufferRef>({bytes.data(), bytes.size()})->peer());
  Node node;
  wire::Bytes full;
  wire::encode(full, sample(node));
  EXPECT_EQ(wire::decode<BufferRef>({full.data(), full.size()}).error().to_text(),
            "invalid_argument: a reference can only be decoded by a Node");
}

TEST(Allocator, TakesOrdinaryMemoryOutsideOfANode) {
  ferry::vector<float> values(1000, 1.5F);
  EXPECT_EQ(values[999], 1.5F);
  EXPECT_EQ(values.get_allocator().memory(), nullptr);
  MemoryResource resource;
  std::pmr::vector<int> other(&resource);
  other.assign(100, 3);
  EXPECT_EQ(other[99], 3);
  EXPECT_THROW(Allocator<std::uint64_t>().allocate(~std::size_t{0} / 4), std::bad_array_new_length);
}

}  // namespace
}  // namespace ferry
