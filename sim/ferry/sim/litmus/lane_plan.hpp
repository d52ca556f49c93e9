// LanePlan: which columns a program's diagrams have, and where each thread, memory and queue stands.
#pragma once

#include <vector>

#include <ferry/sim/litmus/narration.hpp>

namespace ferry::sim::litmus {

class LanePlan {
 public:
  explicit LanePlan(const Program& program);

  std::vector<LaneIndex> thread;  // by ThreadIndex
  std::vector<LaneIndex> memory;  // by NodeIndex
  std::vector<LaneIndex> queue;   // by QueueIndex

  const std::vector<Lane>& all() const noexcept { return lanes_; }

 private:
  void add_threads(NodeIndex node);
  void add_memory(NodeIndex node);
  void add_queues(NodeIndex node);

  const Program& program_;
  std::vector<Lane> lanes_;
};

}  // namespace ferry::sim::litmus
