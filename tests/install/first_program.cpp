#include <ferry/ferry.hpp>

class ParameterServer : public ferry::Actor {
 public:
  explicit ParameterServer(ferry::ActorContext& context, std::size_t count)
      : weights_(count), buffer_(context.register_memory(std::span(weights_))) {}

  ferry::BufferRef get_weights() { return buffer_.ref(); }          // a few dozen bytes go back

  static constexpr auto endpoints = ferry::endpoints<&ParameterServer::get_weights>;

 private:
  ferry::vector<float> weights_;                                    // std::vector in memory that peers reach fastest; any memory works
  ferry::RDMABuffer buffer_;                                        // a view: nothing is copied
};

class Worker : public ferry::Actor {
 public:
  explicit Worker(ferry::ActorContext&) {}
  ferry::Task<void> sync_weights(ferry::ActorRef<ParameterServer> server) {
    ferry::BufferRef weights = co_await server.call<&ParameterServer::get_weights>();   // control plane: small
    co_await weights.read_into(std::span(local_));                                      // data plane: one-sided
  }
  static constexpr auto endpoints = ferry::endpoints<&Worker::sync_weights>;

 private:
  std::vector<float> local_ = std::vector<float>(1'000'000);
};

int main(int argc, char** argv) {
  return ferry::run(argc, argv, ferry::actors<ParameterServer, Worker>, [](ferry::Context& context) -> ferry::Task<int> {
    auto servers = co_await context.this_host().spawn_procs({{"gpus", 1}});
    auto workers = co_await context.this_host().spawn_procs({{"gpus", 4}});
    auto server = co_await servers.spawn<ParameterServer>("server", 1'000'000);
    auto mesh = co_await workers.spawn<Worker>("worker");
    co_await mesh.call<&Worker::sync_weights>(server.only());
    co_return 0;
  });
}
