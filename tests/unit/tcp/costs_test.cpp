// What an operation costs, counted: system calls and allocations. Both nodes take their turns on the test's thread.
#include <limits>

#include <allocation_counter.hpp>

#include "tcp_node.hpp"

namespace ferry::tcp::test {
namespace {

struct Counts {
  std::uint64_t sends = 0;
  std::uint64_t receives = 0;
  std::uint64_t empty_receives = 0;
};

class TcpCosts : public testing::Test {
 protected:
  static NodeLimits limits() {
    NodeLimits limits = test_limits();
    limits.heartbeat = 1h;  // no other traffic
    limits.failure_detection = 10h;
    return limits;
  }
  void SetUp() override {
    auto call = Call::make(OperationKind::read, region, local);
    call->single.length = 8;
    run(*call);
  }
  // Starts the operation and gives both sides turns until it is complete.
  void run(Operation& operation) {
    done = false;
    operation.starter = &done;
    operation.on_complete = [](Operation& ended) noexcept { *static_cast<bool*>(ended.starter) = true; };
    done = peer.start(operation) == Started::complete;
    while (!done) {
      owner_loop.step();
      initiator_loop.step();
    }
    ASSERT_FALSE(operation.failure) << operation.failure.to_text();
  }
  static Counts counts(const TestNode& node) {
    const Stats& stats = node.tcp->stats();
    return {stats.sends, stats.receives, stats.empty_receives};
  }

  TestLoop initiator_loop;
  TestLoop owner_loop;
  TestNode initiator{initiator_loop, {.id = 1, .limits = limits()}};
  TestNode owner{owner_loop, {.id = 2, .limits = limits()}};
  Peer& peer = initiator.peer(owner);
  std::vector<std::byte> remote = std::vector<std::byte>(1 << 20);
  std::vector<std::byte> local = std::vector<std::byte>(1 << 20);
  RemoteRegion region = owner.reference(owner.add(remote));
  bool done = false;
};

TEST_F(TcpCosts, SmallOperationIsOneSendAndOneReceiveOnEachSide) {
  for (const OperationKind kind : {OperationKind::read, OperationKind::write, OperationKind::fetch_add}) {
    const Counts before = counts(initiator);
    const Counts owner_before = counts(owner);
    constexpr std::uint64_t kRounds = 100;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      Operation operation;
      operation.kind = kind;
      operation.region = region;
      operation.single = Chunk{0, local.data(), 8};
      run(operation);
    }
    const Counts after = counts(initiator);
    const Counts owner_after = counts(owner);
    EXPECT_EQ(after.sends - before.sends, kRounds);
    EXPECT_EQ(after.receives - before.receives, kRounds);
    EXPECT_EQ(owner_after.sends - owner_before.sends, kRounds);
    EXPECT_EQ(owner_after.receives - owner_before.receives, kRounds);
  }
}

TEST_F(TcpCosts, ChunkListIsOneRequest) {
  std::vector<Chunk> chunks;
  for (std::size_t index = 0; index < kRanges; ++index) {
    chunks.push_back({index * 1000, local.data() + index * 100, 100});
  }
  const Counts before = counts(initiator);
  Operation operation;
  operation.region = region;
  operation.list = chunks;
  run(operation);
  EXPECT_EQ(counts(initiator).sends - before.sends, 1u);
  EXPECT_EQ(counts(initiator).receives - before.receives, 1u);
}

TEST_F(TcpCosts, OperationsStartedTogetherShareTheOwnersSystemCalls) {
  const Counts before = counts(owner);
  constexpr std::size_t kCount = 50;
  std::vector<std::unique_ptr<Call>> calls;
  for (std::size_t index = 0; index < kCount; ++index) {
    calls.push_back(read(peer, region, std::span(local).subspan(index * 8, 8)));
  }
  while (calls.back()->completions() == 0) {
    owner_loop.step();
    initiator_loop.step();
  }
  EXPECT_LE(counts(owner).sends - before.sends, 2u);
  EXPECT_LE(counts(owner).receives - before.receives, 2u);
}

TEST_F(TcpCosts, PiecesOfALongOperationShareSystemCalls) {
  for (const OperationKind kind : {OperationKind::read, OperationKind::write}) {
    const TestNode& sender = kind == OperationKind::read ? owner : initiator;
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (int round = 0; round < 20; ++round) {  // a young connection takes less at once
      const Counts before = counts(sender);
      Operation operation;
      operation.kind = kind;
      operation.region = region;
      operation.single = Chunk{0, local.data(), local.size()};
      run(operation);
      least = std::min(least, counts(sender).sends - before.sends);
    }
    EXPECT_EQ(least, 4u) << to_string(kind);
  }
}

TEST_F(TcpCosts, SteadyPathAllocatesNothing) {
  const auto round = [&] {
    for (const OperationKind kind : {OperationKind::read, OperationKind::write, OperationKind::fetch_add}) {
      for (const std::size_t size : {std::size_t{8}, std::size_t{4096}}) {
        Operation operation;
        operation.kind = kind;
        operation.region = region;
        operation.single = Chunk{0, local.data(), is_atomic(kind) ? 8 : size};
        run(operation);
      }
    }
    Operation operation;
    operation.kind = OperationKind::write;
    operation.completion = Completion::transmitted;
    operation.region = region;
    operation.single = Chunk{0, local.data(), 64};
    run(operation);
  };
  // The harness's own loop copies a list in each step: what it takes is measured without operations.
  for (int warm = 0; warm < 20; ++warm) {
    round();
  }
  std::uint64_t harness = 0;
  std::uint64_t steps = 0;
  const auto step_alone = [&] {
    const std::uint64_t before = ferry::test::allocations();
    owner_loop.step();
    initiator_loop.step();
    harness += ferry::test::allocations() - before;
    ++steps;
  };
  for (int index = 0; index < 100; ++index) {
    step_alone();
  }
  ASSERT_EQ(harness % steps, 0u);
  const std::uint64_t per_step = harness / steps;
  const std::uint64_t before = ferry::test::allocations();
  std::uint64_t turns = 0;
  for (int index = 0; index < 100; ++index) {
    Operation operation;
    operation.kind = index % 3 == 0 ? OperationKind::read : index % 3 == 1 ? OperationKind::write : OperationKind::swap;
    operation.region = region;
    operation.single = Chunk{0, local.data(), 8};
    done = false;
    operation.starter = &done;
    operation.on_complete = [](Operation& ended) noexcept { *static_cast<bool*>(ended.starter) = true; };
    done = peer.start(operation) == Started::complete;
    while (!done) {
      owner_loop.step();
      initiator_loop.step();
      ++turns;
    }
  }
  EXPECT_EQ(ferry::test::allocations() - before, turns * per_step);
}

}  // namespace
}  // namespace ferry::tcp::test
