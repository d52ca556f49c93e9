// The parser of what stands after `ask`.
#pragma once

#include <ferry/sim/litmus/condition.hpp>
#include <ferry/sim/litmus/line_reader.hpp>
#include <ferry/sim/litmus/test_names.hpp>

namespace ferry::sim::litmus {

// Takes the rest of the line. Registers must be ones that their thread writes, so all instructions come first.
Condition parse_condition(LineReader& reader, const TestNames& names);

}  // namespace ferry::sim::litmus
