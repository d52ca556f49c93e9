// What small operations on memory of ferry::allocate cost besides time, through the public API on real executor
// threads: no system call, no allocation, no suspension.
#include <array>

#include <ferry/base/block_on.hpp>
#include <ferry/base/sleep.hpp>
#include <ferry/buffer/allocator.hpp>
#include <ferry/buffer/buffer_ref.hpp>
#include <ferry/buffer/rdma_buffer.hpp>
#include <ferry/system/system_executor.hpp>

#include <allocation_counter.hpp>

#include "system_call_counter.hpp"
#include "test_node.hpp"

namespace ferry::shm {
namespace {

using namespace testing;

// A node as programs have it: shared memory alone, on the real executor.
class Node {
 public:
  Node() : executor_(system::SystemExecutor::create({.threads = 2}).value()) {
    core_ = std::make_unique<NodeCore>(*executor_, log_, unique_id(), "test", test_secret(), NodeLimits{});
    auto transport = ShmTransport::create(*core_, *executor_).value();
    core_->set_shared_memory(transport->shared_memory());
    core_->add_transport(std::move(transport));
    core_->set_sink(sink_);
    core_->peers().set_events(events_);
    EXPECT_TRUE(core_->transports().front()->listen());
  }
  ~Node() {
    core_->shut_down();
    core_.reset();
    executor_.reset();
  }
  NodeCore& core() { return *core_; }

  template <class T>
  T run(Task<T> task) {
    return block_on(*executor_, core_.get(), std::move(task));
  }

 private:
  CollectingLog log_;
  EchoSink sink_;
  RecordingEvents events_;
  std::unique_ptr<system::SystemExecutor> executor_;
  std::unique_ptr<NodeCore> core_;
};

// An await that counts whether it suspends.
template <class A>
struct Counted {
  A inner;
  std::uint64_t& suspensions;

  bool await_ready() { return inner.await_ready(); }
  bool await_suspend(std::coroutine_handle<> handle) {
    ++suspensions;
    return inner.await_suspend(handle);
  }
  auto await_resume() { return inner.await_resume(); }
};
template <class A>
Counted<A> counted(A awaitable, std::uint64_t& suspensions) {
  return {std::move(awaitable), suspensions};
}

struct Costs {
  bool watched = false;
  std::uint64_t operations = 0;
  std::uint64_t system_calls = 0;
  std::uint64_t allocations = 0;
  std::uint64_t suspensions = 0;
};

constexpr std::uint64_t kRounds = 100'000;

Task<Costs> measure(BufferRef words, BufferRef block, SystemCallCounter& counter) {
  std::array<std::uint64_t, 1> word{};
  std::array<std::byte, 4096> bytes{};
  Costs costs;
  std::uint64_t warm = 0;
  for (int round = 0; round < 100; ++round) {  // the segment is mapped, this thread has its reader word
    auto read = counted(words.read_into(std::span(word)), warm);
    co_await read;
    auto write = counted(words.write_from(std::span<const std::uint64_t>(word)), warm);
    co_await write;
  }
  costs.watched = counter.watch_this_thread();
  const std::uint64_t calls_before = counter.count();
  const std::uint64_t allocations_before = test::allocations_of_thread();
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    auto write = counted(words.write_from(std::span<const std::uint64_t>(word)), costs.suspensions);
    co_await write;
    auto read = counted(words.read_into(std::span(word)), costs.suspensions);
    co_await read;
    auto add = counted(words.fetch_add(1), costs.suspensions);
    static_cast<void>(co_await add);
    auto whole = counted(block.read_into(std::span(bytes)), costs.suspensions);
    co_await whole;
    costs.operations += 4;
  }
  costs.system_calls = counter.count() - calls_before;
  costs.allocations = test::allocations_of_thread() - allocations_before;
  co_return costs;
}

TEST(Costs, SmallOperationsMakeNoSystemCallAndNoAllocationAndDoNotSuspend) {
  SystemCallCounter counter;  // ends after the threads that it watches
  Node owner;
  Costs costs;
  {
    Node reader;
    vector<std::uint64_t> words(1, 0, Allocator<std::uint64_t>(owner.core().shared_memory()));
    vector<std::byte> block(4096, std::byte{1}, Allocator<std::byte>(owner.core().shared_memory()));
    const RDMABuffer word_buffer = register_memory(owner.core(), std::span(words));
    const RDMABuffer block_buffer = register_memory(owner.core(), std::span(block));
    const auto carry = [&](const BufferRef& ref) {
      const wire::Bytes bytes = encode_reference(ref);
      return decode_reference(reader.core(), {bytes.data(), bytes.size()}).value();
    };
    costs = reader.run(measure(carry(word_buffer.ref()), carry(block_buffer.ref()), counter));
  }
  if (!costs.watched) {
    GTEST_SKIP() << "the kernel does not let a thread be watched (seccomp user notification)";
  }
  EXPECT_EQ(costs.operations, 4 * kRounds);
  EXPECT_EQ(costs.system_calls, 0U);
  EXPECT_EQ(costs.allocations, 0U);
  EXPECT_EQ(costs.suspensions, 0U) << "nothing else was ready to run";
}

// What the counters would see if there were anything.
TEST(Costs, CanaryTheCountersCount) {
  SystemCallCounter counter;
  std::uint64_t calls = 0;
  std::uint64_t made = 0;
  bool watched = false;
  std::thread([&] {
    watched = counter.watch_this_thread();
    const std::uint64_t before = counter.count();
    for (int call = 0; call < 5; ++call) {
      ::syscall(SYS_getppid);
    }
    calls = counter.count() - before;
    const std::uint64_t allocations_before = test::allocations_of_thread();
    void* const memory = ::operator new(100);  // called by name: a new-expression may be left out
    made = test::allocations_of_thread() - allocations_before;
    ::operator delete(memory);
  }).join();
  if (!watched) {
    GTEST_SKIP() << "the kernel does not let a thread be watched (seccomp user notification)";
  }
  EXPECT_EQ(calls, 5U);
  EXPECT_EQ(made, 1U);
  std::uint64_t suspensions = 0;
  Node node;
  node.run([](std::uint64_t& count) -> Task<void> {
    auto nap = counted(sleep_for(std::chrono::microseconds(1)), count);
    co_await nap;
  }(suspensions));
  EXPECT_EQ(suspensions, 1U);
}

}  // namespace
}  // namespace ferry::shm
