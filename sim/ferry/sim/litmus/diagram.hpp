// A run as a space-time diagram: self-contained SVG, time downwards, one event a row, with a legend.
#pragma once

#include <string>

#include <ferry/sim/litmus/narration.hpp>

namespace ferry::sim::litmus {

struct DiagramText {
  std::string title;   // "L08 under portable"
  std::string note;    // below it: what the test is about, what the run shows
  std::string footer;  // below the diagram: the final state
};

std::string to_svg(const Narration& narration, const DiagramText& text);

}  // namespace ferry::sim::litmus
