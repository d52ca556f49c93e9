// What the command lines of the programs have in common.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <ferry/sim/run.hpp>

#include "../output/output.hpp"

namespace command_line {

// For numbers without a sign, before any other check: the conversion makes 18446744073709551611 of "-5".
inline std::string refuse_sign(const std::string& given) {
  return given.starts_with('-') ? "must not be negative: " + given : std::string();
}

// --profile NAME: into `name`, which is its default.
inline void add_profile(CLI::App& app, std::string& name) {
  std::vector<std::string> names;
  for (const ferry::sim::NicProfile& profile : ferry::sim::kNicProfiles) {
    names.emplace_back(profile.name);
  }
  app.add_option("--profile", name, "what simulated NICs promise")->check(CLI::IsMember(names))->capture_default_str();
}

// The world that --transport sim runs in. profile: one that there is.
inline ferry::sim::WorldOptions world_of(std::uint64_t seed, const std::string& profile) {
  ferry::sim::WorldOptions world;
  world.seed = seed;
  world.fabric.profile = ferry::sim::nic_profile(profile);
  world.steps = 1'000'000'000;
  return world;
}

}  // namespace command_line
