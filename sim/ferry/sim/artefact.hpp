// The artefact: a failure as text that runs again: what failed, in words, then seed, hosts, faults and choices.
//
//   ferry-sim-failure 1
//   # failed after 1234 steps and 0.000251000 s, …           lines for people
//   seed 7
//   hosts 3                                                  absent: 1
//   swarm crash,pause                                        absent: none
//   findings fail                                            absent: as the options say
//   choices 2                                                how many lines follow
//   omit 1234 0 1                                            a part of program or plans that is left out: parts.hpp
//   next 0 17 2
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <ferry/base/result.hpp>
#include <ferry/sim/choice_list.hpp>
#include <ferry/sim/run.hpp>
#include <ferry/sim/strategies.hpp>
#include <ferry/sim/world.hpp>

namespace ferry::sim {

// Makes a world of the options, runs it, and returns how it ended. Everything that differs between two calls must come
// from the options.
using RunWorld = std::function<WorldResult(const WorldOptions&)>;

// What was called failure before and after it was made small, and how to run it again.
struct ExploredFailure {
  Strategy strategy{};
  WorldResult found;
  std::size_t found_choices = 0;  // without lines about parts
  WorldResult smallest;           // of the choices below
  std::size_t hosts = 1;          // of the smallest
  std::string swarm;              // as to_text(Faults) writes it: what the worlds drew from
  ChoiceList choices;
  std::vector<std::string> story;  // the end of what happened, a line each: see last_lines()

  // The artefact: what replay() takes. Its first lines say what failed, for people.
  std::string to_text() const;
};

// By which two failures count as the same: the outcome and, where it says more, the first line without its numbers.
std::string failure_name(const WorldResult& result);

// Fewer and smaller choices under which `fails` still holds; asks it at most `runs` times. It holds for `choices`.
ChoiceList shrink(ChoiceList choices, std::size_t runs, const std::function<bool(const ChoiceList&)>& fails);

// Runs an artefact's world again, with these options but its seed, hosts, faults and choices. malformed: it is none,
// with the line. One that crashed does so again, here.
Result<WorldResult> replay(std::string_view artefact, const WorldOptions& options, const RunWorld& run);

template <class... T, class F>
Result<WorldResult> replay(std::string_view artefact, const WorldOptions& options, ActorList<T...> classes,
                           const F& program) {
  return replay(artefact, options, [&](const WorldOptions& world) { return run(world, classes, program).result; });
}

}  // namespace ferry::sim
