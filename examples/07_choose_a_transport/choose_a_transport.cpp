// The transport is an option, not a part of the program: "auto", or those that may be used, the most wanted first.
//
//   07_choose_a_transport shm

#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include <ferry/ferry.hpp>

#include "../output/output.hpp"

class Store : public ferry::Actor {
 public:
  explicit Store(ferry::ActorContext& context)
      : bytes_(std::size_t{1} << 20), buffer_(context.register_memory(std::span(bytes_))) {}

  ferry::BufferRef reference() { return buffer_.ref(); }

  static constexpr auto endpoints = ferry::endpoints<&Store::reference>;

 private:
  ferry::vector<std::byte> bytes_;
  ferry::RDMABuffer buffer_;
};

int main(int argc, char** argv) {
  ferry::NodeOptions options;
  options.transports = argc > 1 ? argv[1] : "tcp,shm";  // spawned processes inherit the choice

  return printed(ferry::run(options, ferry::actors<Store>, [&options](ferry::Context& context) -> ferry::Task<int> {
    auto procs = co_await context.this_host().spawn_procs({{"procs", 1}});
    auto stores = co_await procs.spawn<Store>("store");
    const ferry::BufferRef store = co_await stores.only().call<&Store::reference>();
    std::vector<std::byte> bytes(store.size());
    co_await store.read_into(std::span(bytes));

    // Each peer may be reached another way; once chosen, it stays. explain() of a peer says why.
    const std::string transport(procs.peer(0).transport_name());
    std::printf("asked for %s: %zu bytes over %s\n", options.transports.c_str(), bytes.size(), transport.c_str());
    co_return 0;
  }));
}
