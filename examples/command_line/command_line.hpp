// What the command lines of the programs have in common.
#pragma once

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

#include <ferry/sim/run.hpp>

#include "../output/output.hpp"

namespace command_line {

// For numbers without a sign, before any other check: the conversion makes 18446744073709551611 of "-5".
inline std::string refuse_sign(const std::string& given) {
  return given.starts_with('-') ? "must not be negative: " + given : std::string();
}

// The world that --transport sim runs in.
inline ferry::sim::WorldOptions world_of(std::uint64_t seed) {
  ferry::sim::WorldOptions world;
  world.seed = seed;
  world.steps = 1'000'000'000;
  return world;
}

}  // namespace command_line
