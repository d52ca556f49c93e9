// survey: what each transport says when a node tries to use it on this host. For ferry-doctor.
//
// Opens each alone, on loopback and at a free port, and closes it again. Threads: starts and ends nodes of its own.
#pragma once

#include <string>
#include <vector>

#include <ferry/transport/transport.hpp>

namespace ferry::doctor {

struct Finding {
  TransportId transport{};
  bool is_usable = false;
  std::string why;                   // where it is not: what was tried, and the remedy
  Capabilities capabilities{};       // where it is
  std::vector<std::string> remarks;  // what works worse than it could, with the remedy
};

// shm, verbs, tcp.
std::vector<Finding> survey();

// What "auto" takes here, in its order: "local", "shm", ….
std::vector<std::string> automatic_order();

}  // namespace ferry::doctor
