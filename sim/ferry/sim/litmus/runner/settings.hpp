// The command line of ferry-litmus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ferry/sim/litmus/explorer.hpp>
#include <ferry/sim/litmus/program.hpp>
#include <ferry/sim/litmus/sampler.hpp>

namespace ferry::sim::litmus::runner {

// Exit statuses: 0 all as expected; 1 a verdict differs, or a real run shows what portable forbids; 2 wrong usage, a
// malformed file, output that could not be written, or a limit that was reached.
inline constexpr int kDiffers = 1;
inline constexpr int kFailed = 2;

struct Settings {
  std::vector<std::string> files;
  std::vector<ProfileName> profiles;
  std::optional<SamplingStrategy> strategy;  // none: exhaustive
  std::size_t runs = SampleOptions{}.runs;
  std::uint64_t seed = SampleOptions{}.seed;
  std::size_t max_states = kDefaultMaxStates;
  std::size_t max_mebibytes = kDefaultMaxBytes >> 20;
  bool outcomes = false;
  bool json = false;
  bool statistics = false;
  std::optional<std::string> explain;  // the name of a test
  std::optional<std::string> svg_directory;
  std::optional<std::string> transport;  // run for real on it
  bool forbidden = false;                // of the tests only those whose question portable forbids
};

// Fills in the settings. A status where the program ends here: after --help, or after it has said what is wrong.
std::optional<int> parse_command_line(int argc, char** argv, Settings& settings);

}  // namespace ferry::sim::litmus::runner
