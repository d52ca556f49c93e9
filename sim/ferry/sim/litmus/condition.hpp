// Condition: what `ask` asks of a final state: comparisons of locations, registers and integers, joined by ! & |.
//
// A dumb value: the nodes of a tree in one vector, children before parents, the root last. It has no names in it, only
// indices of the Program that it belongs to.
#pragma once

#include <cstdint>
#include <vector>

namespace ferry::sim::litmus {

struct Term {
  enum class Kind : std::uint8_t { location, register_value, integer };
  Kind kind = Kind::integer;
  std::uint8_t index = 0;   // of the location or register
  std::uint64_t value = 0;  // of the integer
};

struct Condition {
  enum class Connective : std::uint8_t { equal, unequal, negation, conjunction, disjunction };

  struct Node {
    Connective connective = Connective::equal;
    Term left, right;          // equal, unequal
    std::uint16_t first = 0;   // the child, or the first of two: index into nodes
    std::uint16_t second = 0;  // conjunction, disjunction
  };

  std::vector<Node> nodes;  // never empty
};

}  // namespace ferry::sim::litmus
