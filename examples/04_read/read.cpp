// Pass the reference, ferry the bytes: a message carries a reference to memory, and whoever has it reads the memory
// one-sided, when it likes. No code of the owner runs for it.

#include <cstddef>
#include <cstdio>
#include <numeric>
#include <span>
#include <vector>

#include <ferry/ferry.hpp>

#include "../output/output.hpp"

class Table : public ferry::Actor {
 public:
  explicit Table(ferry::ActorContext& context)
      : values_(1'000'000), buffer_(context.register_memory(std::span(values_))) {
    std::iota(values_.begin(), values_.end(), 0.0);
  }

  // A few dozen bytes: where the memory is and what may be done with it.
  ferry::BufferRef reference() { return buffer_.ref(ferry::Access::read); }

  static constexpr auto endpoints = ferry::endpoints<&Table::reference>;

 private:
  ferry::vector<double> values_;  // a std::vector in memory that other processes reach fastest; any memory works
  ferry::RDMABuffer buffer_;      // what makes it reachable; nothing is copied
};

class Reader : public ferry::Actor {
 public:
  explicit Reader(ferry::ActorContext&) {}

  // The sum of `count` values from `first` on.
  ferry::Task<double> sum(ferry::BufferRef table, std::size_t first, std::size_t count) {
    std::vector<double> values(count);
    const ferry::BufferRef part = table.subrange(first * sizeof(double), count * sizeof(double));
    co_await part.read_into(std::span(values));  // afterwards every byte is there
    co_return std::accumulate(values.begin(), values.end(), 0.0);
  }

  static constexpr auto endpoints = ferry::endpoints<&Reader::sum>;
};

int main(int argc, char** argv) {
  return printed(ferry::run(argc, argv, ferry::actors<Table, Reader>, [](ferry::Context& context) -> ferry::Task<int> {
    auto procs = co_await context.this_host().spawn_procs({{"procs", 2}});
    auto tables = co_await procs.slice("procs", 0).spawn<Table>("table");
    auto readers = co_await procs.slice("procs", 1).spawn<Reader>("reader");

    const ferry::BufferRef table = co_await tables.only().call<&Table::reference>();
    const double all = co_await readers.only().call<&Reader::sum>(table, 0, 1'000'000);
    const double few = co_await readers.only().call<&Reader::sum>(table, 999'998, 2);
    std::printf("sum of %llu bytes: %.0f\nsum of the last two values: %.0f\n",
                static_cast<unsigned long long>(table.size()), all, few);
    co_return 0;
  }));
}
