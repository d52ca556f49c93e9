// fingerprint: 64 bits that stand for a sequence of texts, the same on every platform and at compile time.
//
// For telling apart what differs by accident (two versions of an endpoint), not for security: FNV-1a over each text and
// its length, so that ("ab", "c") and ("a", "bc") differ, and one mixing step at the end.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

#include <ferry/base/random.hpp>

namespace ferry::wire {

template <std::convertible_to<std::string_view>... Text>
constexpr std::uint64_t fingerprint(const Text&... texts) noexcept {
  constexpr std::uint64_t kPrime = 0x100000001b3;
  std::uint64_t hash = 0xcbf29ce484222325;
  [[maybe_unused]] const auto add_text = [&hash](std::string_view text) {
    for (const char character : text) {
      hash = (hash ^ static_cast<unsigned char>(character)) * kPrime;
    }
    for (std::uint64_t size = text.size(), i = 0; i < 8; ++i, size >>= 8) {
      hash = (hash ^ (size & 0xff)) * kPrime;
    }
  };
  (add_text(texts), ...);
  return mix64(hash);
}

}  // namespace ferry::wire
