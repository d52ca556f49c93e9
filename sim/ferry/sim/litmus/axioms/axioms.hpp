// The axioms: what must hold between the events of an execution, once its arrangement is chosen.
//
// Either an order that must hold, or one of two alternatives. Which orders hold between operations of one queue is a
// list of pairs per profile, "the send of an earlier put precedes the send of a later one": written from the model's
// text, not from the machine's table, with which it is compared.
#pragma once

#include <array>
#include <vector>

#include <ferry/sim/litmus/axioms/arrangement.hpp>
#include <ferry/sim/litmus/axioms/event_structure.hpp>
#include <ferry/sim/litmus/program.hpp>

namespace ferry::sim::litmus::axioms {

// At least one of the two sides holds, all edges of it.
struct Alternative {
  std::vector<Edge> one;
  std::vector<Edge> other;
};

struct Axioms {
  std::vector<Edge> order;
  std::vector<Alternative> alternatives;
  bool is_impossible = false;  // more polls than completions
};

Axioms axioms_of(const Program& program, const EventStructure& structure, ProfileName profile,
                 const Arrangement& arrangement);

}  // namespace ferry::sim::litmus::axioms
