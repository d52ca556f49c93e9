// States as flat byte strings: equal states have equal strings, and different ones different strings.
#pragma once

#include <string>
#include <string_view>

#include <ferry/sim/litmus/program.hpp>
#include <ferry/sim/litmus/state.hpp>

namespace ferry::sim::litmus {

// Replaces the contents of `bytes`. A state of a test within limits.hpp takes less than kMaxEncodedState bytes.
void encode(const Program& program, const State& state, std::string& bytes);

// The inverse, for bytes that encode() made of a state of this program.
void decode(const Program& program, std::string_view bytes, State& state);

}  // namespace ferry::sim::litmus
