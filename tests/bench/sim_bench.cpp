// What a step of the simulator costs: one process reads a word of another again and again, hashes on.
#include <array>
#include <cstdint>
#include <memory>

#include <benchmark/benchmark.h>

#include <ferry/actor/actor.hpp>
#include <ferry/sim/run.hpp>

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

// items: steps.
void steps(benchmark::State& state) {
  constexpr int kReads = 10'000;
  std::uint64_t done = 0;
  for (auto _ : state) {
    const ferry::sim::Report report =
        ferry::sim::run({.seed = 1}, ferry::actors<Owner>,
                        [](ferry::Context& context) -> ferry::Task<int> { return read_many(context, kReads); });
    if (report.status != 0) {
      state.SkipWithError(report.result.to_text().c_str());
      return;
    }
    done += report.result.steps;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(done));
}
BENCHMARK(steps)->Unit(benchmark::kMillisecond);

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
