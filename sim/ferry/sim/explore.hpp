// explore: runs a world under many seeds and strategies until one fails, then makes that failure small and writes it
// down so that anyone can run it again.
//
//   const Exploration found = explore({.seeds = 1000}, ferry::actors<Server, Worker>, program);  // as run() takes them
//   if (found.failure) { std::puts(found.failure->to_text().c_str()); }
//
// replay(text, {}, ferry::actors<…>, program) then does the same again (artefact.hpp). A RunWorld in place of classes
// and program may make worlds in any other way. Here worlds run one after another on the calling thread; ferry::explore
// (<ferry/explorer/explore.hpp>) takes the same and uses all cores, in processes of their own. The outcome is the same
// however many workers there are: the failure of the lowest seed.
// A failure is made small as long as the world fails by the same name: fewer processes, commands and faults (of what a
// test gives to World::parts, and of planned faults), fewer hosts, then fewer choices (one that is left out is "in
// order, nothing unusual"); for a minute at most where worlds run in worker processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <ferry/base/result.hpp>
#include <ferry/sim/artefact.hpp>
#include <ferry/sim/choice_list.hpp>
#include <ferry/sim/crew.hpp>
#include <ferry/sim/run.hpp>
#include <ferry/sim/strategies.hpp>
#include <ferry/sim/world.hpp>

namespace ferry::sim {

struct ExploreOptions {
  std::uint64_t seeds = 1000;  // worlds, at most
  std::uint64_t first_seed = 0;
  std::size_t hosts = 1;
  Faults swarm{};                           // of which each seed draws some; one in five none
  std::uint64_t steps = 5'000'000;          // of a world, at most
  Duration wall = std::chrono::minutes(1);  // of real time for a world, in worker processes
  std::size_t workers = 0;                  // of ferry::explore; 0: as many as cores
  bool require_marks = false;               // passed() wants every mark of ferry::sometimes
  // Each seed is run under the next of them. Not empty.
  std::vector<Strategy> strategies{Strategy::random, Strategy::pct, Strategy::starving};
  FindingMode findings = FindingMode::report;  // of contract races: see findings.hpp
  std::size_t shrink_runs = 2000;              // worlds that making a failure small may take
  std::size_t story_lines = 30;                // that the artefact tells of what happened last
  WorldOptions world{};                        // of each; seed, hosts, swarm, steps, findings and choices are replaced
};

struct Exploration {
  std::uint64_t worlds = 0;                     // run, without those that made the failure small
  std::map<std::string, std::uint64_t> struck;  // faults, by kind
  std::map<std::string, std::uint64_t> marks;   // of ferry::sometimes: how often each was reached, all worlds together
  std::map<std::string, std::uint64_t> found;   // findings, by kind
  std::vector<std::string> findings;            // the first of each kind, in words
  bool requires_marks = false;
  std::optional<ExploredFailure> failure;

  std::vector<std::string> unreached() const;  // marks that no world reached
  bool passed() const { return !failure && (!requires_marks || unreached().empty()); }
  // "1000 worlds passed; struck: crash 17, pause 20; never reached: …", or the failure's first line.
  std::string to_text() const;
};

// Throws Error (invalid_argument) for no strategies.
[[nodiscard]] Exploration explore(const ExploreOptions& options, const RunWorld& run, Crew& crew);
[[nodiscard]] Exploration explore(const ExploreOptions& options, const RunWorld& run);

// The program is copied for each world, and must not carry anything from one to the next.
template <class... T, class F>
[[nodiscard]] Exploration explore(const ExploreOptions& options, ActorList<T...> classes, const F& program) {
  return explore(options, RunWorld([&](const WorldOptions& world) { return run(world, classes, program).result; }));
}

}  // namespace ferry::sim
