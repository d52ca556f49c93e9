#include "faults.hpp"

#include <chrono>
#include <memory>
#include <vector>

#include <ferry/base/random.hpp>

namespace parameter_server {
namespace {

using ferry::sim::Fault;
using ferry::sim::Process;
using ferry::sim::World;

constexpr std::uint64_t kStrikes = 8;
constexpr std::size_t kServer = 1;  // process 0 is the root; the workers are behind the server
constexpr std::uint64_t kLossOneIn = 200;

std::vector<Process*> living_workers(const World& world) {
  std::vector<Process*> workers;
  for (std::size_t index = kServer + 1; index < world.processes().size(); ++index) {
    if (world.processes()[index]->is_alive()) {
      workers.push_back(world.processes()[index].get());
    }
  }
  return workers;
}

void cut_off(World& world, const Process& worker, ferry::Duration lasts) {
  const Process& server = *world.processes()[kServer];
  world.faults().cut(worker, server);
  world.faults().cut(server, worker);
  world.at(world.now().time_since_epoch() + lasts).mend(worker, server).mend(server, worker);
}

void strike(World& world, ferry::sim::Faults faults, ferry::Random& random) {
  const std::vector<Process*> workers = living_workers(world);
  if (workers.empty()) {
    return;
  }
  if (faults.has(Fault::partition)) {
    const Process& worker = *workers[random.below(workers.size())];
    cut_off(world, worker, std::chrono::microseconds(100 + random.below(10'000)));
  }
  if (faults.has(Fault::crash)) {
    world.faults().crash(*workers[random.below(workers.size())]);
  }
}

}  // namespace

void strike_workers(World& world, const Settings& settings, ferry::ActorRef<ParameterServer> server,
                    std::uint64_t steps) {
  auto random = std::make_shared<ferry::Random>(ferry::mix64(settings.seed));
  for (std::uint64_t count = 1; count <= kStrikes; ++count) {
    const std::uint64_t after = steps * count / (kStrikes + 1);
    const auto is_time = [server, after](const ferry::sim::View& view) {
      const ParameterServer* seen = view.peek(server);
      return seen != nullptr && seen->steps() >= after;
    };
    world.when(is_time, [&world, random, faults = settings.faults] { strike(world, faults, *random); });
  }
  if (settings.faults.has(Fault::loss)) {
    world.faults().set_network({.drop = kLossOneIn});
  }
}

}  // namespace parameter_server
