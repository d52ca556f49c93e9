// explore_all: every order of things in a small world, one world after the other: for code whose bug needs one order of
// millions, or whose correctness shall be known rather than likely.
//
//   const Exhaustion all = explore_all({.world = {.fabric = {.latency = {}}}}, ferry::actors<A, B>, program);
//   if (all.complete && !all.failure) …       // it holds in every order
//
// Depth first: worlds are run again from their beginning with other answers. Of orders that differ only in how steps of
// different processes that do not concern each other lie, one is run (sleep sets; Godefroid, 1996): processes meet in
// messages, one-sided operations and the world's plans only, so a program here must not hand things from one process to
// another through variables of its own; or set `reduce` to false. Give the fabric no latency: where every packet takes
// its time, the times decide the order. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <ferry/sim/artefact.hpp>
#include <ferry/sim/choices.hpp>
#include <ferry/sim/run.hpp>
#include <ferry/sim/world.hpp>

namespace ferry::sim {

struct ExhaustiveOptions {
  std::uint64_t worlds = 100'000;   // at most, those that were given up as redundant among them
  std::function<bool()> give_up{};  // asked before each world: true ends the search; empty: never
  bool reduce = true;
  // What is enumerated; questions of other kinds are answered 0: in order, nothing unusual.
  std::vector<ChoiceKind> kinds{ChoiceKind::next};
  WorldOptions world{};  // of each; choices and trace are replaced
};

struct Exhaustion {
  std::uint64_t worlds = 0;     // run to their ends
  std::uint64_t redundant = 0;  // given up, as their order was that of one that was run
  bool complete = false;        // there is no other: of the kinds that are enumerated, and within the step budget
  std::map<std::string, std::uint64_t> answered_zero;  // questions of other kinds: how many
  std::optional<ExploredFailure> failure;              // the first

  // "complete: 132 worlds, 17 redundant", "incomplete: …"; the failure.
  std::string to_text() const;
};

// Throws Error (invalid_argument) for a world that answers differently to the same questions: see check_determinism.
[[nodiscard]] Exhaustion explore_all(const ExhaustiveOptions& options, const RunWorld& run);

template <class... T, class F>
[[nodiscard]] Exhaustion explore_all(const ExhaustiveOptions& options, ActorList<T...> classes, const F& program) {
  return explore_all(options,
                     RunWorld([&](const WorldOptions& world) { return sim::run(world, classes, program).result; }));
}

}  // namespace ferry::sim
