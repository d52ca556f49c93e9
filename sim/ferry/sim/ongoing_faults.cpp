#include <ferry/sim/ongoing_faults.hpp>

#include <utility>

#include <fmt/format.h>

#include <ferry/sim/process.hpp>
#include <ferry/sim/sim_fabric.hpp>
#include <ferry/sim/virtual_time.hpp>
#include <ferry/sim/world.hpp>

namespace ferry::sim {

std::string describe(const Process& process) {
  return fmt::format("process {} ({})", process.number().value(), process.name());
}

OngoingFaults::OngoingFaults(World& world, std::size_t hosts) : world_(world), hosts_(hosts) {}

void OngoingFaults::check(Host host) const {
  if (host.index >= hosts_.size()) {
    throw Error(Failure(errc::invalid_argument,
                        fmt::format("host {}: the world has {}, numbered from 0", host.index, hosts_.size())));
  }
}

// In the order of their starting. The function may start others, which are not visited.
void OngoingFaults::for_each_on(Host host, const std::function<void(Process&)>& function) {
  check(host);
  for (std::size_t index = 0, count = world_.processes().size(); index < count; ++index) {
    if (Process& process = *world_.processes()[index]; process.host_in_world() == host && process.is_alive()) {
      function(process);
    }
  }
}

void OngoingFaults::tell(std::string what) {
  world_.trace(nullptr, TracedEvent::Kind::fault, what);
  if (told_.size() < kTold) {
    told_.push_back(fmt::format("{}: {}", seconds(world_.now().time_since_epoch()), what));
  }
}

void OngoingFaults::crash(Process& process) {
  if (process.is_alive()) {
    tell(describe(process) + " crashed");
    count(Fault::crash);
    process.kill();
  }
}

void OngoingFaults::crash(Host host) {
  check(host);
  HostState& state = hosts_[host.index];
  if (!std::exchange(state.is_up, false)) {
    return;
  }
  tell(fmt::format("host {} crashed", host.index));
  count(Fault::crash);
  for_each_on(host, [&state](Process& process) {
    if (process.parent() == nullptr) {
      state.to_restart.push_back(&process);
    }
    process.kill();
  });
}

Process& OngoingFaults::restart(Process& process) {
  if (process.parent() != nullptr) {
    throw Error(Failure(errc::invalid_argument,
                        describe(process) + " cannot be restarted by the world: its parent decides about it"));
  }
  crash(process);
  Process& next = world_.start(process.name(), process.entry(), process.port(), process.host_in_world());
  tell(fmt::format("{} restarted as process {}", describe(process), next.number().value()));
  return next;
}

void OngoingFaults::restart(Host host) {
  crash(host);
  HostState& state = hosts_[host.index];
  state.is_up = true;
  tell(fmt::format("host {} restarted", host.index));
  for (Process* process : std::exchange(state.to_restart, {})) {
    restart(*process);
  }
}

bool OngoingFaults::is_paused(const Process& process) const noexcept {
  return world_.scheduler().is_paused(process.number());
}

void OngoingFaults::pause(Process& process) {
  if (process.is_alive() && !is_paused(process)) {
    tell(describe(process) + " paused");
    count(Fault::pause);
    world_.scheduler().pause(process.number());
    world_.fabric().paused(process.number());
  }
}

void OngoingFaults::resume(Process& process) {
  if (process.is_alive() && is_paused(process)) {
    tell(describe(process) + " resumed");
    world_.scheduler().resume(process.number());
    world_.fabric().resumed(process.number());
  }
}

void OngoingFaults::pause(Host host) {
  for_each_on(host, [this](Process& process) { pause(process); });
}

void OngoingFaults::resume(Host host) {
  for_each_on(host, [this](Process& process) { resume(process); });
}

void OngoingFaults::set_drift(Process& process, std::int64_t millionths) {
  if (millionths < -ProcessClock::kMaxDrift || millionths > ProcessClock::kMaxDrift) {
    throw Error(Failure(errc::invalid_argument, fmt::format("a clock drifts by at most {} millionths, not {}",
                                                            ProcessClock::kMaxDrift, millionths)));
  }
  if (process.is_alive() && process.executor().clock().drift() != millionths) {
    tell(fmt::format("the clock of {} drifts by {:+} millionths", describe(process), millionths));
    count(Fault::drift);
    process.executor().set_drift(millionths);
  }
}

void OngoingFaults::refuse_spawns(Host host, std::uint64_t count) {
  check(host);
  hosts_[host.index].spawns_refused = count;
}

void OngoingFaults::refuse_registrations(Process& process, std::uint64_t count) {
  registrations_refused_[process.number()] = count;
}

Failure OngoingFaults::spawn_refusal(Host host) {
  HostState& state = hosts_[host.index];
  if (state.spawns_refused == 0 && !world_.swarm().refuses_spawn()) {
    return {};
  }
  state.spawns_refused -= state.spawns_refused > 0 ? 1 : 0;
  tell(fmt::format("host {} refused to start a process", host.index));
  count(Fault::spawn_failure);
  return Failure(errc::spawn_failed, "starting a process: Resource temporarily unavailable");
}

bool OngoingFaults::refuses_registration(const Process& process) {
  const auto found = registrations_refused_.find(process.number());
  if (found == registrations_refused_.end() || found->second == 0) {
    return false;
  }
  --found->second;
  return true;
}

void OngoingFaults::heal() {
  tell("healed");
  world_.swarm().stop();
  for (HostState& state : hosts_) {
    state.spawns_refused = 0;
  }
  registrations_refused_.clear();
  for (std::size_t index = 0; index < hosts_.size(); ++index) {
    const Host host{static_cast<std::uint32_t>(index)};
    if (!is_up(host)) {
      restart(host);
    }
    for_each_on(host, [this](Process& process) {
      resume(process);
      set_drift(process, 0);
    });
  }
  heal_network();
}

}  // namespace ferry::sim
