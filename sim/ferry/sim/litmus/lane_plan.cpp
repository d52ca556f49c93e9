#include <ferry/sim/litmus/lane_plan.hpp>

#include <string>

#include <fmt/format.h>

namespace ferry::sim::litmus {
namespace {

constexpr std::size_t kLocationsShown = 24;  // characters, below the name of a memory

}  // namespace

// Queues stand between the first node's memory and the others', so that most arrows are short.
LanePlan::LanePlan(const Program& program)
    : thread(program.threads.size()), memory(program.nodes.size()), queue(program.queues.size()), program_(program) {
  for (NodeIndex node = 0; node < program.nodes.size(); ++node) {
    if (node == 0) {
      add_threads(node);
      add_memory(node);
      add_queues(node);
    } else {
      add_queues(node);
      add_memory(node);
      add_threads(node);
    }
  }
}

void LanePlan::add_threads(NodeIndex node) {
  for (ThreadIndex index = 0; index < program_.threads.size(); ++index) {
    if (program_.threads[index].node == node) {
      thread[index] = lanes_.size();
      lanes_.push_back({Lane::Kind::thread, node, program_.threads[index].name, "thread on " + program_.nodes[node]});
    }
  }
}

void LanePlan::add_memory(NodeIndex node) {
  std::string locations;
  for (const Location& location : program_.locations) {
    if (location.node == node) {
      locations += (locations.empty() ? "" : ", ") + location.name;
    }
  }
  if (locations.size() > kLocationsShown) {
    locations = locations.substr(0, kLocationsShown) + "…";
  }
  memory[node] = lanes_.size();
  lanes_.push_back({Lane::Kind::memory, node, "memory " + program_.nodes[node], locations});
}

void LanePlan::add_queues(NodeIndex node) {
  for (QueueIndex index = 0; index < program_.queues.size(); ++index) {
    const Queue& its = program_.queues[index];
    if (its.from == node) {
      queue[index] = lanes_.size();
      lanes_.push_back({Lane::Kind::queue, node, its.name,
                        fmt::format("NIC, {} to {}", program_.nodes[node], program_.nodes[its.to])});
    }
  }
}

}  // namespace ferry::sim::litmus
