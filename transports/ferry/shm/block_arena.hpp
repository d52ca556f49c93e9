// BlockArena: divides one stretch of memory into blocks of some fifty sizes; a free list for each size.
//
// Knows offsets only and never touches the memory itself: peers may write there, and whatever they write must not lead
// this process astray. Not thread-safe; SegmentAllocator guards it. All O(1). Blocks are not merged: an arena whose
// last block comes back starts afresh instead.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ferry::shm {

class BlockArena {
 public:
  static constexpr std::size_t kLargestBlock = std::size_t{256} << 10;  // bytes
  static constexpr std::size_t kLargestAlignment = 4096;

  explicit BlockArena(std::uint64_t size) noexcept : size_(size) {}

  // The offset of a block of at least `bytes` at a multiple of `alignment` (a power of two), both at most the constants
  // above; the arena itself starts at a multiple of kLargestAlignment. None: no room.
  std::optional<std::uint64_t> allocate(std::size_t bytes, std::size_t alignment);
  // The same numbers as in allocate().
  void deallocate(std::uint64_t offset, std::size_t bytes, std::size_t alignment);

  bool empty() const noexcept { return live_ == 0; }  // no block is out

 private:
  static constexpr std::size_t kClasses = 8 + 4 * 11;  // 16 to 128 in steps of 16, then four to each doubling

  static std::size_t class_for(std::size_t bytes, std::size_t alignment) noexcept;
  static std::size_t class_bytes(std::size_t index) noexcept;

  std::uint64_t size_;
  std::uint64_t used_ = 0;  // from here on nothing was handed out yet
  std::uint64_t live_ = 0;  // blocks
  std::array<std::vector<std::uint64_t>, kClasses> free_{};
};

}  // namespace ferry::shm
