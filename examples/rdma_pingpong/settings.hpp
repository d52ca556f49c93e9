// Settings: what the command line says, checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workload.hpp"

namespace rdma_pingpong {

struct Settings {
  std::string transport = "auto";
  Op op = Op::read;
  std::uint64_t size = 8;
  std::uint64_t depth = 1;
  std::optional<std::uint64_t> iterations{};
  std::optional<std::uint64_t> warmup{};
  bool verify = false;
  bool json = false;
  bool sweep = false;
  std::string svg;      // file; empty: none
  std::string connect;  // the reference that a server printed; empty: no server
  bool server = false;
  std::string host;  // where a server listens
  std::uint16_t port = 0;
  std::string secret_file;
  std::uint64_t seed = 1;            // sim
  std::string profile = "portable";  // of the simulated NICs
  bool check_determinism = false;

  // What is to be measured, one after the other.
  std::vector<Workload> workloads() const;
};

// Fills in the settings. An exit code if the program has nothing more to do: 0 after --help, 2 for wrong usage and for
// what this build cannot do, with the reason on stderr.
std::optional<int> parse(int argc, char** argv, Settings& settings);

}  // namespace rdma_pingpong
