// The training run: the root's part of the program.
#pragma once

#include <cstdint>
#include <string>

namespace parameter_server {

struct Settings {
  std::uint32_t workers = 4;
  std::uint32_t epochs = 10;
  std::string data;                 // the CSV file
  std::uint64_t training_rows = 0;  // of it; the root alone needs it
  std::string transport = "auto";
  std::uint64_t seed = 1;
  bool suppress_pushes = false;
  bool progress_bar = false;
};

// Runs on the transport of the settings. 0: trained and everything held; 1: failed, with one line on stderr.
int run(const Settings& settings);

}  // namespace parameter_server
