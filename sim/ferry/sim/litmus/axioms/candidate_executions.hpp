// The second formulation of the litmus machine: no states and no steps. An execution is a partial order of a program's
// events; the axioms (axioms.hpp) say which are executions, and every one has an outcome.
//
// Candidates are enumerated: for every two accesses of one location, one of them a write, which comes first (that
// decides from which write each read takes its value, and the order of writes: coherence). A candidate is an execution
// if its order with the axioms' is acyclic. A write counts where it lands, so a read may take an overwritten value as
// long as the overwriting write has not landed. Compared with the machine on random programs; for nothing else is it
// fast enough.
#pragma once

#include <cstddef>
#include <vector>

#include <ferry/base/result.hpp>
#include <ferry/sim/litmus/program.hpp>

namespace ferry::sim::litmus::axioms {

inline constexpr std::size_t kDefaultMaxCandidates = 2'000'000;

// All outcomes, distinct and ascending. All instructions are covered. Fails with errc::too_large where the program has
// more events than kMaxEvents, with errc::resource_exhausted where more candidates than max_candidates would be tried.
Result<std::vector<Outcome>> outcomes(const Program& program, ProfileName profile,
                                      std::size_t max_candidates = kDefaultMaxCandidates);

}  // namespace ferry::sim::litmus::axioms
