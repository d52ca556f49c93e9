// Atomics on 8-byte words of another's memory: executed exactly once, among all processes and its own std::atomic_ref.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <set>
#include <span>
#include <vector>

#include <ferry/ferry.hpp>

#include "../output/output.hpp"

class Office : public ferry::Actor {
 public:
  explicit Office(ferry::ActorContext& context) : words_(2), buffer_(context.register_memory(std::span(words_))) {}

  ferry::BufferRef words() { return buffer_.ref(ferry::Access::atomic); }

  static constexpr auto endpoints = ferry::endpoints<&Office::words>;

 private:
  ferry::vector<std::uint64_t> words_;  // the next ticket; who leads, 0 for nobody
  ferry::RDMABuffer buffer_;
};

class Client : public ferry::Actor {
 public:
  explicit Client(ferry::ActorContext&) {}

  ferry::Task<std::vector<std::uint64_t>> draw(ferry::BufferRef words, std::size_t count) {
    std::vector<std::uint64_t> tickets(count);
    for (std::uint64_t& ticket : tickets) {
      ticket = co_await words.fetch_add(1);  // the old value: nobody else gets the same
    }
    co_return tickets;
  }
  // True for the one whose compare_swap finds the 0.
  ferry::Task<bool> lead(ferry::BufferRef words) {
    co_return co_await words.compare_swap(0, 1, {.offset = sizeof(std::uint64_t)}) == 0;
  }

  static constexpr auto endpoints = ferry::endpoints<&Client::draw, &Client::lead>;
};

int main(int argc, char** argv) {
  return printed(ferry::run(argc, argv, ferry::actors<Office, Client>, [](ferry::Context& context) -> ferry::Task<int> {
    auto offices = co_await context.this_proc().spawn<Office>("office");
    auto procs = co_await context.this_host().spawn_procs({{"clients", 3}});
    auto clients = co_await procs.spawn<Client>("client");
    const ferry::BufferRef words = co_await offices.only().call<&Office::words>();
    const auto drawn = co_await clients.call<&Client::draw>(words, 1000);
    const auto leads = co_await clients.call<&Client::lead>(words);
    std::set<std::uint64_t> tickets;
    for (const auto& some : drawn) {
      tickets.insert(some.begin(), some.end());
    }
    std::printf("%zu different tickets, %d leader\n", tickets.size(), leads[0] + leads[1] + leads[2]);
    co_return 0;
  }));
}
