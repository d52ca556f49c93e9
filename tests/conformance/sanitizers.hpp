// How much of a long repetition a program built under a sanitizer does. Test code only.
#pragma once

#include <cstddef>

namespace ferry::conformance {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

constexpr std::size_t repetitions(std::size_t count) noexcept {
  return kSanitized ? (count + 9) / 10 : count;
}

}  // namespace ferry::conformance
