// run_program(): ferry-litmus from its settings to its exit status.
#pragma once

#include <ferry/sim/litmus/runner/real_transport.hpp>
#include <ferry/sim/litmus/runner/settings.hpp>

namespace ferry::sim::litmus::runner {

// open: for Settings::transport.
int run_program(const Settings& settings, const OpenRealTransport& open);

}  // namespace ferry::sim::litmus::runner
