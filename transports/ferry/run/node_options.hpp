// NodeOptions: what a user may set for a node of a real program. Everything has a default that suits one host.
#pragma once

#include <cstdint>
#include <string>

#include <ferry/transport/node_core.hpp>
#include <ferry/verbs/options.hpp>

namespace ferry {

struct NodeOptions {
  // "auto": the fastest that works for each peer; or a list in order of preference, of "shm", "verbs" and "tcp".
  std::string transports = "auto";

  // Where tcp listens, and, at a port of its own, what sets up the queue pairs of verbs: a numeric address or a name;
  // loopback unless asked. Port 0: any free one.
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;

  // Which RDMA device verbs uses, and how.
  verbs::VerbsOptions verbs{};

  // Threads that run actors, at most limits::kExecutorThreads; 0: min(4, cores).
  unsigned threads = 0;

  // No threads at all: everything happens inside Node::poll(), which a foreign event loop calls when Node::fd() is
  // readable. In between nobody's access to this node's memory is served and no heartbeat leaves, so a loop that stays
  // away for as long as NodeLimits::failure_detection is taken for dead by peers on other hosts.
  bool driven_from_outside = false;

  // For people, in logs and errors.
  std::string name = "root";

  // The job secret as 64 hexadecimal digits in a file that only its owner can read; empty: a new job. Nodes of the same
  // secret trust each other.
  std::string secret_file{};

  NodeLimits limits{};
};

}  // namespace ferry
