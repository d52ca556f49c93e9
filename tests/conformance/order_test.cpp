#include <atomic>
#include <vector>

#include <ferry/buffer/batch.hpp>
#include <ferry/buffer/sequence.hpp>

#include "patterns.hpp"
#include "scenario.hpp"

namespace ferry::conformance {
namespace {

FERRY_CONFORMANCE(Order);

using testing::HasSubstr;

Task<std::uint64_t> read_word(BufferRef word) {
  std::array<std::uint64_t, 1> value{};
  co_await word.read_into(std::span(value));
  co_return value[0];
}

Task<void> write_word(BufferRef word, std::uint64_t value) {
  const std::array<std::uint64_t, 1> local{value};
  co_await word.write_from(std::span(local));
}

Task<void> completion_orders(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 1);
  RDMABuffer again = cluster.context(1).register_memory(std::span(owner.values));  // another way to the same word
  const int rounds = cluster.traits().threads ? 300 : 10;
  for (int round = 1; round <= rounds; ++round) {
    const std::size_t writer = static_cast<std::size_t>(round) % 3;
    const std::size_t reader = static_cast<std::size_t>(round / 3) % 3;
    const auto value = static_cast<std::uint64_t>(round);
    auto written = cluster.on(writer, write_word(owner.ref(cluster, writer), value));
    co_await written;
    auto read = cluster.on(reader, read_word(carry(again.ref(), cluster, reader)));
    const std::uint64_t seen = co_await read;
    EXPECT_EQ(seen, value) << "node " << writer << " wrote, then node " << reader << " read";
    auto added = cluster.on(reader, write_word(carry(again.ref(), cluster, reader), value + 1'000));
    co_await added;
    const std::uint64_t old = co_await owner.ref(cluster, 0).fetch_add(0);
    EXPECT_EQ(old, value + 1'000);
  }
}
TEST_P(Order, WhatStartsAfterACompletionHappensAfterIt) {
  play(completion_orders, {.nodes = 3});
}

Task<void> large_then_small(Cluster& cluster) {
  const std::size_t size = cluster.traits().threads ? 3 * limits::kPieceBytes + 8 : 20'000;
  const int rounds = cluster.traits().threads ? 20 : 5;
  Shared<std::byte> owner(cluster, 1, size);
  const BufferRef all = owner.ref(cluster, 0);
  std::vector<std::byte> local(size);
  for (int round = 1; round <= rounds; ++round) {
    fill_pattern(local, static_cast<std::uint64_t>(round));
    co_await all.write_from(std::span(local));
    std::array<std::byte, 8> end{};
    co_await all.subrange(size - 8, 8).read_into(std::span(end));
    EXPECT_TRUE(is_pattern(end, static_cast<std::uint64_t>(round), size - 8));
    co_await all.subrange(size - 8, 8).write_from(std::span<const std::byte>(local).first(8));
    std::ranges::fill(local, std::byte{0});
    co_await all.read_into(std::span(local));
    EXPECT_TRUE(is_pattern(std::span(local).first(size - 8), static_cast<std::uint64_t>(round)));
    EXPECT_TRUE(is_pattern(std::span(local).subspan(size - 8), static_cast<std::uint64_t>(round)));
  }
}
TEST_P(Order, SmallOperationsDoNotOvertakeTheLargeOnesThatCompletedBefore) {
  play(large_then_small);
}

Task<void> unordered_each_end(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 1);
  const BufferRef word = owner.ref(cluster, 0);
  constexpr std::uint64_t kCount = 64;
  std::vector<Running<void>> writes;
  for (std::uint64_t value = 1; value <= kCount; ++value) {
    writes.push_back(start(write_word(word, value)));
  }
  for (Running<void>& write : writes) {
    co_await write;
  }
  auto read = read_word(word);
  const std::uint64_t last = co_await read;
  EXPECT_TRUE(last >= 1 && last <= kCount) << last;
}
TEST_P(Order, OperationsUnderWayTogetherHaveNoOrderButEachEnds) {
  play(unordered_each_end);
}

// The owner looks at the flag with its own loads: what was written before it must be there.
Task<std::uint64_t> watch_flag(std::span<std::uint64_t> memory, std::uint64_t rounds, Cluster& cluster) {
  std::uint64_t violations = 0;
  const std::atomic_ref<std::uint64_t> flag(memory[0]);
  for (std::uint64_t seen = 0; seen < rounds;) {
    seen = flag.load(std::memory_order_acquire);
    for (std::size_t at : {std::size_t{1}, memory.size() / 2, memory.size() - 1}) {
      const std::uint64_t data = std::atomic_ref<std::uint64_t>(memory[at]).load(std::memory_order_acquire);
      violations += data < seen ? 1U : 0U;
    }
    co_await between_looks(cluster);
  }
  co_return violations;
}

// The same through one-sided reads of another node: the flag first, then the data.
Task<std::uint64_t> watch_flag_remotely(BufferRef memory, std::uint64_t rounds) {
  std::uint64_t violations = 0;
  const std::uint64_t last = memory.size() - 8;
  for (std::uint64_t seen = 0; seen < rounds;) {
    auto flag = read_word(memory.subrange(0, 8));
    seen = co_await flag;
    for (const std::uint64_t at : {std::uint64_t{8}, last}) {
      auto data = read_word(memory.subrange(at, 8));
      const std::uint64_t value = co_await data;
      violations += value < seen ? 1U : 0U;
    }
  }
  co_return violations;
}

Task<void> write_in_sequences(BufferRef memory, std::uint64_t rounds) {
  std::vector<std::uint64_t> local(memory.size() / 8);
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    std::ranges::fill(local, round);
    const std::span<const std::uint64_t> values(local);
    const std::size_t middle = values.size() / 2;
    Sequence sequence(3);
    sequence.add(memory.subrange(8, (middle - 1) * 8).write_from(values.subspan(1, middle - 1)));
    sequence.add(memory.subrange(middle * 8, (values.size() - middle) * 8).write_from(values.subspan(middle)));
    sequence.add(memory.subrange(0, 8).write_from(values.first(1)));
    const Outcomes outcomes = co_await sequence.run();
    outcomes.throw_if_failed();
  }
}

Task<void> data_before_flag(Cluster& cluster) {
  const bool real = cluster.traits().threads;
  for (const std::size_t words : {std::size_t{4}, std::size_t{100}, std::size_t{real ? 100'000U : 2'000U}}) {
    const std::uint64_t rounds = real ? (words > 1'000 ? 40 : 300) : 10;
    Shared<std::uint64_t> owner(cluster, 1, words);
    auto local_watch = start(cluster.on(1, watch_flag(owner.values, rounds, cluster)));
    auto remote_watch = start(cluster.on(2, watch_flag_remotely(owner.ref(cluster, 2), rounds)));
    auto writing = write_in_sequences(owner.ref(cluster, 0), rounds);
    co_await writing;
    const std::uint64_t local_violations = co_await local_watch;
    const std::uint64_t remote_violations = co_await remote_watch;
    EXPECT_EQ(local_violations, 0U) << "the owner saw the flag of a round before its data, " << words << " words";
    EXPECT_EQ(remote_violations, 0U) << "another node saw the flag of a round before its data, " << words << " words";
  }
}
TEST_P(Order, MembersOfASequenceTakeEffectInOrder) {
  play(data_before_flag, {.nodes = 3, .seeds = 6});
}

// The flag first, then the data: the watchers must notice.
Task<void> write_flag_first(BufferRef memory, std::uint64_t rounds) {
  std::vector<std::uint64_t> local(memory.size() / 8);
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    std::ranges::fill(local, round);
    const std::span<const std::uint64_t> values(local);
    co_await memory.subrange(0, 8).write_from(values.first(1));
    co_await memory.subrange(8, memory.size() - 8).write_from(values.subspan(1));
  }
}
Task<void> canary_flag_first(Cluster& cluster) {
  const bool real = cluster.traits().threads;
  std::uint64_t violations = 0;
  while (violations == 0) {  // the watchdog ends it if they never do
    const std::uint64_t rounds = real ? 20 : 10;
    Shared<std::uint64_t> owner(cluster, 1, real ? 100'000 : 2'000);
    auto watching = start(cluster.on(1, watch_flag(owner.values, rounds, cluster)));
    auto writing = write_flag_first(owner.ref(cluster, 0), rounds);
    co_await writing;
    violations = co_await watching;
  }
}
TEST_P(Order, CanaryFlagsThatComeFirstAreNoticed) {
  play(canary_flag_first, {.seeds = 2});
}

Task<void> sequence_of_all_kinds(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 4);
  const BufferRef ref = owner.ref(cluster, 0);
  const std::array<std::uint64_t, 2> source{10, 20};
  std::array<std::uint64_t, 2> first{};
  std::array<std::uint64_t, 4> last{};
  Sequence sequence;
  sequence.add(ref.subrange(0, 16).write_from(std::span(source)));
  sequence.add(ref.fetch_add(1));
  sequence.add(ref.subrange(0, 16).read_into(std::span(first)));
  sequence.add(ref.swap(5, {.offset = 8}));
  sequence.add(ref.compare_swap(5, 6, {.offset = 8}));
  sequence.add(ref.subrange(16, 8).write_from(std::span(source).first(1)));
  sequence.add(ref.read_into(std::span(last)));
  const Outcomes outcomes = co_await sequence.run();
  EXPECT_TRUE(outcomes.all_succeeded());
  EXPECT_EQ(outcomes[1].value(), 10U);
  EXPECT_EQ(outcomes[3].value(), 20U);
  EXPECT_EQ(outcomes[4].value(), 5U);
  EXPECT_THAT(first, testing::ElementsAre(11, 20));
  EXPECT_THAT(last, testing::ElementsAre(11, 6, 10, 0));
}
TEST_P(Order, SequenceMixesReadsWritesAndAtomics) {
  play(sequence_of_all_kinds);
}

Task<void> sequence_is_fail_stop(Cluster& cluster) {
  const std::size_t bulk = cluster.traits().threads ? 2 * limits::kPieceBytes : 10'000;
  for (int wrong = 0; wrong < 6; ++wrong) {
    Shared<std::uint64_t> owner(cluster, 1, 6);
    Shared<std::byte> large(cluster, 1, bulk);
    Shared<std::uint64_t> gone(cluster, 1, 1);
    const BufferRef ref = owner.ref(cluster, 0);
    const BufferRef stale = gone.ref(cluster, 0);
    auto revoked = cluster.on(1, gone.buffer.revoke());
    co_await revoked;
    const std::array<std::uint64_t, 1> one{1};
    std::vector<std::byte> local(bulk, std::byte{0x66});
    Sequence sequence;
    for (int index = 0; index < 6; ++index) {
      const BufferRef word = index == wrong ? stale : ref.subrange(static_cast<std::uint64_t>(index) * 8, 8);
      if (index % 2 == 0) {
        sequence.add(word.write_from(std::span(one)));
      } else {
        sequence.add(word.fetch_add(1));
      }
    }
    sequence.add(large.ref(cluster, 0).write_from(std::span<const std::byte>(local)));
    const Outcomes outcomes = co_await sequence.run();
    EXPECT_EQ(outcomes.first_failure(), static_cast<std::size_t>(wrong));
    for (std::size_t index = 0; index < outcomes.size(); ++index) {
      const auto outcome = outcomes[index];
      const auto before = static_cast<std::size_t>(wrong);
      if (index == before) {
        EXPECT_EQ(outcome.error().code(), errc::revoked) << outcome.error().to_text();
      } else if (index > before) {
        EXPECT_EQ(outcome.error().code(), errc::not_executed) << outcome.error().to_text();
        EXPECT_EQ(outcome.error().effect(), Effect::none);
      }
      if (index < 6) {
        EXPECT_EQ(owner.values[index], index < before ? 1U : 0U)
            << "member " << index << ", member " << wrong << " bad";
      }
    }
    EXPECT_TRUE(all_are(large.values, std::byte{0})) << "a member behind the failed one was executed";
    co_await ref.subrange(0, 8).write_from(std::span(one));  // the next works
  }
}
TEST_P(Order, SequenceStopsAtItsFirstFailureAndNothingBehindItIsExecuted) {
  play(sequence_is_fail_stop, {.seeds = 4});
}

Task<void> sequence_refusals(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 2, 3);
  Shared<std::uint64_t> other(cluster, 2, 2);
  const BufferRef ref = owner.ref(cluster, 0);
  std::array<std::uint64_t, 1> local{};
  Sequence forwarding;
  forwarding.add(ref.subrange(0, 8).read_into(std::span(local)));
  forwarding.add(ref.subrange(8, 8).write_from(std::span(local)));
  const Failure failure = co_await failure_of(forwarding.run());
  EXPECT_TRUE(failure && failure.code() == errc::invalid_argument);
  EXPECT_EQ(local[0], 0U) << "a member of a refused sequence was started";
  if (cluster.traits().separate) {
    Sequence two_owners;
    two_owners.add(ref.subrange(0, 8).read_into(std::span(local)));
    two_owners.add(other.ref(cluster, 0).subrange(0, 8).read_into(std::span(local)));
    const Failure refused = co_await failure_of(two_owners.run());
    EXPECT_TRUE(refused && refused.code() == errc::invalid_argument);
    EXPECT_THAT(refused.to_text(), HasSubstr("owner"));
    EXPECT_EQ(local[0], 0U);
  }
  Sequence empty;
  const Outcomes nothing = co_await empty.run();
  EXPECT_EQ(nothing.size(), 0U);
  EXPECT_TRUE(nothing.all_succeeded());
  Sequence out_of_range;
  out_of_range.add(ref.fetch_add(1));
  out_of_range.add(ref.fetch_add(1, {.offset = 16}));
  out_of_range.add(ref.fetch_add(1));
  const Outcomes outcomes = co_await out_of_range.run();
  EXPECT_EQ(outcomes[0].value(), 3U);
  EXPECT_EQ(outcomes[1].error().code(), errc::invalid_range);
  EXPECT_EQ(outcomes[2].error().code(), errc::not_executed);
  EXPECT_EQ(owner.values[0], 4U);
}
TEST_P(Order, SequencesThatCannotKeepOrderAreRefusedBeforeAnyTraffic) {
  play(sequence_refusals, {.nodes = 3});
}

