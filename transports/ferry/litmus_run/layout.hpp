// Layout: where the locations of many runs of one litmus program lie in each node's memory, so that a run never meets
// another's words.
//
// Every node has room for all locations of the program and uses its own: one index serves all. Values only; any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <ferry/sim/litmus/program.hpp>

namespace ferry::litmus_run {

namespace litmus = sim::litmus;

inline constexpr std::size_t kCacheLine = 64;  // bytes

// How many runs are laid out side by side, and go on without the others' waiting for their results.
inline constexpr std::size_t kMaxSlots = 512;
inline constexpr std::size_t kMaxBatchBytes = std::size_t{1} << 20;  // of a node's memory, unless one run takes more

struct Layout {
  std::size_t locations = 0;
  std::size_t stride = kCacheLine;  // bytes from one location to the next: a line for each, or a word
  std::size_t slots = 1;

  std::size_t slot_bytes() const noexcept {
    return std::max(kCacheLine, (locations * stride + kCacheLine - 1) / kCacheLine * kCacheLine);
  }
  std::size_t bytes() const noexcept { return slots * slot_bytes(); }
  std::size_t offset(std::size_t slot, litmus::LocationIndex location) const noexcept {
    return slot * slot_bytes() + location * stride;
  }
};

inline Layout layout_of(const litmus::Program& program, std::size_t stride = kCacheLine) noexcept {
  Layout layout{program.locations.size(), stride, 1};
  layout.slots = std::clamp<std::size_t>(kMaxBatchBytes / layout.slot_bytes(), 1, kMaxSlots);
  return layout;
}

}  // namespace ferry::litmus_run
