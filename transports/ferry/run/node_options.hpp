// NodeOptions: what a user may set for a node of a real program. Everything has a default that suits one host.
#pragma once

#include <cstdint>
#include <string>

#include <ferry/transport/node_core.hpp>

namespace ferry {

struct NodeOptions {
  // "auto": the fastest that works for each peer; or a list in order of preference, of "shm" and "tcp".
  std::string transports = "auto";

  // Where tcp listens: a numeric address or a name; loopback unless asked. Port 0: any free one.
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;

  // Threads that run actors; 0: min(4, cores).
  unsigned threads = 0;

  // For people, in logs and errors.
  std::string name = "root";

  // The job secret as 64 hexadecimal digits in a file that only its owner can read; empty: a new job. Nodes of the same
  // secret trust each other.
  std::string secret_file;

  NodeLimits limits{};
};

}  // namespace ferry
