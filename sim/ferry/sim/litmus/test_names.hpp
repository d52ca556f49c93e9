// TestNames: what the names of one test stand for, while it is parsed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <ferry/sim/litmus/line_reader.hpp>
#include <ferry/sim/litmus/program.hpp>

namespace ferry::sim::litmus {

class TestNames {
 public:
  // One kind of things. Keys are what the text says: "q", "x@B", "A:r".
  using Index = std::map<std::string, std::uint8_t, std::less<>>;

  Index nodes, locations, queues, threads, registers;

  static std::optional<std::uint8_t> find(const Index& index, std::string_view name);

  // Takes the name of a node, and adds the node if it is new.
  NodeIndex node(std::string_view name, Program& program);

  // Each takes a token that must name what is declared; `role` says what it is for, as in "the location to load".
  LocationIndex location_on(LineReader& reader, const Program& program, NodeIndex node, std::string_view role) const;
  LocationIndex any_location(LineReader& reader) const;
  QueueIndex queue(LineReader& reader) const;
};

// "a, b, c", cut after a few; "none" where there is none: what an error offers.
std::string listed(const TestNames::Index& index);

}  // namespace ferry::sim::litmus
