// What goes wrong in a simulated training run, and when.
#pragma once

#include <cstdint>

#include <ferry/sim/world.hpp>

#include "server.hpp"
#include "settings.hpp"

namespace parameter_server {

// Strikes workers eight times, each time after another ninth of the `steps` that the server is to add in all.
void strike_workers(ferry::sim::World& world, const Settings& settings, ferry::ActorRef<ParameterServer> server,
                    std::uint64_t steps);

}  // namespace parameter_server
