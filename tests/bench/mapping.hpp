// Mapping: memory that two processes map and nothing of ferry knows: the limit that shared memory is compared with.
//
// The owner makes and touches it; the other process opens it through /proc, as both are of one user. Move-only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace ferry_bench {

// A name by which another process of the user opens it.
struct MappingName {
  std::int32_t process = 0;
  std::int32_t descriptor = -1;
  std::uint64_t bytes = 0;
};

class Mapping {
 public:
  Mapping() = default;
  // Throws std::system_error.
  static Mapping create(std::size_t bytes);
  static Mapping open(const MappingName& name);
  Mapping(Mapping&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), memory_(std::exchange(other.memory_, {})) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~Mapping();

  std::span<std::byte> memory() const noexcept { return memory_; }
  MappingName name() const noexcept;

 private:
  Mapping(int descriptor, std::size_t bytes);

  int descriptor_ = -1;
  std::span<std::byte> memory_;
};

}  // namespace ferry_bench
