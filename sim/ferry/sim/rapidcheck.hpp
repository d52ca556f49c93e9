// Generators for RapidCheck: worlds, small one-sided programs, fault plans; they shrink as any of RapidCheck's do.
//
//   rc::check("adds are not lost", [] {
//     const auto options = *ferry::sim::gen::world_options();
//     const auto program = *ferry::sim::gen::small_program(3, 4);
//     …
//   });
//
// Inside a world, draw with sampled(): RapidCheck's own source of randomness is not the world's. Includes
// <rapidcheck.h> (Debian: librapidcheck-dev), which ferry itself does not need. Plain values. One thread.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <rapidcheck.h>

#include <ferry/base/task.hpp>
#include <ferry/buffer/buffer_ref.hpp>
#include <ferry/sim/world.hpp>

namespace ferry::sim {

// One operation on a region of 8-byte words.
struct OneSided {
  enum class Kind : std::uint8_t { read, write, fetch_add, compare_swap };
  Kind kind{};
  std::uint64_t word = 0;   // the first
  std::uint64_t words = 1;  // of a read or write: how many
  std::uint64_t value = 0;  // written to each, added, or put in place of zero
  friend bool operator==(const OneSided&, const OneSided&) = default;
};

// What each of some processes does to one region, in order.
struct SmallProgram {
  std::uint64_t words = 1;  // of the region
  std::vector<std::vector<OneSided>> processes;
  friend bool operator==(const SmallProgram&, const SmallProgram&) = default;
};

struct PlannedFault {
  enum class Verb : std::uint8_t { crash, restart_host, pause, resume, drift, refuse_spawns };
  Duration at{};
  Verb verb{};
  std::size_t target = 0;   // of the processes or hosts that there are then: modulo their number
  std::int64_t amount = 0;  // millionths, or how often
  friend bool operator==(const PlannedFault&, const PlannedFault&) = default;
};

// Carries out the operations of one process on a region of at least that many words; what each read or atomic found,
// its first word. Throws Error as the operations do.
inline Task<std::vector<std::uint64_t>> carry_out(BufferRef region, std::vector<OneSided> operations) {
  std::vector<std::uint64_t> found;
  for (const OneSided& one : operations) {
    const bool is_atomic = one.kind == OneSided::Kind::fetch_add || one.kind == OneSided::Kind::compare_swap;
    const BufferRef range = region.subrange(8 * one.word, 8 * (is_atomic ? 1 : one.words));
    std::vector<std::uint64_t> local(is_atomic ? 1 : one.words, one.value);
    if (one.kind == OneSided::Kind::read) {
      co_await range.read_into(std::span(local));
      found.push_back(local[0]);
    } else if (one.kind == OneSided::Kind::write) {
      co_await range.write_from(std::span(local));
    } else if (one.kind == OneSided::Kind::fetch_add) {
      const std::uint64_t old = co_await range.fetch_add(one.value);
      found.push_back(old);
    } else {
      const std::uint64_t old = co_await range.compare_swap(0, one.value);
      found.push_back(old);
    }
  }
  co_return found;
}

// The program without what making a failure small leaves out: processes first, then operations of those that are left.
// A process that is left out does nothing.
inline SmallProgram kept(World& world, const SmallProgram& program);

// Has the faults happen at their times, but for those that making a failure small leaves out. Crashes leave the first
// process and its host alone; a process that the world started is restarted at once, children are left to their
// parents. heal: a second behind the last, all is healed.
inline void arrange(World& world, const std::vector<PlannedFault>& plan, bool heal = true) {
  const auto strike = [&world](const PlannedFault& fault) {
    OngoingFaults& faults = world.faults();
    Process& process = *world.processes()[fault.target % world.processes().size()];
    const Host host = process.host_in_world();
    switch (fault.verb) {
      case PlannedFault::Verb::crash:
        if (&process != world.processes().front().get()) {
          process.parent() == nullptr&& process.is_alive() ? static_cast<void>(faults.restart(process))
                                                           : faults.crash(process);
        }
        return;
      case PlannedFault::Verb::restart_host:
        if (host != world.processes().front()->host_in_world()) {
          faults.restart(host);
        }
        return;
      case PlannedFault::Verb::pause:
        return faults.pause(process);
      case PlannedFault::Verb::resume:
        return faults.resume(process);
      case PlannedFault::Verb::drift:
        return faults.set_drift(process, fault.amount);
      case PlannedFault::Verb::refuse_spawns:
        return faults.refuse_spawns(host, static_cast<std::uint64_t>(fault.amount < 0 ? 0 : fault.amount % 4));
    }
  };
  Duration last{};
  for (const PlannedFault& fault : plan) {
    last = std::max(last, fault.at);
  }
  for (const PlannedFault& fault : world.parts("generated fault", plan)) {
    world.at(fault.at, [strike, fault] { strike(fault); });
  }
  if (heal && !plan.empty()) {
    world.at(last + std::chrono::seconds(1)).heal();
  }
}

namespace gen {

// Seed and fabric: all that may differ between two worlds without a fault.
inline rc::Gen<WorldOptions> world_options() {
  return rc::gen::map(rc::gen::tuple(rc::gen::arbitrary<std::uint64_t>(), rc::gen::element<std::size_t>(1, 8, 64),
                                     rc::gen::inRange<std::size_t>(1, 65), rc::gen::element(0, 100, 1'000, 50'000)),
                      [](const std::tuple<std::uint64_t, std::size_t, std::size_t, int>& drawn) {
                        WorldOptions options;
                        options.seed = std::get<0>(drawn);
                        options.fabric.granule = std::get<1>(drawn);
                        options.fabric.mtu = std::get<1>(drawn) * std::get<2>(drawn);
                        options.fabric.latency = Duration(std::get<3>(drawn));
                        return options;
                      });
}

inline rc::Gen<OneSided> one_sided(std::uint64_t region_words) {
  return rc::gen::map(
      rc::gen::tuple(rc::gen::inRange(0, 4), rc::gen::inRange<std::uint64_t>(0, region_words),
                     rc::gen::inRange<std::uint64_t>(1, region_words + 1), rc::gen::inRange<std::uint64_t>(0, 1'000)),
      [region_words](const std::tuple<int, std::uint64_t, std::uint64_t, std::uint64_t>& drawn) {
        const std::uint64_t word = std::get<1>(drawn);
        return OneSided{static_cast<OneSided::Kind>(std::get<0>(drawn)), word,
                        std::min(std::get<2>(drawn), region_words - word), std::get<3>(drawn)};
      });
}

// Of 1 … processes processes with 0 … operations operations each, on 1 … 8 words.
inline rc::Gen<SmallProgram> small_program(std::size_t processes = 3, std::size_t operations = 4) {
  return rc::gen::mapcat(rc::gen::inRange<std::uint64_t>(1, 9), [processes, operations](std::uint64_t words) {
    const auto of_one = rc::gen::mapcat(rc::gen::inRange<std::size_t>(0, operations + 1), [words](std::size_t count) {
      return rc::gen::container<std::vector<OneSided>>(count, one_sided(words));
    });
    const auto all = rc::gen::mapcat(rc::gen::inRange<std::size_t>(1, processes + 1), [of_one](std::size_t count) {
      return rc::gen::container<std::vector<std::vector<OneSided>>>(count, of_one);
    });
    return rc::gen::map(all, [words](const std::vector<std::vector<OneSided>>& drawn) {
      return SmallProgram{words, drawn};
    });
  });
}

// At most `count` faults within that time.
inline rc::Gen<std::vector<PlannedFault>> fault_plan(Duration within, std::size_t count = 6) {
  const auto one = rc::gen::map(
      rc::gen::tuple(rc::gen::inRange<std::int64_t>(0, within.count() + 1), rc::gen::inRange(0, 6),
                     rc::gen::inRange<std::size_t>(0, 64),
                     rc::gen::inRange<std::int64_t>(-ProcessClock::kMaxDrift, ProcessClock::kMaxDrift + 1)),
      [](const std::tuple<std::int64_t, int, std::size_t, std::int64_t>& drawn) {
        return PlannedFault{Duration(std::get<0>(drawn)), static_cast<PlannedFault::Verb>(std::get<1>(drawn)),
                            std::get<2>(drawn), std::get<3>(drawn)};
      });
  return rc::gen::mapcat(rc::gen::inRange<std::size_t>(0, count + 1), [one](std::size_t chosen) {
    return rc::gen::container<std::vector<PlannedFault>>(chosen, one);
  });
}

}  // namespace gen

// One value, the same for the same world and the same draws before it. size: RapidCheck's; below 100 its ranges are cut
// off at that many hundredths.
template <class T>
T sampled(const rc::Gen<T>& generator, World& world, int size = 100) {
  return generator(rc::Random(world.random(Purpose::program).next()), size).value();
}

// For RapidCheck's reports.
inline std::ostream& operator<<(std::ostream& out, const OneSided& one) {
  constexpr std::array<std::string_view, 4> kNames{"read", "write", "fetch_add", "compare_swap"};
  return out << kNames[static_cast<std::size_t>(one.kind)] << " word " << one.word << " of " << one.words << " value "
             << one.value;
}
inline std::ostream& operator<<(std::ostream& out, const SmallProgram& program) {
  out << program.words << " words";
  for (const auto& operations : program.processes) {
    out << "; process:";
    for (const OneSided& one : operations) {
      out << " " << one << ",";
    }
  }
  return out;
}
inline std::ostream& operator<<(std::ostream& out, const PlannedFault& fault) {
  constexpr std::array<std::string_view, 6> kNames{"crash",  "restart_host", "pause",
                                                   "resume", "drift",        "refuse_spawns"};
  return out << fault.at.count() << " ns: " << kNames[static_cast<std::size_t>(fault.verb)] << " " << fault.target
             << " by " << fault.amount;
}
inline std::ostream& operator<<(std::ostream& out, const WorldOptions& options) {
  return out << "seed " << options.seed << ", hosts " << options.hosts << ", granule " << options.fabric.granule
             << ", mtu " << options.fabric.mtu << ", latency " << options.fabric.latency.count() << " ns";
}

inline SmallProgram kept(World& world, const SmallProgram& program) {
  std::vector<bool> takes_part;  // first of all: so that whole processes go before single operations
  for (std::size_t index = 0; index < program.processes.size(); ++index) {
    takes_part.push_back(!world.leaves_out("process", std::to_string(index + 1)));
  }
  SmallProgram rest{program.words, std::vector<std::vector<OneSided>>(program.processes.size())};
  for (std::size_t index = 0; index < program.processes.size(); ++index) {
    if (takes_part[index]) {  // a list for each, so that what is left out of one moves nothing in another
      rest.processes[index] =
          world.parts("operation of process " + std::to_string(index + 1), program.processes[index]);
    }
  }
  return rest;
}

}  // namespace ferry::sim
