// run: a whole program in a simulated world; the counterpart of ferry::run with the same callable.
//
//   ferry::sim::Report report = ferry::sim::run({.seed = 7}, ferry::actors<A, B>, [](ferry::Context& context) ->
//   ferry::Task<int> { … });
//
// Returns when the root's task and all children have ended, or the world can go no further. Same seed, options and
// binary: same hash. Everything runs on the calling thread.
#pragma once

#include <concepts>
#include <utility>
#include <vector>

#include <ferry/mesh/proc_mesh.hpp>
#include <ferry/sim/node_program.hpp>
#include <ferry/sim/world.hpp>

namespace ferry::sim {

struct Report {
  int status = 1;  // what the root returned; 1 where it did not
  WorldResult result{};
};

namespace detail {
Report run_world(const WorldOptions& options, std::vector<ActorClass> classes, NodeProgram::Main main);
}  // namespace detail

template <class... T, std::invocable<Context&> F>
requires std::same_as<std::invoke_result_t<F&, Context&>, Task<int>> Report run(const WorldOptions& options,
                                                                                ActorList<T...> classes, F program) {
  return detail::run_world(options, classes.classes(),
                           [&program](Context& context) -> Task<int> { return program(context); });
}

}  // namespace ferry::sim
