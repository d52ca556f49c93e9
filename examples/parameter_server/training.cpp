#include "training.hpp"

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <ferry/ferry.hpp>
#include <ferry/sim/run.hpp>

#include "../command_line/check_determinism.hpp"
#include "../command_line/command_line.hpp"
#include "cluster.hpp"
#include "faults.hpp"

namespace parameter_server {
namespace {

void print_bar(std::uint32_t epoch, std::uint64_t done, std::uint64_t of) {
  constexpr std::uint64_t kWidth = 40;
  const std::uint64_t filled = of == 0 ? kWidth : done * kWidth / of;
  fmt::print("\repoch {:3} [{:#<{}}{:.<{}}] {}/{} steps", epoch, "", filled, "", kWidth - filled, done, of);
  std::fflush(stdout);
}

// Draws the bar until all workers have ended their epoch.
ferry::Task<void> watch(ferry::ActorRef<ParameterServer> server, std::uint32_t epoch, std::uint64_t steps) {
  for (std::uint64_t done = 0; done < steps;) {
    done = co_await server.call<&ParameterServer::steps>() - (epoch - 1) * steps;
    print_bar(epoch, done, steps);
    auto nap = ferry::sleep_for(std::chrono::milliseconds(100));
    co_await nap;
  }
}

double seconds_between(ferry::TimePoint from, ferry::TimePoint to) {
  return std::chrono::duration<double>(to - from).count();
}

// world: what it runs in, if that is simulated.
ferry::Task<int> train(ferry::Context context, Settings settings, ferry::sim::World* world) {
  const ferry::Executor& clock = context.node().executor();
  const ferry::TimePoint start = clock.now();
  auto starting = Cluster::start(context, settings);
  const std::unique_ptr<Cluster> cluster = co_await starting;
  fmt::print("{} workers and a server, each a {} of its own; weights and steps move one-sided over {}\n",
             settings.workers, world != nullptr ? "simulated process" : "process", cluster->transport());
  fmt::print("{:>5}  {:>8}  {:>8}  {:>14}  {:>14}  {:>9}\n", "epoch", "loss", "accuracy", "one-sided B", "messages B",
             "GB/s");

  if (world != nullptr && !settings.faults.is_empty()) {
    strike_workers(*world, settings, cluster->server(), settings.epochs * cluster->steps_per_epoch());
  }
  std::uint64_t moved = 0;
  std::uint64_t control = 0;
  double accuracy = 0;
  for (std::uint32_t epoch = 1; epoch <= settings.epochs; ++epoch) {
    const ferry::TimePoint begin = clock.now();
    std::vector<ferry::Running<void>> watching;
    if (settings.progress_bar && !settings.suppress_pushes) {
      watching.push_back(ferry::start(watch(cluster->server(), epoch, cluster->steps_per_epoch())));
    }
    auto training = cluster->train(epoch);
    const EpochReport report = co_await training;
    watching.clear();
    const double seconds = seconds_between(begin, clock.now());
    const Progress progress = co_await cluster->server().call<&ParameterServer::progress>();
    auto counting = cluster->message_bytes();
    const std::uint64_t message_bytes = co_await counting;
    fmt::print("{}{:>5}  {:>8.4f}  {:>8.4f}  {:>14}  {:>14}  {:>9.4f}\n", settings.progress_bar ? "\r\033[K" : "",
               epoch, progress.held_out.loss, progress.held_out.accuracy, report.one_sided_bytes,
               message_bytes - control, static_cast<double>(report.one_sided_bytes) / seconds / 1e9);
    std::fflush(stdout);
    moved += report.one_sided_bytes;
    control = message_bytes;
    accuracy = progress.held_out.accuracy;
  }

  auto finishing = cluster->finish(settings.epochs);
  const std::string wrong = co_await finishing;
  if (!wrong.empty() && world != nullptr) {
    world->fail(wrong);
    co_return 1;
  }
  if (!wrong.empty()) {
    fmt::print(stderr, "FAILED {}\n", wrong);
    co_return 1;
  }
  if (cluster->replaced() > 0) {
    fmt::print("{} lost and replaced\n",
               cluster->replaced() == 1 ? "1 worker was" : fmt::format("{} workers were", cluster->replaced()));
  }
  fmt::print("OK accuracy={:.3f} transport={} moved={} control={} seconds={:.2f}", accuracy, cluster->transport(),
             moved, control, seconds_between(start, clock.now()));
  co_return 0;
}

int simulate(const Settings& settings) {
  ferry::sim::WorldOptions options = command_line::world_of(settings.seed, settings.profile);
  const auto program = [&settings](ferry::sim::World& world, ferry::Context& context) -> ferry::Task<int> {
    return train(context, settings, &world);
  };
  if (settings.check_determinism) {
    return command_line::report_determinism(options, ferry::actors<ParameterServer, Worker>, program);
  }
  const ferry::sim::Report report = ferry::sim::run(options, ferry::actors<ParameterServer, Worker>, program);
  if (report.result.outcome != ferry::sim::Outcome::passed) {
    fmt::print(stderr, "FAILED {}\n", report.result.to_text());
    return 1;
  }
  if (report.status == 0) {
    fmt::print(" hash={:#018x}\n", report.result.hash);
  }
  return report.status;
}

}  // namespace

int run(const Settings& settings) {
  if (settings.transport == "sim") {
    return simulate(settings);
  }
  const auto program = [&settings](ferry::Context& context) -> ferry::Task<int> {
    return train(context, settings, nullptr);
  };
  ferry::NodeOptions options;
  options.transports = settings.transport;
  const int status = ferry::run(options, ferry::actors<ParameterServer, Worker>, program);
  fmt::print("{}", status == 0 ? "\n" : "");
  return status;
}

}  // namespace parameter_server
