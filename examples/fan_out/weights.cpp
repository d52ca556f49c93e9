#include "weights.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <system_error>

#include <ferry/base/random.hpp>

namespace fan_out {
namespace {

std::byte byte_at(std::size_t place) noexcept {
  return static_cast<std::byte>(ferry::mix64(place / sizeof(std::uint64_t)) >> 8 * (place % sizeof(std::uint64_t)));
}

}  // namespace

std::span<std::byte> ghost_memory() {
  static void* const base = ::mmap(nullptr, kMostBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), "address space for weights that are not stored");
  }
  return {static_cast<std::byte*>(base), kMostBytes};
}

Weights::Weights(std::uint64_t bytes, bool is_stored)
    : stored_(is_stored ? std::make_unique<std::byte[]>(bytes) : nullptr),
      bytes_(is_stored ? std::span(stored_.get(), bytes) : ghost_memory().first(bytes)) {}

void Weights::generate() noexcept {
  for (std::size_t place = 0; stored_ != nullptr && place < bytes_.size(); ++place) {
    bytes_[place] = byte_at(place);
  }
}

bool Weights::are_right() const noexcept {
  for (std::size_t place = 0; stored_ != nullptr && place < bytes_.size(); ++place) {
    if (bytes_[place] != byte_at(place)) {
      return false;
    }
  }
  return true;
}

}  // namespace fan_out
