#include <ferry/sim/exhaustive.hpp>

#include <fmt/format.h>

#include <ferry/sim/choice_list.hpp>
#include <ferry/sim/depth_first.hpp>

namespace ferry::sim {
namespace {

ExploredFailure failure_of(const WorldOptions& options, WorldResult result, const ChoiceList& choices) {
  return {Strategy::exhaustive, result, choices.size(), result, options.hosts, to_text(options.swarm), choices, {}};
}

}  // namespace

Exhaustion explore_all(const ExhaustiveOptions& options, const RunWorld& run) {
  Exhaustion all;
  DepthFirst source(options);
  do {
    if (all.worlds + all.redundant >= options.worlds || (options.give_up && options.give_up())) {
      return all;
    }
    source.begin();
    RecordingChoices recording(source);
    WorldOptions world = options.world;
    world.choices = &recording;
    world.trace = &source;
    WorldResult result = run(world);
    if (source.has_strayed()) {
      throw Error(Failure(errc::invalid_argument,
                          "explore_all: the world asked other questions than before, although the answers were the "
                          "same; check_determinism tells where it differs"));
    }
    all.answered_zero = source.answered_zero();
    if (source.is_redundant()) {
      ++all.redundant;
      continue;
    }
    ++all.worlds;
    if (result.outcome != Outcome::passed) {
      all.failure = failure_of(options.world, std::move(result), recording.choices());
      return all;
    }
  } while (source.next());
  all.complete = true;
  return all;
}

std::string Exhaustion::to_text() const {
  if (failure) {
    return fmt::format("world {} failed: {}", worlds, failure->smallest.to_text());
  }
  std::string text = fmt::format("{}: {} worlds passed, {} more were redundant", complete ? "complete" : "incomplete",
                                 worlds, redundant);
  for (const auto& [kind, count] : answered_zero) {
    text += fmt::format("; {} questions of kind {} were answered 0", count, kind);
  }
  return text;
}

}  // namespace ferry::sim