Task<void> batch_is_independent(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 8);
  Shared<std::uint64_t> other(cluster, 2, 8);
  Shared<std::uint64_t> gone(cluster, 1, 1);
  const BufferRef ref = owner.ref(cluster, 0);
  const BufferRef third = other.ref(cluster, 0);
  const BufferRef stale = gone.ref(cluster, 0);
  auto revoked = cluster.on(1, gone.buffer.revoke());
  co_await revoked;
  const std::array<std::uint64_t, 1> one{1};
  std::array<std::uint64_t, 8> local{};
  Batch batch(7);
  batch.add(ref.subrange(0, 8).write_from(std::span(one)));
  batch.add(stale.write_from(std::span(one)));
  batch.add(ref.fetch_add(2, {.offset = 8}));
  batch.add(ref.fetch_add(2, {.offset = 64}));
  batch.add(third.subrange(8, 8).write_from(std::span(one)));
  batch.add(third.with_rights(Access::write).read_into(std::span(local)));
  batch.add(third.fetch_add(5, {.offset = 16}));
  EXPECT_EQ(batch.size(), 7U);
  const Outcomes outcomes = co_await batch.run();
  EXPECT_EQ(outcomes.first_failure(), 1U);
  EXPECT_TRUE(outcomes[0]);
  EXPECT_EQ(outcomes[1].error().code(), errc::revoked);
  EXPECT_EQ(outcomes[2].value(), 0U);
  EXPECT_EQ(outcomes[3].error().code(), errc::invalid_range);
  EXPECT_TRUE(outcomes[4]);
  EXPECT_EQ(outcomes[5].error().code(), errc::access_denied);
  EXPECT_EQ(outcomes[6].value(), 0U);
  EXPECT_THROW(outcomes.throw_if_failed(), Error);
  EXPECT_EQ(owner.values[0], 1U);
  EXPECT_EQ(owner.values[1], 2U);
  EXPECT_EQ(other.values[1], 1U);
  EXPECT_EQ(other.values[2], 5U);
  Batch empty;
  const Outcomes nothing = co_await empty.run();
  EXPECT_TRUE(nothing.all_succeeded());
}
TEST_P(Order, FailedMemberOfABatchNeitherHidesNorStopsTheOthers) {
  play(batch_is_independent, {.nodes = 3});
}

