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
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <ferry/mesh/proc_mesh.hpp>
#include <ferry/run/node_options.hpp>

namespace ferry {

// True in a process that a ferry program spawned, in its main before run() or serve_if_child() too.
bool is_child() noexcept;

namespace detail {
template <class F>
concept Program = std::invocable<F&, Context&> && std::same_as<std::invoke_result_t<F&, Context&>, Task<int>>;

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

template <class... T, detail::Program F>
int run(const NodeOptions& options, ActorList<T...> classes, F program) {
  return detail::run_program(options, classes.classes(),
                             [&program](Context& context) -> Task<int> { return program(context); });
}

// The arguments are the program's own: ferry reads none of them. Spawned processes get the same.
template <class... T, detail::Program F>
int run(int /*argc*/, char** /*argv*/, ActorList<T...> classes, F program) {
  const NodeOptions options;  // not a temporary: g++ 12 -O3 says of its strings that they may be uninitialized
  return ferry::run(options, classes, std::move(program));
}

namespace detail {
template <class T>
inline constexpr bool kIsActorList = false;
template <class... T>
inline constexpr bool kIsActorList<ActorList<T...>> = true;

// Why run(given…) is none of the above; the last one given is the program.
template <class First, class... Rest>
constexpr void refuse_run() {
  using Given = std::tuple<First, Rest...>;
  constexpr std::size_t kCount = sizeof...(Rest) + 1;
  using Last = std::tuple_element_t<kCount - 1, Given>;
  constexpr bool kLists = kCount >= 2 && kIsActorList < std::tuple_element_t<kCount<2 ? 0 : kCount - 2, Given>>;
  static_assert(
      kLists,
      "what ferry::run takes: argc and argv, or NodeOptions; then the classes that may be constructed in this "
      "program's processes, ferry::actors<A, B>; then the program: ferry::run(argc, argv, ferry::actors<A, B>, "
      "[](ferry::Context& context) -> ferry::Task<int> { … })");
  static_assert(!kLists || std::invocable<Last&, Context&>,
                "the program that ferry::run is given takes a ferry::Context&: "
                "[](ferry::Context& context) -> ferry::Task<int> { … }");
  if constexpr (kLists && std::invocable<Last&, Context&>) {
    static_assert(std::same_as<std::invoke_result_t<Last&, Context&>, Task<int>>,
                  "the program that ferry::run is given is a coroutine that returns ferry::Task<int>, the exit status: "
                  "write -> ferry::Task<int> behind its parameters, and co_return 0 at its end");
    static_assert(!Program<Last>, "what stands before the actor classes: argc and argv of main, or NodeOptions");
  }
}
}  // namespace detail

// Anything else: does not compile, and says what to write. Never better than the others, which are more special. (The
// first is for options in braces.)
template <class... T, class F>
requires(!detail::Program<F>) int run(const NodeOptions&, ActorList<T...>, F) {
  detail::refuse_run<NodeOptions, ActorList<T...>, F>();
  return 1;
}
template <class... A>
int run(A...) {
  static_assert(sizeof...(A) > 0, "ferry::run(argc, argv, ferry::actors<A, B>, program)");
  if constexpr (sizeof...(A) > 0) {
    detail::refuse_run<A...>();
  }
  return 1;
}

}  // namespace ferry
