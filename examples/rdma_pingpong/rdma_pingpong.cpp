// rdma_pingpong: latency and bandwidth of one-sided operations and calls between two processes. See README.md.

#include <fmt/format.h>

#include <ferry/ferry.hpp>
#include <ferry/sim/run.hpp>

#include "../command_line/check_determinism.hpp"
#include "../command_line/command_line.hpp"
#include "responder.hpp"
#include "session.hpp"
#include "settings.hpp"

int main(int argc, char** argv) {
  rdma_pingpong::Settings settings;
  if (const auto status = rdma_pingpong::parse(argc, argv, settings)) {
    return *status;
  }
  const auto classes = ferry::actors<rdma_pingpong::Responder>;
  const auto program = [&settings](ferry::Context& context) -> ferry::Task<int> {
    return settings.server ? rdma_pingpong::serve(context) : rdma_pingpong::measure_all(context, settings);
  };
  if (settings.check_determinism) {
    return printed(
        command_line::report_determinism(command_line::world_of(settings.seed, settings.profile), classes, program));
  }
  if (settings.transport == "sim") {
    const ferry::sim::WorldOptions world = command_line::world_of(settings.seed, settings.profile);
    const ferry::sim::Report report = ferry::sim::run(world, classes, program);
    if (report.result.outcome != ferry::sim::Outcome::passed) {
      fmt::print(stderr, "rdma_pingpong: {}\n", report.result.to_text());
      return 1;
    }
    return printed(report.status);
  }
  ferry::NodeOptions options;
  options.transports = settings.transport;
  options.secret_file = settings.secret_file;
  if (settings.server) {
    options.host = settings.host;
    options.port = settings.port;
    options.name = "server";
  }
  return printed(ferry::run(options, classes, program));
}
