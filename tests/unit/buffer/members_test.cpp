// Batch and Sequence over a scripted connection: independence, order, fail-stop, limits, drops, broken channels.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <thread>
#include <vector>

#include <ferry/base/start.hpp>
#include <ferry/buffer/batch.hpp>
#include <ferry/buffer/buffer_ref.hpp>
#include <ferry/buffer/sequence.hpp>

#include <core_node.hpp>
#include <manual_executor.hpp>
#include <text_of.hpp>
#include <thread_executor.hpp>

namespace ferry {
namespace {

using namespace std::chrono_literals;
using Node = test::CoreNode<test::ManualExecutor>;
using test::FakeConnection;

template <class N>
BufferRef remote(N& node, std::uint64_t id = 2) {
  RemoteRegion region;
  region.owner = node.other(id).id();
  region.slot = RegionSlot(1);
  region.generation = Generation(1);
  region.rights = Access::all;
  region.size = region.length = 8;
  return BufferRef(node.other(id), region);
}

// Opens the channel to the peer and leaves it idle.
template <class N>
FakeConnection& opened(N& node, std::uint64_t id = 2) {
  Operation operation;
  operation.on_complete = [](Operation&) noexcept {};
  operation.region.owner = node.other(id).id();
  EXPECT_EQ(node.other(id).start(operation), Started::pending);
  FakeConnection& connection = *node.fake().connections.back();
  connection.finish();
  return connection;
}

std::string code_text(const Result<std::uint64_t>& outcome) {
  return outcome ? "done" : std::string(to_string(outcome.error().code()));
}

template <class Many>
Task<std::vector<std::string>> run_all(Many& many, Limits limits = {}) {
  auto run = many.run(limits);
  const Outcomes outcomes = co_await run;
  std::vector<std::string> texts;
  for (std::size_t index = 0; index < outcomes.size(); ++index) {
    texts.push_back(code_text(outcomes[index]));
  }
  co_return texts;
}

// Runs the task on a strand of its own, step by step.
template <class T>
struct Driven {
  Driven(Node& node, Task<T> task)
      : executor(node.executor()),
        strand(executor, &node.core()),
        root(std::in_place, strand, std::move(task), &done, this) {
    root->post();
    executor.run();
  }
  ~Driven() {
    if (!is_done) {
      drop();
    }
  }
  static void done(detail::RootTask<T>&, void* self) noexcept { static_cast<Driven*>(self)->is_done = true; }
  T take() {
    EXPECT_TRUE(is_done);
    return root->take();
  }
  void drop() {
    struct Drop : Job {
      explicit Drop(Driven& owner)
          : Job([](Job& job) noexcept { static_cast<Drop&>(job).driven.root.reset(); }), driven(owner) {}
      Driven& driven;
    } job(*this);
    strand.post(job);
    executor.run();
    is_done = true;
  }
  test::ManualExecutor& executor;
  bool is_done = false;
  Strand strand;
  std::optional<detail::RootTask<T>> root;
};

using Texts = std::vector<std::string>;

TEST(Batch, TellsEachOutcomeAndOneFailureStopsNoOther) {
  Node node;
  std::array<std::byte, 8> local{};
  Batch batch(4);
  batch.add(remote(node).read_into(std::span(local)));
  batch.add(remote(node).with_rights(Access::none).read_into(std::span(local)));
  batch.add(BufferRef().read_into(std::span(local)));
  batch.add(remote(node, 3).fetch_add(1));
  Driven<Texts> root(node, run_all(batch));
  EXPECT_FALSE(root.is_done);
  node.fake().connections[1]->result = 77;
  node.fake().connections[1]->finish();
  EXPECT_FALSE(root.is_done);
  node.fake().connections[0]->finish(Failure(errc::revoked, "gone"));
  node.executor().run();
  EXPECT_EQ(root.take(), (Texts{"revoked", "access_denied", "invalid_argument", "done"}));
}

TEST(Batch, OfNothingOrOfRefusalsAloneEndsAtOnce) {
  Node node;
  Batch empty;
  EXPECT_EQ(node.run(run_all(empty)), Texts{});
  std::array<std::byte, 8> local{};
  Batch refused;
  refused.add(BufferRef().read_into(std::span(local)));
  refused.add(BufferRef().write_from(std::span(local)));
  EXPECT_EQ(node.run(run_all(refused)), (Texts{"invalid_argument", "invalid_argument"}));
}

TEST(Batch, CancelsWhatIsInFlightAtItsLimitOrAStop) {
  for (const bool stop : {false, true}) {
    Node node;
    std::array<std::byte, 8> local{};
    Batch batch;
    batch.add(BufferRef().read_into(std::span(local)));  // no peer to cancel at
    batch.add(remote(node).read_into(std::span(local)));
    batch.add(remote(node).read_into(std::span(local)));
    StopSource source;
    const StopToken token = source.get_token();
    Driven<Texts> root(node, run_all(batch, stop ? Limits{.stop = token} : Limits{.timeout = 1s}));
    node.fake().only().finish();
    stop ? static_cast<void>(source.request_stop()) : node.executor().advance(1s);
    node.executor().run();
    const std::string reason = stop ? "cancelled" : "timed_out";
    EXPECT_EQ(root.take(), (Texts{"invalid_argument", "done", reason}));
    EXPECT_EQ(node.executor().timers(), 0U);
  }
}

TEST(Batch, EndsAfterAMinuteInWhichNothingOfItMoved) {
  Node node;
  std::array<std::byte, 8> local{};
  Batch batch;
  batch.add(BufferRef().read_into(std::span(local)));
  for (int count = 0; count < 3; ++count) {
    batch.add(remote(node).read_into(std::span(local)));
  }
  Driven<Texts> root(node, run_all(batch));
  node.executor().advance(50s);
  node.fake().only().finish();
  node.executor().advance(60s);  // 110 s, something has moved within the first minute
  EXPECT_FALSE(root.is_done);
  node.fake().only().progress();
  node.executor().advance(60s);
  EXPECT_FALSE(root.is_done);
  node.executor().advance(60s);
  EXPECT_EQ(root.take(), (Texts{"invalid_argument", "done", "timed_out", "timed_out"}));
}

TEST(Batch, DroppedAbandonsWhatIsInFlight) {
  Node node;
  std::array<std::byte, 8> local{};
  Batch batch;
  batch.add(BufferRef().read_into(std::span(local)));
  batch.add(remote(node).read_into(std::span(local)));
  batch.add(remote(node).read_into(std::span(local)));
  Driven<Texts> root(node, run_all(batch));
  node.fake().only().finish();
  root.drop();
  EXPECT_EQ(node.fake().only().in_flight(), 0U);
  EXPECT_EQ(node.executor().timers(), 0U);
}

TEST(Batch, DroppedAfterItsLastMemberEndedIsNotResumed) {
  Node node;
  std::array<std::byte, 8> local{};
  Batch batch;
  batch.add(remote(node).read_into(std::span(local)));
  Driven<Texts> root(node, run_all(batch));
  node.fake().only().finish();  // its resumption is queued
  root.drop();
  EXPECT_EQ(node.executor().run(), 0U);
}

template <class Many>
std::string refusal(Node& node, Many& many) {
  return test::text_of([&] { node.run(run_all(many)); });
}

TEST(Batch, RunsOnceAndRefusesMembersWithLimitsOfTheirOwn) {
  Node node;
  std::array<std::byte, 8> local{};
  Batch batch;
  try {
    batch.add(remote(node).read_into(std::span(local), {.timeout = 1s}));
    FAIL() << "it was taken";
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "add: invalid_argument: a member of a batch or sequence has no timeout or stop of its own; give them to run()");
  }
  node.run(run_all(batch));
  EXPECT_EQ(refusal(node, batch), "batch: invalid_argument: it was run before; make another");
}

Task<int> batches_until(Strand& other, Job& set, bool& flag, BufferRef ref) {
  int count = 0;
  std::array<std::byte, 8> local{};
  auto opening = ref.read_into(std::span(local));  // the first one waits for its channel
  co_await opening;
  other.post(set);
  while (!flag && count < 100'000) {
    Batch batch(1);
    batch.add(ref.read_into(std::span(local)));
    auto run = batch.run();
    co_await run;
    ++count;
  }
  co_return count;
}

TEST(Batch, ThatEndsInPlaceStarvesNobody) {
  Node node;
  std::array<std::byte, 8> memory{};
  const RDMABuffer buffer = node.context().register_memory(std::span(memory));
  bool flag = false;
  struct Set : Job {
    explicit Set(bool& f) : Job([](Job& job) noexcept { static_cast<Set&>(job).value = true; }), value(f) {}
    bool& value;
  } set(flag);
  Strand other(node.executor());
  Driven<int> root(node, batches_until(other, set, flag, buffer.ref()));
  EXPECT_EQ(root.take(), static_cast<int>(InlineBudget::kCompletions));
}

// --- Sequence

TEST(Sequence, IsPipelinedOnOneChannelUnderOneNumber) {
  Node node;
  FakeConnection& connection = opened(node);
  std::array<std::byte, 8> local{};
  Sequence sequence;
  for (int count = 0; count < 3; ++count) {
    sequence.add(remote(node).write_from(std::span(local)));
  }
  Driven<Texts> root(node, run_all(sequence));
  ASSERT_EQ(connection.in_flight(), 3U);
  for (std::uint32_t index = 0; index < 3; ++index) {
    EXPECT_EQ(connection.operation(index).sequence.index, index);
    EXPECT_EQ(connection.operation(index).sequence.id, connection.operation(0).sequence.id);
    EXPECT_NE(connection.operation(index).sequence.id, 0U);
  }
  connection.finish_all();
  node.executor().run();
  EXPECT_EQ(root.take(), (Texts{"done", "done", "done"}));
}

TEST(Sequence, WaitsForEachMemberWhereTheTransportKeepsNoOrder) {
  Node node;
  FakeConnection& connection = opened(node);
  connection.pipelines = false;
  std::array<std::byte, 8> local{};
  Sequence sequence;
  for (int count = 0; count < 3; ++count) {
    sequence.add(remote(node).write_from(std::span(local)));
  }
  Driven<Texts> root(node, run_all(sequence));
  EXPECT_EQ(connection.in_flight(), 1U);
  connection.finish();
  node.executor().run();
  EXPECT_EQ(connection.in_flight(), 1U);
  connection.finish(Failure(errc::revoked, "gone"));
  node.executor().run();
  EXPECT_EQ(connection.in_flight(), 0U);
  EXPECT_EQ(root.take(), (Texts{"done", "revoked", "not_executed"}));
}

TEST(Sequence, StartsNothingBehindAMemberThatIsRefused) {
  for (const bool pipelines : {true, false}) {
    for (const std::size_t bad : {0U, 1U, 3U, 5U}) {
      SCOPED_TRACE(testing::Message() << pipelines << " " << bad);
      Node node;
      FakeConnection& connection = opened(node);
      connection.pipelines = pipelines;
      connection.completes_inline = true;
      std::array<std::byte, 8> local{};
      const std::size_t before = connection.started_sequences().size();
      Sequence sequence;
      Texts expected;
      for (std::size_t index = 0; index < 6; ++index) {
        const Access rights = index == bad ? Access::none : Access::all;
        sequence.add(remote(node).with_rights(rights).write_from(std::span(local)));
        expected.push_back(index < bad ? "done" : index == bad ? "access_denied" : "not_executed");
      }
      EXPECT_EQ(node.run(run_all(sequence)), expected);
      EXPECT_EQ(connection.started_sequences().size() - before, bad);
    }
  }
}

TEST(Sequence, MovesToNoOtherChannelWhenItsOwnBreaks) {
  Node node;
  FakeConnection& connection = opened(node);
  std::array<std::byte, 8> local{};
  Sequence sequence;
  for (int count = 0; count < 4; ++count) {
    sequence.add(remote(node).write_from(std::span(local)));
  }
  Driven<Texts> root(node, run_all(sequence));
  connection.break_channel(Failure(errc::peer_lost, "cut"), PeerState::unknown, 1);
  node.executor().run();
  EXPECT_EQ(root.take(), (Texts{"outcome_unknown", "not_executed", "not_executed", "not_executed"}));
  EXPECT_EQ(connection.in_flight(), 0U);
}

TEST(Sequence, RefusesWhatCannotKeepItsOrderBeforeAnyTraffic) {
  Node node;
  FakeConnection& connection = opened(node);
  const std::size_t before = connection.started_sequences().size();
  std::array<std::byte, 32> local{};
  const auto part = [&](std::size_t at) { return std::span(local).subspan(at, 8); };
  Sequence forwarding;
  forwarding.add(remote(node).read_into(part(0)));
  forwarding.add(remote(node).write_from(part(8)));  // other bytes: fine
  forwarding.add(remote(node).read_into(part(16)));
  forwarding.add(remote(node).write_from(part(17)));
  EXPECT_EQ(
      refusal(node, forwarding),
      "sequence: invalid_argument: member 3 reads local memory that an earlier member writes; await that one first");
  Sequence owners;
  owners.add(remote(node).read_into(part(0)));
  owners.add(remote(node, 3).read_into(part(8)));
  EXPECT_EQ(refusal(node, owners),
            "sequence: invalid_argument: member 1 belongs to another owner than member 0; a sequence has one owner");
  Sequence empty_reference;
  empty_reference.add(BufferRef().read_into(part(0)));
  EXPECT_EQ(refusal(node, empty_reference),
            "sequence: invalid_argument: the reference of member 0 is empty (default-constructed)");
  Sequence twice;
  node.run(run_all(twice));
  EXPECT_EQ(refusal(node, twice), "sequence: invalid_argument: it was run before; make another");
  EXPECT_EQ(connection.started_sequences().size(), before);
}

TEST(Sequence, LetsAdjacentRangesAndWritesBeforeReadsPass) {
  Node node;
  FakeConnection& connection = opened(node);
  connection.completes_inline = true;
  std::array<std::byte, 32> local{};
  const auto part = [&](std::size_t at) { return std::span(local).subspan(at, 8); };
  Sequence sequence;
  sequence.add(remote(node).write_from(part(0)));
  sequence.add(remote(node).read_into(part(0)));  // written after it was read
  sequence.add(remote(node).read_into(part(16)));
  sequence.add(remote(node).write_from(part(8)));  // touches both neighbours, overlaps none
  sequence.add(remote(node).read_into(part(16)));
  sequence.add(remote(node).write_from(part(24)));
  EXPECT_EQ(node.run(run_all(sequence)), (Texts{"done", "done", "done", "done", "done", "done"}));
}

TEST(Sequence, ChecksManyThousandRangesInReasonableTime) {
  Node node;
  opened(node).completes_inline = true;
  std::vector<std::byte> local(std::size_t{1} << 20);
  Sequence sequence(20'000);
  for (std::size_t index = 0; index < 20'000; ++index) {
    const auto part = std::span(local).subspan(index * 16, 8);
    index % 2 == 0 ? sequence.add(remote(node).read_into(part)) : sequence.add(remote(node).write_from(part));
  }
  EXPECT_EQ(node.run(run_all(sequence)).size(), 20'000U);
}

// --- Races: completions on another thread against drops and limits.

using ThreadNode = test::CoreNode<test::ThreadExecutor>;

Task<void> contest(ThreadNode& node, int round) {
  std::array<std::byte, 8> local{};
  struct Body {
    static Task<void> run(ThreadNode& from, std::array<std::byte, 8>& into, int which) {
      Batch batch(3);
      for (int count = 0; count < 3; ++count) {
        batch.add(remote(from).read_into(std::span(into)));
      }
      auto run = batch.run({.timeout = Duration(which % 5 * 20'000)});
      co_await run;
    }
  };
  auto started = start(Body::run(node, local, round));
  if (round % 2 == 0) {
    co_await started;
  }
}

TEST(Races, ABatchEndsOnceWhileMembersCompleteElsewhere) {
  ThreadNode node;
  FakeConnection& connection = opened(node);
  std::atomic<bool> done{false};
  std::thread completer([&] {
    while (!done.load()) {
      connection.finish_one();
      std::this_thread::yield();
    }
  });
  for (int round = 0; round < 1'000; ++round) {
    node.run(contest(node, round));
  }
  done.store(true);
  completer.join();
  EXPECT_EQ(connection.in_flight(), 0U);
}

}  // namespace
}  // namespace ferry
