// The same actors and the same callable run in the simulator: processes, network and clock are simulated inside this
// one process, and a seed decides everything that happens. So an interleaving that goes wrong can be run again.

#include <cstdint>
#include <cstdio>
#include <span>

#include <ferry/ferry.hpp>
#include <ferry/sim/run.hpp>

#include "../output/output.hpp"

class Counter : public ferry::Actor {
 public:
  explicit Counter(ferry::ActorContext& context) : words_(1), buffer_(context.register_memory(std::span(words_))) {}

  ferry::BufferRef word() { return buffer_.ref(); }

  static constexpr auto endpoints = ferry::endpoints<&Counter::word>;

 private:
  ferry::vector<std::uint64_t> words_;
  ferry::RDMABuffer buffer_;
};

class Client : public ferry::Actor {
 public:
  explicit Client(ferry::ActorContext&) {}

  ferry::Task<void> count(ferry::BufferRef word, std::uint32_t times) {
    for (; times > 0; --times) {
      co_await word.fetch_add(1);
    }
  }

  static constexpr auto endpoints = ferry::endpoints<&Client::count>;
};

// 0 if no addition was lost.
ferry::Task<int> program(ferry::Context& context) {
  auto counters = co_await context.this_proc().spawn<Counter>("counter");
  auto procs = co_await context.this_host().spawn_procs({{"clients", 3}});
  auto clients = co_await procs.spawn<Client>("client");
  const ferry::BufferRef word = co_await counters.only().call<&Counter::word>();
  co_await clients.call<&Client::count>(word, 20);
  const std::uint64_t total = co_await word.fetch_add(0);
  co_return total == 60 ? 0 : 1;
}

int main() {
  const auto actors = ferry::actors<Counter, Client>;
  int failed = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {  // each another order of everything
    failed += ferry::sim::run({.seed = seed}, actors, program).status == 0 ? 0 : 1;
  }
  const auto once = ferry::sim::run({.seed = 7}, actors, program).result;
  const auto again = ferry::sim::run({.seed = 7}, actors, program).result;
  std::printf("20 seeds, %d failed\nseed 7 twice: %s\n", failed, once.hash == again.hash ? "the same" : "different");
  return printed(failed == 0 ? 0 : 1);
}
