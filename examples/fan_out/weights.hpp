// Weights: the memory of one process that the weights stand in, or the ghost of it.
//
// The contents are generated: each word is a function of its place. Where they are stored, they can be checked. A ghost
// is a range of address space that nobody can touch; one serves every process of the simulated cluster, whose NICs take
// the time to move it, and move nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace fan_out {

// The address space of all ghosts: the same for every call. Throws std::system_error if the system refuses it.
inline constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;
std::span<std::byte> ghost_memory();

class Weights {
 public:
  // bytes: at most kMostBytes of ghosts.
  Weights(std::uint64_t bytes, bool is_stored);

  std::span<std::byte> bytes() const noexcept { return bytes_; }

  // Makes the contents, where they are stored.
  void generate() noexcept;
  // Whether these are the contents that generate() makes; true of ghosts.
  bool are_right() const noexcept;

 private:
  std::unique_ptr<std::byte[]> stored_;  // null: ghosts
  std::span<std::byte> bytes_;
};

}  // namespace fan_out
