// What operations and calls between two nodes cost besides time, exactly: system calls and allocations. ci/bench
// measures the time of the same loops.
#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ferry/ferry.hpp>

#include <allocation_counter.hpp>

#include "counted.hpp"
#include "job_secret.hpp"

namespace ferry::run_tests {
namespace {

constexpr std::uint64_t kOperations = 1000;

class Echo : public Actor {
 public:
  explicit Echo(ActorContext&) {}
  std::uint64_t echo(std::uint64_t value) { return value; }
  std::uint64_t length(const std::string& text) { return text.size(); }
  static constexpr auto endpoints = ferry::endpoints<&Echo::echo, &Echo::length>;
};

// Memory of ferry::allocate: only actors and tasks of a node get it.
class Owner : public Actor {
 public:
  explicit Owner(ActorContext& context) : buffer_(context.register_memory(std::span(words_))) {}
  BufferRef words() { return buffer_.ref(); }
  static constexpr auto endpoints = ferry::endpoints<&Owner::words>;

 private:
  ferry::vector<std::uint64_t> words_ = ferry::vector<std::uint64_t>(std::size_t{1} << 14);
  RDMABuffer buffer_;
};

NodeOptions options_of(const SecretFile& secret, const char* transports) {
  NodeOptions options;
  options.transports = transports;
  options.secret_file = secret.path();
  options.threads = 1;
  options.limits.heartbeat = std::chrono::hours(1);  // no other traffic
  options.limits.failure_detection = std::chrono::hours(10);
  return options;
}

// Two nodes of this process, each with threads of its own; the second has only what a process of its own would have.
class Costs : public ::testing::TestWithParam<const char*> {
 protected:
  Costs() : owner_(options_of(secret_, GetParam()), actors<Owner, Echo>), user_(options_of(secret_, GetParam())) {
    card_ = owner_.context().register_memory(std::span(card_word_));
    card_ref_ = BufferRef::from_text(user_.context(), card_.ref().to_text());
  }

  BufferRef shared_words() {
    const std::string text = owner_.block_on(make_words(owner_.context()));
    return BufferRef::from_text(user_.context(), text);
  }
  ActorRef<Echo> echo() {
    const ActorId id = owner_.block_on(make_echo(owner_.context()));
    return ActorRef<Echo>(ActorAddress{card_ref_.peer(), id});
  }
  Node& user() { return user_; }
  const BufferRef& other_word() const { return card_ref_; }  // in no shared segment

 private:
  static Task<std::string> make_words(Context context) {
    auto owners = co_await context.this_proc().spawn<Owner>("");
    const BufferRef words = co_await owners.only().call<&Owner::words>();
    co_return words.to_text();
  }
  static Task<ActorId> make_echo(Context context) {
    auto echoes = co_await context.this_proc().spawn<Echo>("");
    co_return echoes.only().id();
  }

