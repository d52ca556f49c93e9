#include <atomic>
#include <vector>

#include <ferry/buffer/batch.hpp>

#include "patterns.hpp"
#include "scenario.hpp"

namespace ferry::conformance {
namespace {

FERRY_CONFORMANCE(Isolation);

// The owner's own traffic the other way, all the while.
Task<std::size_t> opposite_traffic(BufferRef memory, std::size_t size, const std::atomic<bool>& over) {
  std::vector<std::byte> local(size);
  std::size_t rounds = 0;
  for (; !over.load() || rounds == 0; ++rounds) {
    co_await memory.read_into(std::span(local));  // throws if it notices anything
    EXPECT_TRUE(is_pattern(local, 9));
  }
  co_return rounds;
}

// Eight reads under way, the third through a reference that is no good.
Task<void> one_of_eight(Cluster& cluster, BufferRef good, BufferRef bad, errc expected, std::size_t size) {
  std::vector<std::vector<std::byte>> locals(8, std::vector<std::byte>(size));
  std::vector<Running<Failure>> reads;
  for (std::size_t index = 0; index < 8; ++index) {
    reads.push_back(start(failure_of((index == 2 ? bad : good).read_into(std::span(locals[index])))));
  }
  for (std::size_t index = 0; index < 8; ++index) {
    const Failure failure = co_await reads[index];
    if (index == 2) {
      EXPECT_TRUE(failure && failure.code() == expected) << (failure ? failure.to_text() : "it was executed");
    } else {
      EXPECT_FALSE(failure) << "read " << index << ": " << failure.to_text();
      EXPECT_TRUE(is_pattern(locals[index], 8));
    }
  }
  for (int round = 0; round < (cluster.traits().threads ? 100 : 10); ++round) {
    std::ranges::fill(locals[0], std::byte{0});
    co_await good.read_into(std::span(locals[0]));
    EXPECT_TRUE(is_pattern(locals[0], 8));
  }
}

Task<void> refused_alone(Cluster& cluster) {
  const std::size_t size = cluster.traits().threads ? 100'000 : 9'000;
  Shared<std::byte> owner(cluster, 1, size);
  Shared<std::byte> gone(cluster, 1, size);
  Shared<std::byte> own(cluster, 0, size);
  fill_pattern(owner.values, 8);
  fill_pattern(own.values, 9);
  const BufferRef good = owner.ref(cluster, 0);
  const BufferRef revoked = gone.ref(cluster, 0);
  auto revoking = cluster.on(1, gone.buffer.revoke());
  co_await revoking;
  std::atomic<bool> over{false};
  auto opposite = start(cluster.on(1, opposite_traffic(own.ref(cluster, 1), size, over)));
  auto first = one_of_eight(cluster, good, revoked, errc::revoked, size);
  co_await first;
  auto second = one_of_eight(cluster, good, good.with_rights(Access::write), errc::access_denied, size);
  co_await second;
  over.store(true);
  const std::size_t rounds = co_await opposite;
  EXPECT_GT(rounds, 0U);
}
TEST_P(Isolation, RefusedOperationFailsAloneAndNobodyElseNotices) {
  play(refused_alone);
}

// The same with writes and atomics, each of which must have been executed once.
Task<void> executed_once(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 16);
  Shared<std::uint64_t> gone(cluster, 1, 1);
  const BufferRef ref = owner.ref(cluster, 0);
  const BufferRef stale = gone.ref(cluster, 0);
  auto revoking = cluster.on(1, gone.buffer.revoke());
  co_await revoking;
  const int rounds = cluster.traits().threads ? 100 : 10;
  for (int round = 0; round < rounds; ++round) {
    Batch batch(17);
    for (std::uint64_t index = 0; index < 16; ++index) {
      if (index == 5) {
        batch.add(stale.fetch_add(1));
      }
      batch.add(ref.fetch_add(1, {.offset = index * 8}));
    }
    const Outcomes outcomes = co_await batch.run();
    EXPECT_EQ(outcomes.first_failure(), 5U);
    for (std::size_t index = 0; index < 17; ++index) {
      const auto outcome = outcomes[index];
      if (index != 5) {
        EXPECT_TRUE(outcome && *outcome == static_cast<std::uint64_t>(round)) << "member " << index;
      }
    }
  }
  for (const std::uint64_t value : owner.values) {
    EXPECT_EQ(value, static_cast<std::uint64_t>(rounds));
  }
}
TEST_P(Isolation, EverythingAroundARefusedOperationIsExecutedExactlyOnce) {
  play(executed_once);
}

}  // namespace
}  // namespace ferry::conformance
