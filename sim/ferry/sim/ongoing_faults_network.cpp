// The faults of the network.
#include <algorithm>

#include <fmt/format.h>

#include <ferry/sim/ongoing_faults.hpp>
#include <ferry/sim/process.hpp>
#include <ferry/sim/sim_fabric.hpp>
#include <ferry/sim/world.hpp>

namespace ferry::sim {

void OngoingFaults::cut(const Process& from, const Process& to) {
  if (cuts_.insert({from.number(), to.number()}).second) {
    tell(fmt::format("nothing gets from {} to {}", describe(from), describe(to)));
    count(Fault::partition);
    world_.fabric().cut(from.number(), to.number());
  }
}

void OngoingFaults::mend(const Process& from, const Process& to) {
  if (cuts_.erase({from.number(), to.number()}) > 0) {
    tell(fmt::format("{} reaches {} again", describe(from), describe(to)));
    world_.fabric().mend(from.number(), to.number());
  }
}

void OngoingFaults::hold(const Process& from, const Process& to) {
  if (holds_.insert({from.number(), to.number()}).second) {
    tell(fmt::format("what {} sends to {} is held back", describe(from), describe(to)));
    world_.fabric().hold(from.number(), to.number());
  }
}

void OngoingFaults::release(const Process& from, const Process& to) {
  if (holds_.erase({from.number(), to.number()}) > 0) {
    tell(fmt::format("what {} sends to {} is released", describe(from), describe(to)));
    world_.fabric().release(from.number(), to.number());
  }
}

void OngoingFaults::separate(const Process& a, const Process& b, bool is_cut) {
  for (const auto& [from, to] : {std::pair(a.number(), b.number()), std::pair(b.number(), a.number())}) {
    if (!cuts_.contains({from, to})) {
      is_cut ? world_.fabric().cut(from, to) : world_.fabric().mend(from, to);
    }
  }
}

void OngoingFaults::partition(Host a, Host b) {
  check(a);
  check(b);
  if (a == b) {
    throw Error(Failure(errc::invalid_argument,
                        fmt::format("host {} cannot be parted from itself; cut() parts two processes", a.index)));
  }
  if (!partitions_.insert(std::minmax(a, b)).second) {
    return;
  }
  tell(fmt::format("hosts {} and {} are parted", a.index, b.index));
  count(Fault::partition);
  for_each_on(a,
              [&](const Process& one) { for_each_on(b, [&](const Process& other) { separate(one, other, true); }); });
}

void OngoingFaults::mend(Host a, Host b) {
  if (partitions_.erase(std::minmax(a, b)) == 0) {
    return;
  }
  tell(fmt::format("hosts {} and {} reach each other again", a.index, b.index));
  for_each_on(a,
              [&](const Process& one) { for_each_on(b, [&](const Process& other) { separate(one, other, false); }); });
}

void OngoingFaults::started(const Process& process) {
  for (const auto& [a, b] : partitions_) {
    if (process.host_in_world() == a || process.host_in_world() == b) {
      for_each_on(process.host_in_world() == a ? b : a, [&](const Process& other) { separate(process, other, true); });
    }
  }
}

void OngoingFaults::set_network(const Network::Rates& rates) {
  Network::Rates& present = world_.fabric().network().rates();
  const auto note = [&](Fault fault, std::uint64_t before, std::uint64_t now) {
    if (before != now) {
      tell(now == 0 ? fmt::format("no more {}", to_string(fault))
                    : fmt::format("{} once in {}", to_string(fault), now));
      count(fault);
    }
  };
  note(Fault::loss, present.drop, rates.drop);
  note(Fault::duplication, present.duplicate, rates.duplicate);
  note(Fault::lateness, present.delay, rates.delay);
  note(Fault::slow_nics, present.stall, rates.stall);
  present = rates;
}

void OngoingFaults::heal_network() {
  set_network({});
  while (!partitions_.empty()) {
    const auto [a, b] = *partitions_.begin();
    mend(a, b);
  }
  const auto process = [this](ProcessNumber number) -> const Process& {
    return *world_.processes()[number.value() - 1];
  };
  while (!cuts_.empty()) {
    const auto [from, to] = *cuts_.begin();
    mend(process(from), process(to));
  }
  while (!holds_.empty()) {
    const auto [from, to] = *holds_.begin();
    release(process(from), process(to));
  }
}

}  // namespace ferry::sim
