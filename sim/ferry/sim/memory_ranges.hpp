// Ranges of memory: whether they overlap, and in words. Internal to MemoryWatch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace ferry::sim {

inline constexpr std::uint64_t kWord = sizeof(std::uint64_t);

inline bool overlap(const std::byte* a, std::uint64_t a_length, const std::byte* b, std::uint64_t b_length) noexcept {
  return a_length > 0 && b_length > 0 && a < b + b_length && b < a + a_length;
}

// Inside one aligned word: never torn where the granule is one at least.
inline bool is_word(const std::byte* at, std::uint64_t length) noexcept {
  return length <= kWord && reinterpret_cast<std::uintptr_t>(at) / kWord ==
                                (reinterpret_cast<std::uintptr_t>(at) + std::max<std::uint64_t>(length, 1) - 1) / kWord;
}

// "byte 3", "bytes 3 to 7": without `to`.
inline std::string bytes_in_words(std::uint64_t from, std::uint64_t to) {
  return from + 1 == to ? fmt::format("byte {}", from) : fmt::format("bytes {} to {}", from, to - 1);
}

}  // namespace ferry::sim
