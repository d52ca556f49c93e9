// Patterns: bytes that tell whose they are and where they belong; guarded local memory. Test code only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <ferry/base/random.hpp>

namespace ferry::conformance {

// The byte at a position of the pattern with that number. Differs from its neighbours and from other patterns.
constexpr std::byte pattern_at(std::uint64_t number, std::uint64_t position) noexcept {
  return static_cast<std::byte>(mix64(number * 0x10001 + position / 8) >> (position % 8 * 8));
}

// Fills memory with the part of a pattern that begins at `from`.
inline void fill_pattern(std::span<std::byte> memory, std::uint64_t number, std::uint64_t from = 0) noexcept {
  for (std::size_t at = 0; at < memory.size(); ++at) {
    memory[at] = pattern_at(number, from + at);
  }
}

// Where memory first differs from the pattern; none if it does not.
inline std::optional<std::size_t> differs_from_pattern(std::span<const std::byte> memory, std::uint64_t number,
                                                       std::uint64_t from = 0) noexcept {
  for (std::size_t at = 0; at < memory.size(); ++at) {
    if (memory[at] != pattern_at(number, from + at)) {
      return at;
    }
  }
  return std::nullopt;
}
inline bool is_pattern(std::span<const std::byte> memory, std::uint64_t number, std::uint64_t from = 0) noexcept {
  return !differs_from_pattern(memory, number, from);
}
inline bool all_are(std::span<const std::byte> memory, std::byte value) noexcept {
  return std::all_of(memory.begin(), memory.end(), [value](std::byte byte) { return byte == value; });
}

// Local memory between guard bytes, for operations that must not touch what lies around it.
class Guarded {
 public:
  static constexpr std::size_t kGuard = 64;
  static constexpr std::byte kGuardByte{0xa7};

  // misalignment: of the first usable byte, modulo 64.
  explicit Guarded(std::size_t size, std::size_t misalignment = 0)
      : bytes_(size + 2 * kGuard + 128, kGuardByte), size_(size) {
    const auto start = reinterpret_cast<std::uintptr_t>(bytes_.data()) + kGuard;
    begin_ = kGuard + (64 - start % 64) % 64 + misalignment % 64;
  }

  std::span<std::byte> bytes() noexcept { return {bytes_.data() + begin_, size_}; }
  std::byte* data() noexcept { return bytes_.data() + begin_; }
  std::size_t size() const noexcept { return size_; }
  void fill(std::byte value) noexcept { std::fill_n(data(), size_, value); }

  bool guards_are_intact() const noexcept {
    const std::span<const std::byte> all(bytes_);
    return all_are(all.first(begin_), kGuardByte) && all_are(all.subspan(begin_ + size_), kGuardByte);
  }

 private:
  std::vector<std::byte> bytes_;
  std::size_t size_;
  std::size_t begin_ = 0;
};

}  // namespace ferry::conformance
