// explore: runs a world under many seeds and strategies until one fails, then makes that failure small and writes it
// down so that anyone can run it again.
//
//   const Exploration found = explore({.seeds = 1000}, ferry::actors<Server, Worker>, program);  // as run() takes them
//   if (found.failure) { std::puts(found.failure->to_text().c_str()); }
//
// replay(text, {}, ferry::actors<…>, program) then does the same again. A RunWorld in place of classes and program may
// make worlds in any other way. Worlds run one after another on the calling thread. A failure is made
// small by leaving out choices (each then is "in order, nothing unusual") as long as the world fails by the same name:
// outcome and first line, numbers aside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
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

struct ExploreOptions {
  std::uint64_t seeds = 1000;  // worlds, at most
  std::uint64_t first_seed = 0;
  // Each seed is run under the next of them. Not empty.
  std::vector<Strategy> strategies{Strategy::random, Strategy::pct, Strategy::starving};
  std::size_t shrink_runs = 2000;  // worlds that making a failure small may take
  WorldOptions world{};            // of each; seed and choices are replaced
};

// What was called failure before and after it was made small, and how to run it again.
struct ExploredFailure {
  Strategy strategy{};
  WorldResult found;
  std::size_t found_choices = 0;
  WorldResult smallest;  // of the choices below
  ChoiceList choices;

  // The artefact: what replay() takes. Its first lines say what failed, for people.
  std::string to_text() const;
};

struct Exploration {
  std::uint64_t worlds = 0;  // run, without those that made the failure small
  std::optional<ExploredFailure> failure;
};

// Throws Error (invalid_argument) for no strategies.
[[nodiscard]] Exploration explore(const ExploreOptions& options, const RunWorld& run);

// The program is copied for each world, and must not carry anything from one to the next.
template <class... T, class F>
[[nodiscard]] Exploration explore(const ExploreOptions& options, ActorList<T...> classes, const F& program) {
  return explore(options, [&](const WorldOptions& world) { return run(world, classes, program).result; });
}

// By which two failures count as the same.
std::string failure_name(const WorldResult& result);

// Fewer and smaller choices under which `fails` still holds; asks it at most `runs` times. It holds for `choices`.
ChoiceList shrink(ChoiceList choices, std::size_t runs, const std::function<bool(const ChoiceList&)>& fails);

// Runs an artefact's world again, with these options but its seed and choices. malformed: it is none, with the line.
Result<WorldResult> replay(std::string_view artefact, const WorldOptions& options, const RunWorld& run);

template <class... T, class F>
Result<WorldResult> replay(std::string_view artefact, const WorldOptions& options, ActorList<T...> classes,
                           const F& program) {
  return replay(artefact, options, [&](const WorldOptions& world) { return run(world, classes, program).result; });
}

}  // namespace ferry::sim
