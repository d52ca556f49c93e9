// run: a whole program in a simulated world; the counterpart of ferry::run with the same callable.
//
//   ferry::sim::Report report = ferry::sim::run({.seed = 7}, ferry::actors<A, B>, [](ferry::Context& context) ->
//   ferry::Task<int> { … });
//
// Returns when the root's task and all children have ended, or the world can go no further. Same seed, options and
// binary: same hash. Everything runs on the calling thread. A callable that takes (sim::World&, Context&) can also let
// things happen in its world: world.at(3s, …), world.processes()[2]->kill().
#pragma once

#include <concepts>
#include <functional>
#include <type_traits>
#include <vector>

#include <ferry/mesh/proc_mesh.hpp>
#include <ferry/sim/node_program.hpp>
#include <ferry/sim/world.hpp>

namespace ferry::sim {

struct Report {
  int status = 1;  // what the root returned; 1 where it did not, or the world did not pass in another way
  WorldResult result{};
};

namespace detail {
using WorldMain = std::function<Task<int>(World&, Context&)>;
Report run_world(const WorldOptions& options, std::vector<ActorClass> classes, const WorldMain& main);

inline Task<int> with_status(Task<int> main) {
  return main;
}
inline Task<int> with_status(Task<void> main) {
  co_await main;
  co_return 0;
}

template <class Returned>
concept MainTask = std::same_as<Returned, Task<int>> || std::same_as<Returned, Task<void>>;
}  // namespace detail

template <class... T, class F>
requires detail::MainTask<std::invoke_result_t<F&, Context&>> Report run(const WorldOptions& options,
                                                                         ActorList<T...> classes, F program) {
  return detail::run_world(options, classes.classes(), [&program](World&, Context& context) -> Task<int> {
    return detail::with_status(program(context));
  });
}
template <class... T, class F>
requires detail::MainTask<std::invoke_result_t<F&, World&, Context&>> Report run(const WorldOptions& options,
                                                                                 ActorList<T...> classes, F program) {
  return detail::run_world(options, classes.classes(), [&program](World& world, Context& context) -> Task<int> {
    return detail::with_status(program(world, context));
  });
}

// Any other program: does not compile, and says what to write.
template <class... T, class F>
Report run(const WorldOptions&, ActorList<T...>, F) {
  static_assert(std::same_as<F, void>,
                "the program that ferry::sim::run is given takes a ferry::Context&, or a ferry::sim::World& and a "
                "ferry::Context&, and returns ferry::Task<int> or ferry::Task<void>: [](ferry::Context& context) -> "
                "ferry::Task<int> { … }");
  return {};
}

}  // namespace ferry::sim