  SecretFile secret_;
  std::array<std::uint64_t, 1> card_word_{};
  Node owner_;
  Node user_;
  RDMABuffer card_;
  BufferRef card_ref_;
};

class CostsOverSharedMemory : public Costs {};
class CostsOverAny : public Costs {};
INSTANTIATE_TEST_SUITE_P(Over, CostsOverSharedMemory, ::testing::Values("shm"));
INSTANTIATE_TEST_SUITE_P(Over, CostsOverAny, ::testing::Values("shm", "tcp"),
                         [](const auto& tested) { return std::string(tested.param); });

struct Cost {
  long system_call = -1;  // the first one
  std::uint64_t allocations = 0;
};

enum class Kind { read, write, add };

Task<void> repeat(Kind kind, BufferRef ref, std::span<std::byte> local, std::uint64_t count) {
  for (std::uint64_t index = 0; index < count; ++index) {
    if (kind == Kind::read) {
      co_await ref.read_into(local);
    } else if (kind == Kind::write) {
      co_await ref.write_from(local);
    } else {
      static_cast<void>(co_await ref.fetch_add(1));
    }
  }
}

// The loop stays on one thread: nothing else waits for it, so nothing suspends.
Task<Cost> cost_of(Kind kind, BufferRef ref, std::span<std::byte> local) {
  auto first = repeat(kind, ref, local, 2);  // maps what must be mapped
  co_await first;
  auto rest = repeat(kind, ref, local, kOperations);
  Cost cost;
  const std::uint64_t before = test::allocations_of_thread();
  {
    const SystemCallTrap trap;
    co_await rest;
    cost.system_call = trap.first();
  }
  cost.allocations = test::allocations_of_thread() - before;
  co_return cost;
}

TEST(SystemCallTrap, NoticesASystemCall) {
  if (!SystemCallTrap::is_supported()) {
    GTEST_SKIP() << "the kernel has no Syscall User Dispatch";
  }
  const SystemCallTrap trap;
  EXPECT_GT(::getppid(), 0);
  EXPECT_NE(trap.first(), -1);
}

TEST_P(CostsOverSharedMemory, OperationsInPlaceMakeNoSystemCallAndAllocateNothing) {
  if (!SystemCallTrap::is_supported()) {
    GTEST_SKIP() << "the kernel has no Syscall User Dispatch";
  }
  const BufferRef words = shared_words();
  std::vector<std::byte> memory(words.size());
  for (const std::size_t size : {std::size_t{8}, std::size_t{4096}, std::size_t{65536}}) {
    const auto local = std::span(memory).first(size);
    for (const Kind kind : {Kind::read, Kind::write, Kind::add}) {
      const Cost cost = user().block_on(cost_of(kind, words.subrange(0, size), local));
      EXPECT_EQ(cost.system_call, -1) << size << " bytes, kind " << static_cast<int>(kind);
      EXPECT_EQ(cost.allocations, 0U) << size << " bytes, kind " << static_cast<int>(kind);
    }
  }
}

Task<std::uint64_t> allocations_of_calls(ActorRef<Echo> echo, std::uint64_t count) {
  const std::uint64_t before = test::allocations();
  for (std::uint64_t index = 0; index < count; ++index) {
    co_await echo.call<&Echo::echo>(index);
  }
  co_return test::allocations() - before;
}

Task<std::uint64_t> allocations_of_long_calls(ActorRef<Echo> echo, std::uint64_t count) {
  const std::string text(2 * wire::Bytes::kInside, 'x');
  const std::uint64_t before = test::allocations();
  for (std::uint64_t index = 0; index < count; ++index) {
    static_cast<void>(co_await echo.call<&Echo::length>(text));
  }
  co_return test::allocations() - before;
}

// Both ends are in this process. Now and then something beside a call allocates: a timer's queue, a table that grows.
TEST_P(CostsOverAny, SmallCallsOneAfterTheOtherAllocateNothing) {
  const ActorRef<Echo> callee = echo();
  user().block_on(allocations_of_calls(callee, kOperations));
  EXPECT_LT(user().block_on(allocations_of_calls(callee, kOperations)), kOperations / 20);
  // What does not fit into a message is counted: at least the message at either end.
  EXPECT_GE(user().block_on(allocations_of_long_calls(callee, kOperations)), 2 * kOperations);
}

Task<std::uint64_t> allocations_of_batch(BufferRef word, std::span<std::uint64_t> local) {
  Batch batch(local.size());
  const std::uint64_t before = test::allocations();
  for (std::uint64_t& target : local) {
    batch.add(word.read_into(std::span(&target, 1)));
  }
  auto running = batch.run();
  const Outcomes outcomes = co_await running;
  outcomes.throw_if_failed();
  co_return test::allocations() - before;
}

// A round with more in flight at once than any before it makes more records, which are kept; so one of them makes none.
TEST_P(CostsOverAny, MembersOfAReservedBatchAllocateNothing) {
  constexpr std::size_t kMembers = 10'000;
  constexpr int kRounds = 30;
  std::vector<std::uint64_t> local(kMembers);
  std::uint64_t least = UINT64_MAX;
  user().block_on(allocations_of_batch(other_word(), local));
  for (int round = 0; round < kRounds && least > kMembers / 1000; ++round) {
    least = std::min(least, user().block_on(allocations_of_batch(other_word(), local)));
  }
  EXPECT_LE(least, kMembers / 1000) << "of " << kMembers << " members";
}

}  // namespace
}  // namespace ferry::run_tests
