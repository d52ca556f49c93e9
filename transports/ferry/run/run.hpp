// run: a whole program: the root runs the callable; a process that the job started serves its parent.
//
//   int main(int argc, char** argv) {
//     return ferry::run(argc, argv, ferry::actors<A, B>, [](ferry::Context& context) -> ferry::Task<int> { … });
//   }
//
// Spawned processes are this executable again with the same argv; in them run() never returns (the process ends when
// its parent asks, or is gone). In the root it returns what the callable's task returns, after all children have ended;
// an exception is written to stderr and gives 1. (A process's exit code has eight bits.) run() owns the callable until
// then, so captures are allowed in it.
#pragma once

#include <concepts>
#include <functional>
#include <utility>
#include <vector>

#include <ferry/mesh/proc_mesh.hpp>
#include <ferry/run/node_options.hpp>

namespace ferry {

// True in a process that a ferry program spawned, in its main before run() or serve_if_child() too.
bool is_child() noexcept;

namespace detail {
// In a spawned process: serves, and ends the process; elsewhere: returns. Throws Error.
void serve_if_child(const NodeOptions& options, const std::vector<ActorClass>& classes);
int run_program(const NodeOptions& options, std::vector<ActorClass> classes,
                std::function<Task<int>(Context&)> program);
}  // namespace detail

// For programs that make a Node in place of run(): in a process that the program has spawned, serves its parent and
// never returns; elsewhere returns at once. At the beginning of main, before the Node. Throws Error (malformed) where
// the environment says that there is a parent and there is none.
template <class... T>
void serve_if_child(ActorList<T...> classes, const NodeOptions& options = {}) {
  detail::serve_if_child(options, classes.classes());
}

template <class... T, std::invocable<Context&> F>
requires std::same_as<std::invoke_result_t<F&, Context&>, Task<int>>
int run(const NodeOptions& options, ActorList<T...> classes, F program) {
  return detail::run_program(options, classes.classes(),
                             [&program](Context& context) -> Task<int> { return program(context); });
}

// The arguments are the program's own: ferry reads none of them. Spawned processes get the same.
template <class... T, std::invocable<Context&> F>
requires std::same_as<std::invoke_result_t<F&, Context&>, Task<int>>
int run(int /*argc*/, char** /*argv*/, ActorList<T...> classes, F program) {
  return ferry::run(NodeOptions{}, classes, std::move(program));
}

}  // namespace ferry
