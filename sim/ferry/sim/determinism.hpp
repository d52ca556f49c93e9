// check_determinism: whether a world depends on nothing but its options: run alone, and again after another one in a
// heap of another shape, it takes the same steps.
//
// What differs is the program's fault or the simulator's: statics, order by address, iteration of unordered containers,
// memory that was never written. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ferry/sim/artefact.hpp>
#include <ferry/sim/run.hpp>
#include <ferry/sim/world.hpp>

namespace ferry::sim {

struct Difference {
  std::uint64_t step = 0;  // the first that differs, from 1; 0: of how the worlds ended alone
  std::string first;       // what it was, alone
  std::string second;      // and after the other world

  // "step 17 differs: alone …; after another world …".
  std::string to_text() const;
};

// None: all steps are the same. Looks at the first ten million. A world of any other seed runs in between.
[[nodiscard]] std::optional<Difference> check_determinism(const WorldOptions& options, const RunWorld& run);

template <class... T, class F>
[[nodiscard]] std::optional<Difference> check_determinism(const WorldOptions& options, ActorList<T...> classes,
                                                          const F& program) {
  return check_determinism(
      options, RunWorld([&](const WorldOptions& world) { return sim::run(world, classes, program).result; }));
}

}  // namespace ferry::sim
