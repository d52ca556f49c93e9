#include <ferry/sim/fault_plan.hpp>

#include <fmt/format.h>

namespace ferry::sim {

const FaultPlan& FaultPlan::crash(Host host) const {
  arrange_([faults = faults_, host] { faults->crash(host); }, fmt::format("crash of host {}", host.index));
  return *this;
}

const FaultPlan& FaultPlan::crash(Process& process) const {
  arrange_([faults = faults_, &process] { faults->crash(process); }, "crash of " + describe(process));
  return *this;
}

const FaultPlan& FaultPlan::restart(Host host) const {
  arrange_([faults = faults_, host] { faults->restart(host); }, {});
  return *this;
}

const FaultPlan& FaultPlan::restart(Process& process) const {
  arrange_([faults = faults_, &process] { faults->restart(process); }, {});
  return *this;
}

const FaultPlan& FaultPlan::pause(Host host) const {
  arrange_([faults = faults_, host] { faults->pause(host); }, fmt::format("pause of host {}", host.index));
  return *this;
}

const FaultPlan& FaultPlan::pause(Process& process) const {
  arrange_([faults = faults_, &process] { faults->pause(process); }, "pause of " + describe(process));
  return *this;
}

const FaultPlan& FaultPlan::resume(Host host) const {
  arrange_([faults = faults_, host] { faults->resume(host); }, {});
  return *this;
}

const FaultPlan& FaultPlan::resume(Process& process) const {
  arrange_([faults = faults_, &process] { faults->resume(process); }, {});
  return *this;
}

const FaultPlan& FaultPlan::set_drift(Process& process, std::int64_t millionths) const {
  arrange_([faults = faults_, &process, millionths] { faults->set_drift(process, millionths); },
           "drift of the clock of " + describe(process));
  return *this;
}

const FaultPlan& FaultPlan::refuse_spawns(Host host, std::uint64_t count) const {
  arrange_([faults = faults_, host, count] { faults->refuse_spawns(host, count); },
           fmt::format("refused spawns of host {}", host.index));
  return *this;
}

const FaultPlan& FaultPlan::refuse_registrations(Process& process, std::uint64_t count) const {
  arrange_([faults = faults_, &process, count] { faults->refuse_registrations(process, count); },
           "refused registrations of " + describe(process));
  return *this;
}

const FaultPlan& FaultPlan::cut(const Process& from, const Process& to) const {
  arrange_([faults = faults_, &from, &to] { faults->cut(from, to); },
           "cut from " + describe(from) + " to " + describe(to));
  return *this;
}

const FaultPlan& FaultPlan::mend(const Process& from, const Process& to) const {
  arrange_([faults = faults_, &from, &to] { faults->mend(from, to); }, {});
  return *this;
}

const FaultPlan& FaultPlan::hold(const Process& from, const Process& to) const {
  arrange_([faults = faults_, &from, &to] { faults->hold(from, to); },
           "hold from " + describe(from) + " to " + describe(to));
  return *this;
}

const FaultPlan& FaultPlan::release(const Process& from, const Process& to) const {
  arrange_([faults = faults_, &from, &to] { faults->release(from, to); }, {});
  return *this;
}

const FaultPlan& FaultPlan::partition(Host a, Host b) const {
  arrange_([faults = faults_, a, b] { faults->partition(a, b); },
           fmt::format("partition of hosts {} and {}", a.index, b.index));
  return *this;
}

const FaultPlan& FaultPlan::mend(Host a, Host b) const {
  arrange_([faults = faults_, a, b] { faults->mend(a, b); }, {});
  return *this;
}

const FaultPlan& FaultPlan::set_network(const Network::Rates& rates) const {
  arrange_([faults = faults_, rates] { faults->set_network(rates); }, "rates of the network");
  return *this;
}

const FaultPlan& FaultPlan::heal() const {
  arrange_([faults = faults_] { faults->heal(); }, {});
  return *this;
}

}  // namespace ferry::sim
