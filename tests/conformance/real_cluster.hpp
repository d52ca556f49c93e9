// RealKind: clusters of NodeStacks in this process, on threads and real time, over the transports that a function adds.
//
// Each node has an executor of its own, so that nodes depend on each other no more than processes do.
#pragma once

#include <string>
#include <string_view>

#include <ferry/system/system_executor.hpp>

#include "scenario.hpp"

namespace ferry::conformance {

// Adds the node's transports, in order of preference, before it starts.
struct NodePlace {
  std::size_t node = 0;
  NodeCore& core;
  system::SystemExecutor& executor;
  const std::vector<Address>& former;  // where its former life listened; empty for the first
};
using AddTransports = void (*)(const NodePlace& place);
using BusyRevocations = std::uint64_t (*)(NodeCore& node);

class RealKind final : public ClusterKind {
 public:
  // heap: memory() of its clusters is ordinary memory, whatever the transports offer.
  // busy: see Cluster::busy_revocations; null for none.
  RealKind(std::string_view name, const Traits& traits, AddTransports add, bool heap = false,
           BusyRevocations busy = nullptr) noexcept
      : name_(name), traits_(traits), add_(add), heap_(heap), busy_(busy) {}

  std::string_view name() const noexcept override { return name_; }
  const Traits& traits() const noexcept override { return traits_; }
  void play(Scenario scenario, const ScenarioOptions& options) const override;

 private:
  std::string_view name_;
  Traits traits_;
  AddTransports add_;
  bool heap_;
  BusyRevocations busy_;
};

}  // namespace ferry::conformance
