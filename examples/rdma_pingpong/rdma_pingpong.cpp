// rdma_pingpong: latency and bandwidth of one-sided operations and calls between two processes. See README.md.

#include <ferry/ferry.hpp>

#include "responder.hpp"
#include "session.hpp"
#include "settings.hpp"

int main(int argc, char** argv) {
  rdma_pingpong::Settings settings;
  if (const auto status = rdma_pingpong::parse(argc, argv, settings)) {
    return *status;
  }
  ferry::NodeOptions options;
  options.transports = settings.transport;
  options.secret_file = settings.secret_file;
  if (settings.server) {
    options.host = settings.host;
    options.port = settings.port;
    options.name = "server";
  }
  const auto program = [&settings](ferry::Context& context) -> ferry::Task<int> {
    return settings.server ? rdma_pingpong::serve(context) : rdma_pingpong::measure_all(context, settings);
  };
  return ferry::run(options, ferry::actors<rdma_pingpong::Responder>, program);
}
