#include <ferry/memory/execute.hpp>

#include <cstdint>
#include <cstring>

#if defined(__SANITIZE_THREAD__)
#define FERRY_RACING __attribute__((no_sanitize("thread")))
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FERRY_RACING __attribute__((no_sanitize("thread")))
#endif
#endif
#ifndef FERRY_RACING
#define FERRY_RACING
#endif

namespace ferry {

FERRY_RACING void copy_words(std::byte* to, const std::byte* from, std::size_t count) noexcept {
  const auto misaligned = [](const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at) & 7U; };
  if (misaligned(to) == misaligned(from)) {
    while (count > 0 && misaligned(to) != 0) {
      *const_cast<volatile std::byte*>(to++) = *from++;
      --count;
    }
    for (; count >= 8; count -= 8, to += 8, from += 8) {
      *reinterpret_cast<volatile std::uint64_t*>(to) = *reinterpret_cast<const volatile std::uint64_t*>(from);
    }
  }
  while (count > 0) {
    *const_cast<volatile std::byte*>(to++) = *reinterpret_cast<const volatile std::byte*>(from++);
    --count;
  }
}

}  // namespace ferry
