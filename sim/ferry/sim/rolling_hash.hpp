// RollingHash: a 64-bit digest of everything that happened so far, in order; how two runs are compared.
//
// Not cryptographic. One owner, one thread. The same on every little-endian machine.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include <ferry/base/random.hpp>
#include <ferry/wire/bytes.hpp>

namespace ferry::sim {

class RollingHash {
 public:
  void fold(std::uint64_t value) noexcept { state_ = mix64(state_ ^ value); }

  void fold(wire::ByteView bytes) noexcept {
    std::uint64_t state = state_ ^ bytes.size();
    std::size_t at = 0;
    for (; at + sizeof(std::uint64_t) <= bytes.size(); at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, sizeof word);
      state = std::rotl(state ^ word, 29) * 0x9e3779b97f4a7c15ULL;
    }
    if (at < bytes.size()) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, bytes.size() - at);
      state = std::rotl(state ^ word, 29) * 0x9e3779b97f4a7c15ULL;
    }
    state_ = mix64(state);
  }

  std::uint64_t value() const noexcept { return state_; }

 private:
  std::uint64_t state_ = 0;
};

}  // namespace ferry::sim
