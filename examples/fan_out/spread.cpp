#include "spread.hpp"

#include <array>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include <ferry/ferry.hpp>
#include <ferry/sim/run.hpp>

#include "../command_line/check_determinism.hpp"
#include "holder.hpp"

namespace fan_out {
namespace {

using ferry::sim::View;
using ferry::sim::World;

constexpr std::uint64_t kStepsPerLook = 1U << 17;  // of the simulation, between two looks at the progress

// Of things that can happen at once, the seed says which comes first. Nothing is late: a message takes the plain time,
// as the ways are compared, and not how they bear a noisy network.
class SteadyNetwork final : public ferry::sim::ChoiceSource {
 public:
  explicit SteadyNetwork(std::uint64_t seed) noexcept : seeded_(seed) {}
  std::uint64_t choose(const ferry::sim::Question& question) noexcept override {
    return question.kind == ferry::sim::ChoiceKind::next ? seeded_.choose(question) : 0;
  }

 private:
  ferry::sim::SeededChoices seeded_;
};

ferry::sim::WorldOptions world_of(const Settings& settings) {
  ferry::sim::WorldOptions options;
  options.seed = settings.seed;
  options.fabric.profile = ferry::sim::nic_profile(settings.profile);
  options.steps = 1'000'000'000;
  options.fabric.mtu = std::size_t{1} << 20;
  options.fabric.bytes_per_microsecond = settings.bytes_per_microsecond;
  // Nothing gets lost here: an answer that is late waits behind those for other workers, and need not be asked for
  // again.
  options.fabric.acknowledgement = std::chrono::hours(1);
  if (!settings.is_stored) {
    options.fabric.ghost = ghost_memory();
  }
  return options;
}

// Looks on, between the steps of the world.
void watch(World& world, ferry::ActorMesh<Holder> workers, double pieces, std::function<void(double)> progress) {
  world.always("progress", [workers, pieces, progress, steps = std::uint64_t{0}](const View& view) mutable {
    if (++steps % kStepsPerLook == 0) {
      double here = 0;
      for (const auto& worker : workers) {
        const Holder* holder = view.peek(worker);
        here += holder == nullptr ? 0 : static_cast<double>(holder->pieces());
      }
      progress(here / pieces);
    }
    return true;
  });
}

ferry::Task<void> connect(Way way, Settings settings, ferry::ActorRef<Holder> server,
                          ferry::ActorMesh<Holder> workers) {
  ferry::TaskGroup connecting;
  for (std::uint64_t worker = 1; worker <= workers.size(); ++worker) {
    const std::uint64_t source = source_of(way, worker, settings.fan);
    connecting.start(workers[worker - 1].call<&Holder::follow>(source == 0 ? server : workers[source - 1]));
  }
  co_await connecting.join();
}

ferry::Task<int> run(World& world, ferry::Context context, Settings settings, std::function<void(double)> progress,
                     Outcome& outcome) {
  HolderOptions options{settings.bytes, settings.piece, settings.is_stored, true};
  auto servers = co_await context.this_proc().spawn<Holder>("server", options);
  options.has_all = false;
  auto procs = co_await context.this_host().spawn_procs({{"workers", settings.nodes - 1}});
  auto workers = co_await procs.spawn<Holder>("worker", options);
  auto connecting = connect(outcome.way, settings, servers.only(), workers);
  co_await connecting;
  if (progress != nullptr) {
    const std::uint64_t pieces = (settings.bytes + settings.piece - 1) / settings.piece;
    watch(world, workers, static_cast<double>(pieces * workers.size()), std::move(progress));
  }

  const std::int64_t begin = context.node().executor().now().time_since_epoch().count();
  const auto pulled = co_await workers.call<&Holder::pull>();
  for (std::size_t worker = 0; worker < pulled.size(); ++worker) {
    const Pulled& one = pulled[worker];
    outcome.seconds.push_back(static_cast<double>(one.at - begin) * 1e-9);
    if (!one.is_right || one.bytes != settings.bytes) {
      outcome.wrong =
          fmt::format("{}: worker {} pulled {} of {} bytes, whose contents are {}", to_string(outcome.way), worker + 1,
                      one.bytes, settings.bytes, one.is_right ? "right" : "wrong or not all there");
    } else if (outcome.seconds.back() < limit_seconds(settings)) {
      outcome.wrong = fmt::format("{}: worker {} had everything after {} s, sooner than its NIC can",
                                  to_string(outcome.way), worker + 1, outcome.seconds.back());
    }
  }
  co_return outcome.wrong.empty() ? 0 : 1;
}

ferry::sim::Report run_world(ferry::sim::WorldOptions options, const Settings& settings,
                             const std::function<void(double)>& progress, Outcome& outcome) {
  const auto program = [&](World& world, ferry::Context& context) -> ferry::Task<int> {
    return run(world, context, settings, progress, outcome);
  };
  SteadyNetwork choices(options.seed);
  options.choices = &choices;
  return ferry::sim::run(options, ferry::actors<Holder>, program);
}

}  // namespace

std::string_view to_string(Way way) noexcept {
  constexpr std::array<std::string_view, 3> kNames{"star", "tree", "chain"};
  return kNames[static_cast<std::size_t>(way)];
}

std::uint64_t source_of(Way way, std::uint64_t worker, std::uint64_t fan) noexcept {
  switch (way) {
    case Way::star:
      return 0;
    case Way::tree:
      return (worker - 1) / fan;
    default:
      return worker - 1;
  }
}

double limit_seconds(const Settings& settings) noexcept {
  return static_cast<double>(settings.bytes) / static_cast<double>(settings.bytes_per_microsecond) * 1e-6;
}

int check_determinism(Way way, const Settings& settings) {
  return command_line::report_determinism(world_of(settings), [&](const ferry::sim::WorldOptions& world) {
    Outcome outcome{.way = way};
    return run_world(world, settings, nullptr, outcome).result;
  });
}

Outcome spread(Way way, const Settings& settings, std::function<void(double)> progress) {
  Outcome outcome{.way = way};
  const ferry::sim::Report report = run_world(world_of(settings), settings, progress, outcome);
  outcome.steps = report.result.steps;
  outcome.hash = report.result.hash;
  if (report.status != 0 && outcome.wrong.empty()) {
    outcome.wrong = report.result.to_text();
  }
  return outcome;
}

}  // namespace fan_out
