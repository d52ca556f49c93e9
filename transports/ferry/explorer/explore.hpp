// ferry::explore: a program under many seeds, on all cores; as ferry::sim::explore, which stays in one process.
//
//   const ferry::sim::Exploration found =
//       ferry::explore({.seeds = 10'000, .swarm = ferry::sim::Faults::all}, ferry::actors<Server, Worker>, program);
//
// Worlds run in processes forked from this one, which has best no other threads then. So an abort, a signal, a
// sanitizer's report, a call of exit() or a world that never ends (ExploreOptions::wall) is a finding with its seed
// like any other. What a world does to variables outside of it is lost with its process: it fails by World::fail, an
// exception or an invariant, not by an EXPECT of a test framework. The outcome does not depend on the number of
// workers.
#pragma once

#include <ferry/sim/explore.hpp>

namespace ferry {

// On a terminal, stderr shows how far it is. Throws Error: invalid_argument for options out of range, spawn_failed or
// resource_exhausted where the system gives no process. ExploreOptions::workers 1: in this process, without a watch.
[[nodiscard]] sim::Exploration explore(const sim::ExploreOptions& options, const sim::RunWorld& run);

template <class... T, class F>
[[nodiscard]] sim::Exploration explore(const sim::ExploreOptions& options, ActorList<T...> classes, const F& program) {
  return ferry::explore(
      options, sim::RunWorld([&](const sim::WorldOptions& world) { return sim::run(world, classes, program).result; }));
}

}  // namespace ferry
