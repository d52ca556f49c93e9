// The values of an execution whose conflicting accesses are all ordered.
#pragma once

#include <optional>

#include <ferry/sim/litmus/axioms/event_structure.hpp>
#include <ferry/sim/litmus/axioms/partial_order.hpp>
#include <ferry/sim/litmus/program.hpp>

namespace ferry::sim::litmus::axioms {

// Every linear extension of the order gives the same values, for only unordered accesses could tell them apart. None
// where a `wait` does not see its value.
std::optional<Outcome> outcome_of(const Program& program, const EventStructure& structure, const PartialOrder& order);

}  // namespace ferry::sim::litmus::axioms
