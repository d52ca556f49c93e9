// NodeRuns: one node's share of many runs of a litmus program: its memory, its litmus threads, each a thread of the
// operating system, and its keeper, which resets memory before a batch and gathers outcomes behind it.
//
// All nodes of a program run at once, in as many processes, and meet at the board. Owner: the node's process. The
// memory, queues and board outlive it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include <ferry/base/result.hpp>
#include <ferry/litmus_run/litmus_thread.hpp>

namespace ferry::litmus_run {

// What runs of one program ended in.
struct Sightings {
  std::map<std::vector<litmus::Value>, std::uint64_t> outcomes;  // locations, then registers; and how often
  std::uint64_t stuck = 0;                                       // runs that ended in none
};

struct RunOrder {
  std::uint64_t runs = 0;
  std::uint64_t seed = 0;
  std::uint32_t jitter = 6;         // see ThreadPlace
  std::uint32_t wait_limit_ms = 0;  // see ThreadPlace
};

class NodeRuns {
 public:
  // queues: by QueueIndex, null where another node posts. memory: layout.bytes() at a cache line's start.
  NodeRuns(const litmus::Program& program, litmus::NodeIndex node, const Layout& layout, Board& board,
           std::byte* memory, std::vector<std::unique_ptr<RealQueue>> queues);

  // Blocks until all runs have ended. The first node sees the outcomes of all; the others see none. A failure of this
  // node's; the board is then given up. A node that ends because of another's failure says shut_down.
  Result<Sightings> run(const RunOrder& order);

 private:
  void reset(std::size_t slot);
  void show_memory(std::size_t slots);
  void gather(std::size_t slots, Sightings& sightings);

  std::atomic_ref<litmus::Value> word(std::size_t slot, litmus::LocationIndex location) const;

  const litmus::Program& program_;
  const litmus::NodeIndex node_;
  const Layout layout_;
  Board& board_;
  std::byte* const memory_;
  std::vector<std::unique_ptr<RealQueue>> queues_;
};

}  // namespace ferry::litmus_run
