// Part: one of the things that a test has put together for a world, and that making a failure small may leave out: a
// process or command of a generated program, a planned fault.
//
// World::parts() and FaultPlan ask about each. A run has all of them, but for those that its list of choices has a line
// about: "omit SUBJECT ORDINAL 1" (choice_list.hpp). So an artefact holds the program and the plan too: what its seed
// makes, without these. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>

namespace ferry::sim {

struct Part {
  std::string name;           // of the list that it is in
  std::uint64_t subject = 0;  // of the question: the list, as subject_of_parts() says
  std::uint64_t ordinal = 0;  // how many of the list were asked about before
  std::string text;           // itself, in words
  bool is_left_out = false;
};

inline constexpr std::size_t kParts = 4096;  // that a WorldResult tells of, at most; those behind are never left out

// The same in every binary.
std::uint64_t subject_of_parts(std::string_view name) noexcept;

// As its operator<< says; empty where it has none.
template <class T>
std::string text_of_part(const T& part) {
  if constexpr (requires(std::ostream & out) { out << part; }) {
    std::ostringstream out;
    out << part;
    return out.str();
  } else {
    return {};
  }
}

}  // namespace ferry::sim
