// FaultPlan: faults at one moment: when a time has come, or once a condition has held.
//
//   world.at(3s).crash(world.host(1)).heal();
//   world.when([=](const View& view) { return view.peek(server) != nullptr; }).pause(*world.processes()[1]);
//
// Each verb is what OngoingFaults has by that name, carried out in a step of its own, in the order written. A fault of
// a process that has ended by then does nothing, but for restart. Making a failure small leaves out faults that begin
// here (parts.hpp), and none that end one. A value; used where World::at or when returned it.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include <ferry/sim/ids.hpp>
#include <ferry/sim/ongoing_faults.hpp>

namespace ferry::sim {

class FaultPlan {
 public:
  // arrange: has its argument called at the moment. strike: what begins then, in words; empty: a fault ends.
  using Arrange = std::function<void(std::function<void()> what, std::string_view strike)>;
  FaultPlan(OngoingFaults& faults, Arrange arrange) : faults_(&faults), arrange_(std::move(arrange)) {}

  const FaultPlan& crash(Host host) const;
  const FaultPlan& crash(Process& process) const;
  const FaultPlan& restart(Host host) const;
  const FaultPlan& restart(Process& process) const;
  const FaultPlan& pause(Host host) const;
  const FaultPlan& pause(Process& process) const;
  const FaultPlan& resume(Host host) const;
  const FaultPlan& resume(Process& process) const;
  const FaultPlan& set_drift(Process& process, std::int64_t millionths) const;
  const FaultPlan& refuse_spawns(Host host, std::uint64_t count) const;
  const FaultPlan& refuse_registrations(Process& process, std::uint64_t count) const;
  const FaultPlan& cut(const Process& from, const Process& to) const;
  const FaultPlan& mend(const Process& from, const Process& to) const;
  const FaultPlan& partition(Host a, Host b) const;
  const FaultPlan& mend(Host a, Host b) const;
  const FaultPlan& hold(const Process& from, const Process& to) const;
  const FaultPlan& release(const Process& from, const Process& to) const;
  const FaultPlan& set_network(const Network::Rates& rates) const;
  const FaultPlan& heal() const;

 private:
  OngoingFaults* faults_;
  Arrange arrange_;
};

}  // namespace ferry::sim
