// What the command lines of the programs have in common.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <ferry/sim/run.hpp>

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

// The exit status: 1, with a line, if what was printed has not arrived (a full disk, a closed descriptor).
inline int finish(std::string_view program, int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) {
    return status;
  }
  fmt::print(stderr, "{}: the output could not be written: {}\n", program, std::strerror(errno));
  return 1;
}

}  // namespace command_line
