// What a memory-polled exchange does to a word between operations, the same for ferry and for bare stores.
#pragma once

#include <atomic>
#include <cstdint>

namespace ferry_bench {

inline void wait_for_word(std::uint64_t& word, std::uint64_t value) noexcept {
  while (std::atomic_ref(word).load(std::memory_order_acquire) != value) {
  }
}

inline void store_word(std::uint64_t& word, std::uint64_t value) noexcept {
  std::atomic_ref(word).store(value, std::memory_order_release);
}

}  // namespace ferry_bench
