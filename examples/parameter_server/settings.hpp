// Settings: what the command line says.
#pragma once

#include <cstdint>
#include <string>

#include <ferry/sim/faults.hpp>

namespace parameter_server {

struct Settings {
  std::uint32_t workers = 4;
  std::uint32_t epochs = 10;
  std::string data;                 // the CSV file
  std::uint64_t training_rows = 0;  // of it; the root alone needs it
  std::string transport = "auto";
  std::uint64_t seed = 1;
  std::string profile = "portable";  // of the simulated NICs
  ferry::sim::Faults faults{};       // that strike simulated workers: crash, partition, loss
  bool check_determinism = false;    // sim
  bool suppress_pushes = false;
  bool progress_bar = false;
};

}  // namespace parameter_server
