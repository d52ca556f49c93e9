// Arrangement: for every queue, the orders that an execution chooses and that no value depends on: how operations of
// several threads came into the list, in which order immediates set out, who polled first.
#pragma once

#include <functional>
#include <vector>

#include <ferry/sim/litmus/axioms/event_structure.hpp>
#include <ferry/sim/litmus/program.hpp>

namespace ferry::sim::litmus::axioms {

struct QueueArrangement {
  std::vector<OperationIndex> posted;      // in posting order
  std::vector<OperationIndex> immediates;  // in the order in which they set out
  std::vector<EventIndex> polls;           // in the order in which they run
  std::vector<EventIndex> receive_polls;
};

using Arrangement = std::vector<QueueArrangement>;  // by QueueIndex

// Calls visit with every arrangement that keeps the order of each thread; stops when it returns false.
void for_each_arrangement(const Program& program, const EventStructure& structure,
                          const std::function<bool(const Arrangement&)>& visit);

}  // namespace ferry::sim::litmus::axioms
