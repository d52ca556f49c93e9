// Ways to bring the weights from one server to many workers, and one simulated run of each.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fan_out {

enum class Way : std::uint8_t {
  star,   // every worker pulls from the server
  tree,   // every holder serves a few
  chain,  // every holder serves one
};
std::string_view to_string(Way way) noexcept;

struct Settings {
  std::uint64_t nodes = 1000;  // processes: one server, and workers
  std::uint64_t bytes = 1'000'000'000;
  std::uint64_t piece = std::uint64_t{1} << 20;
  std::uint64_t fan = 8;                        // of the tree
  std::uint64_t bytes_per_microsecond = 10000;  // of a NIC, each way
  bool is_stored = false;                       // the weights are real memory, and checked
  std::uint64_t seed = 1;
  std::string profile = "portable";  // of the NICs
  bool check_determinism = false;
};

// Whom a worker (1, 2, …) pulls from; 0: the server.
std::uint64_t source_of(Way way, std::uint64_t worker, std::uint64_t fan) noexcept;

// Seconds in which a NIC takes in the weights: no worker can have them sooner.
double limit_seconds(const Settings& settings) noexcept;

struct Outcome {
  Way way{};
  std::vector<double> seconds;  // by worker: from the beginning of the pull until it had everything
  std::uint64_t steps = 0;      // of the simulation
  std::uint64_t hash = 0;
  std::string wrong;  // what did not hold; empty: everything did
};

// One run, alone and again after another one in a heap of another shape: exit code of --check-determinism.
int check_determinism(Way way, const Settings& settings);

// progress: called now and then with the share that has arrived, 0 to 1; null: nobody is told. Does not change the run.
Outcome spread(Way way, const Settings& settings, std::function<void(double)> progress);

}  // namespace fan_out
