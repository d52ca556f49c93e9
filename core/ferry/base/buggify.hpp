// buggify, sometimes: two questions that code asks the simulator, in ferry and in programs. Both cost one load of a
// thread-local word where there is none, and change nothing there.
//
//   const std::size_t batch = ferry::buggify("batch of one") ? 1 : 64;      // correct either way, rarely taken
//   ferry::sometimes("a retry was needed", attempts > 1);                   // some run must have come here
//
// Names are literals, one for each place (FoundationDB's habit): exploring reports by them. Any thread.
#pragma once

#include <string_view>

#include <ferry/base/adversity.hpp>

namespace ferry {

// Whether to take, this time, a way that is right and unusual. False outside a simulated world, and in worlds whose
// faults do not include Fault::buggify.
[[nodiscard]] inline bool buggify(std::string_view name) noexcept {
  Adversity* const adversity = Adversity::current();
  return adversity != nullptr && adversity->buggify(name);
}

// A mark: reached where the condition held in at least one world of an exploration, which lists those that were not.
inline void sometimes(std::string_view name, bool condition) noexcept {
  if (Adversity* const adversity = Adversity::current()) {
    adversity->mark(name, condition);
  }
}

}  // namespace ferry
