// What a program built under a sanitizer does less of, and what it leaves out.
#pragma once

#include <cstddef>

// 1 under AddressSanitizer or ThreadSanitizer: g++ defines macros, clang answers a question.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define FERRY_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define FERRY_TEST_SANITIZED 1
#endif
#endif
#ifndef FERRY_TEST_SANITIZED
#define FERRY_TEST_SANITIZED 0
#endif

namespace ferry::test {

inline constexpr bool kSanitized = FERRY_TEST_SANITIZED != 0;

// How much of a long repetition is done.
constexpr std::size_t repetitions(std::size_t count) noexcept {
  return kSanitized ? (count + 9) / 10 : count;
}

}  // namespace ferry::test
