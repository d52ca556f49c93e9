// What a step of the simulator costs, hashes on, beside what any event loop would: one process reads a word of another
// again and again.
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include <benchmark/benchmark.h>

#include <ferry/actor/actor.hpp>
#include <ferry/base/random.hpp>
#include <ferry/sim/run.hpp>
#include <ferry/sim/trace.hpp>

namespace {

class Owner final : public ferry::Actor {
 public:
  explicit Owner(ferry::ActorContext& context) : buffer_(context.register_memory(std::span(words_))) {}
  ferry::BufferRef words() { return buffer_.ref(); }
  static constexpr auto endpoints = ferry::endpoints<&Owner::words>;

 private:
  std::array<std::uint64_t, 1> words_{};
  ferry::RDMABuffer buffer_;
};

ferry::Task<int> read_many(ferry::Context context, int times) {
  auto procs = co_await context.this_host().spawn_procs({{"owner", 1}});
  auto owner = co_await procs.spawn<Owner>("owner");
  ferry::BufferRef words = co_await owner.only().call<&Owner::words>();
  std::array<std::uint64_t, 1> local{};
  for (int i = 0; i < times; ++i) {
    co_await words.read_into(std::span(local));
  }
  co_return 0;
}

// The least that a step of any such loop does: the earliest of some events leaves a heap, 64 bytes are written, a hash
// goes on, and the event comes back later. items: steps.
void event_loop_floor(benchmark::State& state) {
  struct Event {
    std::uint64_t due;
    std::uint32_t place;
    bool operator>(const Event& other) const noexcept { return due > other.due; }
  };
  constexpr std::uint32_t kEvents = 16;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  std::array<std::array<std::uint64_t, 8>, kEvents> memory{};
  for (std::uint32_t place = 0; place < kEvents; ++place) {
    events.push({place, place});
  }
  std::uint64_t hash = 0;
  std::uint64_t done = 0;
  for (auto _ : state) {
    Event event = events.top();
    events.pop();
    memory[event.place].fill(event.due);
    hash = ferry::mix64(hash ^ event.due);
    event.due += 1 + hash % 64;
    events.push(event);
    ++done;
  }
  benchmark::DoNotOptimize(memory);
  benchmark::DoNotOptimize(hash);
  state.SetItemsProcessed(static_cast<std::int64_t>(done));
}
BENCHMARK(event_loop_floor);

// items: steps.
void count_steps(benchmark::State& state, ferry::sim::Trace* trace) {
  constexpr int kReads = 10'000;
  std::uint64_t done = 0;
  for (auto _ : state) {
    const ferry::sim::Report report =
        ferry::sim::run({.seed = 1, .trace = trace}, ferry::actors<Owner>,
                        [](ferry::Context& context) -> ferry::Task<int> { return read_many(context, kReads); });
    if (report.status != 0) {
      state.SkipWithError(report.result.to_text().c_str());
      return;
    }
    done += report.result.steps;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(done));
}
void steps(benchmark::State& state) {
  count_steps(state, nullptr);
}
BENCHMARK(steps)->Unit(benchmark::kMillisecond);

void steps_with_trace(benchmark::State& state) {
  ferry::sim::Trace trace;
  count_steps(state, &trace);
}
BENCHMARK(steps_with_trace)->Unit(benchmark::kMillisecond);

// items: whole worlds, of the smallest program.
void small_worlds(benchmark::State& state) {
  std::uint64_t seed = 0;
  for (auto _ : state) {
    const ferry::sim::Report report =
        ferry::sim::run({.seed = ++seed}, ferry::actors<Owner>,
                        [](ferry::Context& context) -> ferry::Task<int> { return read_many(context, 1); });
    benchmark::DoNotOptimize(report.result.hash);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(seed));
}
BENCHMARK(small_worlds)->Unit(benchmark::kMicrosecond);

}  // namespace
