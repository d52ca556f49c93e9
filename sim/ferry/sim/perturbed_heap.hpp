// PerturbedHeap: a heap of another shape while it lives, so that what hangs on addresses or on memory that nobody wrote
// goes another way.
//
// Blocks of many sizes, written all over; half of them are given back, so that what is allocated next lies elsewhere
// and is not zero. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include <ferry/base/random.hpp>

namespace ferry::sim {

class PerturbedHeap {
 public:
  explicit PerturbedHeap(std::uint64_t seed, std::size_t blocks = 20'000) {
    Random random(seed);
    blocks_.reserve(blocks);
    for (std::size_t block = 0; block < blocks; ++block) {
      const std::size_t size = 1 + random.below(std::uint64_t{1} << (4 + random.below(9)));
      blocks_.push_back(std::make_unique<unsigned char[]>(size));  // NOLINT: raw blocks are the point
      std::memset(blocks_.back().get(), 0xa5, size);
    }
    for (auto& block : blocks_) {
      if (random.below(2) == 0) {
        block.reset();
      }
    }
  }
  PerturbedHeap(PerturbedHeap&&) = default;

 private:
  std::vector<std::unique_ptr<unsigned char[]>> blocks_;  // NOLINT: as above
};

}  // namespace ferry::sim
