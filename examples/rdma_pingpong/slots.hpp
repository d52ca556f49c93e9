// Slots: equal pieces of memory with guard bytes before and behind each, filled with patterns that can be checked.
// The two processes make theirs alike, so that a slot has the same offset in both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <ferry/buffer/allocator.hpp>

namespace rdma_pingpong {

class Slots {
 public:
  Slots() = default;
  // Memory of the node: what a transport must do to reach it quickly is done once. Slots begin at multiples of 64.
  // Throws ferry::Error (resource_exhausted) or std::bad_alloc.
  Slots(std::uint64_t count, std::uint64_t bytes);

  std::uint64_t count() const noexcept { return count_; }
  std::uint64_t bytes() const noexcept { return bytes_; }  // of one slot

  // Everything, guards included: what is registered, so that a transport that goes too far would hit a guard.
  std::span<std::byte> all() noexcept;
  // Where a slot begins, in bytes from the start of all().
  static std::uint64_t offset(std::uint64_t slot, std::uint64_t bytes_per_slot) noexcept;
  std::span<std::byte> slot(std::uint64_t slot) noexcept { return all().subspan(offset(slot, bytes_), bytes_); }

  // Fills every slot with the pattern of (seed, slot).
  void fill(std::uint64_t seed);

  // Empty, or the first byte that is not as it should be.
  std::string check_guards() const;
  std::string check(std::uint64_t seed, std::uint64_t first_slots) const;  // guards too

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };

  static std::uint64_t lines_for(std::uint64_t bytes) noexcept { return 2 + (bytes + sizeof(Line) - 1) / sizeof(Line); }
  std::span<const std::byte> all() const noexcept;

  std::uint64_t count_ = 0;
  std::uint64_t bytes_ = 0;
  ferry::vector<Line> lines_;
};

// The pattern of (seed, slot), for any memory.
void fill_pattern(std::span<std::byte> memory, std::uint64_t seed, std::uint64_t slot);
// Empty, or the first byte that is not as it should be.
std::string check_pattern(std::span<const std::byte> memory, std::uint64_t seed, std::uint64_t slot);

}  // namespace rdma_pingpong
