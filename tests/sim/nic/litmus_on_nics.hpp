// Litmus programs run on simulated NICs: each thread a process, each queue a queue pair, each instruction a step.
//
// Threads here see memory in one order (no store buffers), so the outcomes are among those of the litmus machine, not
// all of them.
#pragma once

#include <optional>

#include <ferry/sim/choices.hpp>
#include <ferry/sim/fabric_options.hpp>
#include <ferry/sim/litmus/program.hpp>

namespace ferry::sim::litmus {

// Whether the program can be laid out: the chunks of each operation lie one behind the other.
bool is_playable(const Program& program);

// One run; none if the threads did not come to their end, or an operation failed.
std::optional<Outcome> play(const Program& program, const FabricOptions& options, ChoiceSource& choices);

}  // namespace ferry::sim::litmus
