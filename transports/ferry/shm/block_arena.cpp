#include <ferry/shm/block_arena.hpp>

#include <algorithm>
#include <bit>

#include <ferry/base/check.hpp>

namespace ferry::shm {

std::size_t BlockArena::class_bytes(std::size_t index) noexcept {
  if (index < 8) {
    return (index + 1) * 16;
  }
  const std::size_t doubling = (index - 8) / 4;
  return (std::size_t{128} << doubling) / 4 * (5 + (index - 8) % 4);
}

std::size_t BlockArena::class_for(std::size_t bytes, std::size_t alignment) noexcept {
  // A size that is a power of two is aligned to itself (up to kLargestAlignment), and every size to 16.
  const std::size_t wanted = alignment <= 16 ? bytes : std::max(std::bit_ceil(bytes), alignment);
  if (wanted <= 128) {
    return (std::max<std::size_t>(wanted, 1) - 1) / 16;
  }
  const std::size_t doubling = static_cast<std::size_t>(std::bit_width((wanted - 1) / 128)) - 1;
  const std::size_t quarter = (std::size_t{128} << doubling) / 4;
  return 8 + doubling * 4 + (wanted + quarter - 1) / quarter - 5;
}

std::optional<std::uint64_t> BlockArena::allocate(std::size_t bytes, std::size_t alignment) {
  FERRY_CHECK(bytes <= kLargestBlock && alignment <= kLargestAlignment);
  const std::size_t index = class_for(bytes, alignment);
  auto& free = free_[index];
  if (!free.empty()) {
    const std::uint64_t offset = free.back();
    free.pop_back();
    ++live_;
    return offset;
  }
  const std::size_t size = class_bytes(index);
  const std::size_t step = std::min(size & (~size + 1), kLargestAlignment);  // the greatest power of two in it
  const std::uint64_t offset = (used_ + step - 1) / step * step;
  if (offset > size_ || size > size_ - offset) {
    return std::nullopt;
  }
  used_ = offset + size;
  ++live_;
  return offset;
}

void BlockArena::deallocate(std::uint64_t offset, std::size_t bytes, std::size_t alignment) {
  FERRY_CHECK(live_ > 0 && offset < used_);
  if (--live_ > 0) {
    free_[class_for(bytes, alignment)].push_back(offset);
    return;
  }
  used_ = 0;
  for (auto& free : free_) {
    free.clear();
  }
}

}  // namespace ferry::shm
