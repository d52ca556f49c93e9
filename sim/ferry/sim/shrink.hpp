// make_small: of a world that failed, fewer processes, commands and faults (Part), fewer hosts, a shorter list of
// choices. Internal to explore().
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include <ferry/sim/choice_list.hpp>
#include <ferry/sim/world.hpp>

namespace ferry::sim {

// With its seed: a failure that runs again.
struct SmallWorld {
  std::size_t hosts = 1;
  ChoiceList choices;
  WorldResult result;
};

// How such a world ends, if it fails by the same name.
using Attempt = std::function<std::optional<WorldResult>(std::size_t hosts, const ChoiceList& choices)>;

// The smallest found in so many attempts. parts: of the world that failed, those that may be left out.
SmallWorld make_small(SmallWorld found, std::vector<Part> parts, std::size_t runs, const Attempt& attempt);

// Of a list of choices: those that are not lines about parts.
std::size_t count_choices(const ChoiceList& choices) noexcept;

}  // namespace ferry::sim
