// Operations that end without suspending must neither grow the stack nor starve what else is ready.
#include <atomic>
#include <vector>

#include "scenario.hpp"

namespace ferry::conformance {
namespace {

FERRY_CONFORMANCE(Inline);

std::size_t many_awaits(const Cluster& cluster) {
  const Traits& traits = cluster.traits();
  return !traits.threads ? 2'000 : traits.completes_inline ? 1'000'000 : repetitions(20'000);
}

Task<std::uint64_t> add_once(BufferRef word) {
  co_return co_await word.fetch_add(1);
}

Task<void> awaits_in_a_row(Cluster& cluster) {
  const std::size_t count = many_awaits(cluster);
  Shared<std::uint64_t> owner(cluster, 1, 2);
  const BufferRef word = owner.ref(cluster, 0).subrange(0, 8);
  std::array<std::uint64_t, 1> local{};
  for (std::size_t round = 0; round < count; ++round) {
    co_await word.read_into(std::span(local));
  }
  for (std::size_t round = 0; round < count / 10; ++round) {  // through a task of its own each
    auto once = add_once(word);
    co_await once;
  }
  EXPECT_EQ(owner.values[0], count / 10);
}
TEST_P(Inline, AwaitsInARowNeedNoStack) {
  play(awaits_in_a_row, {.seeds = 2});
}

// Reads until the flag is set, which only another task of the same strand does.
Task<std::size_t> read_until(const std::atomic<bool>& flag, BufferRef word) {
  std::array<std::uint64_t, 1> local{};
  std::size_t reads = 0;
  for (; !flag; ++reads) {
    co_await word.read_into(std::span(local));
  }
  co_return reads;
}

Task<void> set_later(std::atomic<bool>& flag) {
  for (int step = 0; step < 5; ++step) {
    auto nap = sleep_for(std::chrono::milliseconds(1));
    co_await nap;
  }
  flag = true;
}

Task<void> timers_of_the_same_strand(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 1);
  std::atomic<bool> flag{false};
  auto later = start(set_later(flag));
  auto reading = read_until(flag, owner.ref(cluster, 0));
  const std::size_t reads = co_await reading;
  co_await later;
  EXPECT_GT(reads, 0U);
}
TEST_P(Inline, TimersOfTheSameActorAreNotStarvedByOperationsThatNeverSuspend) {
  play(timers_of_the_same_strand, {.seeds = 4});
}

// More tasks than threads, none of which ever ends by itself: all must go forward.
Task<void> read_and_count(BufferRef word, std::atomic<std::size_t>& mine, const std::atomic<bool>& over) {
  std::array<std::uint64_t, 1> local{};
  while (!over.load(std::memory_order_relaxed)) {
    co_await word.read_into(std::span(local));
    mine.fetch_add(1, std::memory_order_relaxed);
  }
}

Task<void> many_strands(Cluster& cluster) {
  constexpr std::size_t kTasks = 8;
  Shared<std::uint64_t> owner(cluster, 1, 1);
  std::array<std::atomic<std::size_t>, kTasks> counts{};
  std::atomic<bool> over{false};
  std::vector<Running<void>> tasks;
  for (std::size_t index = 0; index < kTasks; ++index) {
    tasks.push_back(start(cluster.on(0, read_and_count(owner.ref(cluster, 0), counts[index], over))));
  }
  const auto all_moved = [&] {
    return std::ranges::all_of(counts, [](const auto& count) { return count.load() >= 200; });
  };
  while (!all_moved()) {
    co_await between_looks(cluster);
  }
  over.store(true);
  for (Running<void>& task : tasks) {
    co_await task;
  }
}
TEST_P(Inline, MoreBusyTasksThanThreadsAllGoForward) {
  play(many_strands, {.seeds = 2});
}

}  // namespace
}  // namespace ferry::conformance
