#include "training.hpp"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <ferry/ferry.hpp>
#include <ferry/sim/run.hpp>
#include <ferry/transport/peer.hpp>

#include "../command_line/command_line.hpp"
#include "server.hpp"
#include "worker.hpp"

namespace parameter_server {
namespace {

struct Cluster {
  ferry::ActorRef<ParameterServer> server;
  ferry::ActorMesh<Worker> workers;
  std::string transport;
};

ferry::Task<Cluster> start_cluster(ferry::Context context, Settings settings) {
  auto servers = co_await context.this_host().spawn_procs({{"server", 1}});
  auto procs = co_await context.this_host().spawn_procs({{"workers", settings.workers}});
  auto server = co_await servers.spawn<ParameterServer>("server", settings.workers, settings.data);
  const WorkerOptions common{0, settings.workers, 32, 0.5F, settings.seed, !settings.suppress_pushes, settings.data};
  auto workers = co_await procs.spawn<Worker>("worker", common);
  for (std::uint32_t worker = 0; worker < settings.workers; ++worker) {
    co_await workers[worker].call<&Worker::join>(worker, server.only());
  }
  co_return Cluster{server.only(), workers, std::string(procs.peer(0).transport_name())};
}

void print_bar(std::uint32_t epoch, std::uint64_t done, std::uint64_t of) {
  constexpr std::uint64_t kWidth = 40;
  const std::uint64_t filled = of == 0 ? kWidth : done * kWidth / of;
  fmt::print("\repoch {:3} [{:#<{}}{:.<{}}] {}/{} steps", epoch, "", filled, "", kWidth - filled, done, of);
  std::fflush(stdout);
}

// Draws the bar until all workers have ended their epoch.
ferry::Task<void> watch(ferry::ActorRef<ParameterServer> server, std::uint32_t epoch, std::uint64_t before,
                        std::uint64_t steps) {
  for (std::uint64_t done = 0; done < steps;) {
    done = co_await server.call<&ParameterServer::steps>() - before;
    print_bar(epoch, done, steps);
    auto nap = ferry::sleep_for(std::chrono::milliseconds(100));
    co_await nap;
  }
}

std::uint64_t steps_per_epoch(const Settings& settings) {
  const std::uint64_t rows = settings.training_rows;
  std::uint64_t steps = 0;
  for (std::uint32_t worker = 0; worker < settings.workers; ++worker) {
    const std::uint64_t share = rows / settings.workers + (worker < rows % settings.workers ? 1 : 0);
    steps += (share + 31) / 32;
  }
  return steps;
}

ferry::Task<Traffic> all_traffic(Cluster cluster) {
  Traffic sum = co_await cluster.server.call<&ParameterServer::traffic>();
  const auto reports = co_await cluster.workers.call<&Worker::traffic>();
  for (const Traffic& report : reports) {
    sum.messages += report.messages;
    sum.message_bytes += report.message_bytes;
    sum.heartbeat_bytes += report.heartbeat_bytes;
  }
  co_return sum;
}

// What must hold at the end; empty if it does.
ferry::Task<std::string> check(Cluster cluster, Settings settings, std::uint64_t steps) {
  const std::uint64_t applied = co_await cluster.server.call<&ParameterServer::steps>();
  if (applied != (settings.suppress_pushes ? 0 : steps)) {
    co_return fmt::format("the server added {} steps, the workers pushed {}", applied, steps);
  }
  const bool sum_is_right = co_await cluster.server.call<&ParameterServer::weights_are_the_sum_of_the_log>();
  if (!sum_is_right) {
    co_return std::string("the final weights are not the initial ones plus the logged steps");
  }
  const auto digests = co_await cluster.workers.call<&Worker::digest>();
  for (std::uint32_t worker = 0; worker < settings.workers; ++worker) {
    const std::uint64_t logged = co_await cluster.server.call<&ParameterServer::digest>(worker);
    if (logged != digests[worker]) {
      co_return fmt::format("the steps that the server logged of worker {} are not those that it pushed", worker);
    }
  }
  co_return std::string();
}

double seconds_between(ferry::TimePoint from, ferry::TimePoint to) {
  return std::chrono::duration<double>(to - from).count();
}

ferry::Task<int> train(ferry::Context context, Settings settings) {
  const ferry::Executor& clock = context.node().executor();
  const ferry::TimePoint start = clock.now();
  auto starting = start_cluster(context, settings);
  const Cluster cluster = co_await starting;
  fmt::print("{} workers and a server, each a {} of its own; weights and steps move one-sided over {}\n",
             settings.workers, cluster.transport == "sim" ? "simulated process" : "process", cluster.transport);
  fmt::print("{:>5}  {:>8}  {:>8}  {:>14}  {:>14}  {:>9}\n", "epoch", "loss", "accuracy", "one-sided B", "messages B",
             "GB/s");

  const std::uint64_t steps = steps_per_epoch(settings);
  std::uint64_t moved = 0;
  std::uint64_t control = 0;
  std::uint64_t done = 0;
  double accuracy = 0;
  for (std::uint32_t epoch = 1; epoch <= settings.epochs; ++epoch) {
    const ferry::TimePoint begin = clock.now();
    const std::uint64_t expected = settings.suppress_pushes ? 0 : done + steps;
    auto applying = ferry::start(cluster.server.call<&ParameterServer::apply>(expected));
    std::vector<ferry::Running<void>> watching;
    if (settings.progress_bar && !settings.suppress_pushes) {
      watching.push_back(ferry::start(watch(cluster.server, epoch, done, steps)));
    }
    const auto reports = co_await cluster.workers.call<&Worker::train>(epoch);
    co_await applying;
    watching.clear();
    std::uint64_t bytes = 0;
    for (const EpochReport& report : reports) {
      done += report.steps;
      bytes += report.one_sided_bytes;
    }
    const double seconds = seconds_between(begin, clock.now());
    const Progress progress = co_await cluster.server.call<&ParameterServer::progress>();
    auto counting = all_traffic(cluster);
    const Traffic traffic = co_await counting;
    fmt::print("{}{:>5}  {:>8.4f}  {:>8.4f}  {:>14}  {:>14}  {:>9.4f}\n", settings.progress_bar ? "\r\033[K" : "",
               epoch, progress.held_out.loss, progress.held_out.accuracy, bytes, traffic.message_bytes - control,
               static_cast<double>(bytes) / seconds / 1e9);
    std::fflush(stdout);
    moved += bytes;
    control = traffic.message_bytes;
    accuracy = progress.held_out.accuracy;
  }

  auto checking = check(cluster, settings, done);
  const std::string wrong = co_await checking;
  if (!wrong.empty()) {
    fmt::print(stderr, "FAILED {}\n", wrong);
    co_return 1;
  }
  fmt::print("OK accuracy={:.3f} transport={} moved={} control={} seconds={:.2f}", accuracy, cluster.transport, moved,
             control, seconds_between(start, clock.now()));
  co_return 0;
}

}  // namespace

int run(const Settings& settings) {
  const auto program = [&settings](ferry::Context& context) -> ferry::Task<int> { return train(context, settings); };
  const auto classes = ferry::actors<ParameterServer, Worker>;
  if (settings.transport == "sim") {
    const ferry::sim::Report report = ferry::sim::run(command_line::world_of(settings.seed), classes, program);
    if (report.result.outcome != ferry::sim::Outcome::passed) {
      fmt::print(stderr, "FAILED {}\n", report.result.to_text());
      return 1;
    }
    if (report.status == 0) {
      fmt::print(" hash={:#018x}\n", report.result.hash);
    }
    return report.status;
  }
  ferry::NodeOptions options;
  options.transports = settings.transport;
  const int status = ferry::run(options, classes, program);
  fmt::print("{}", status == 0 ? "\n" : "");
  return status;
}

}  // namespace parameter_server