Task<void> large_batch(Cluster& cluster) {
  const std::size_t count = cluster.traits().threads ? 5'000 : 200;
  Shared<std::uint64_t> owner(cluster, 1, count);
  const BufferRef ref = owner.ref(cluster, 0);
  std::vector<std::uint64_t> values(count);
  Batch writes(count);
  for (std::size_t index = 0; index < count; ++index) {
    values[index] = index + 1;
    writes.add(ref.subrange(index * 8, 8).write_from(std::span<const std::uint64_t>(values).subspan(index, 1)));
  }
  const Outcomes written = co_await writes.run();
  written.throw_if_failed();
  Batch adds(count);
  for (std::size_t index = 0; index < count; ++index) {
    adds.add(ref.fetch_add(1, {.offset = index * 8}));
  }
  const Outcomes added = co_await adds.run();
  std::size_t wrong = 0;
  for (std::size_t index = 0; index < count; ++index) {
    wrong += added[index].value() == index + 1 && owner.values[index] == index + 2 ? 0U : 1U;
  }
  EXPECT_EQ(wrong, 0U);
}
TEST_P(Order, BatchOfThousandsEndsWithEachResultInItsPlace) {
  play(large_batch, {.seeds = 4});
}

}  // namespace
}  // namespace ferry::conformance
