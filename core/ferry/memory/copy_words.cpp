// Why not memcpy: its tails overlap and `rep movsb` moves bytes, so it writes words in parts (tried: a racing reader
// sees them). Moves of 16 and 32 bytes at addresses that are multiples of 8 do not: processors split them at multiples
// of 8 at most. The loops are kept from being turned back into memcpy by an empty asm in their bodies.
#include <ferry/memory/execute.hpp>

#include <cstdint>
#include <cstring>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FERRY_RACING __attribute__((no_sanitize("thread")))
#endif
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FERRY_CHECKED_COPY 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define FERRY_RACING __attribute__((no_sanitize("thread")))
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define FERRY_CHECKED_COPY 1
#endif
#ifndef FERRY_RACING
#define FERRY_RACING
#endif
#if defined(__x86_64__) && !defined(FERRY_CHECKED_COPY)
#define FERRY_VECTOR_COPY 1
#include <immintrin.h>
#include <atomic>
#endif

namespace ferry {
namespace {

std::size_t past_multiple(const std::byte* at, std::size_t of) noexcept {
  return reinterpret_cast<std::uintptr_t>(at) & (of - 1);
}

FERRY_RACING inline void move_bytes(std::byte*& to, const std::byte*& from, std::size_t count) noexcept {
  for (; count > 0; --count) {
    *const_cast<volatile std::byte*>(to++) = *const_cast<const volatile std::byte*>(from++);
  }
}

FERRY_RACING inline void move_words(std::byte*& to, const std::byte*& from, std::size_t words) noexcept {
  for (; words > 0; --words, to += 8, from += 8) {
    *reinterpret_cast<volatile std::uint64_t*>(to) = *reinterpret_cast<const volatile std::uint64_t*>(from);
  }
}

#ifdef FERRY_VECTOR_COPY

constexpr std::size_t kBlock = 128;          // bytes that one turn of a long loop moves
constexpr std::size_t kLong = 256;           // from here on the long loops are worth their call
constexpr std::size_t kPrefetchAhead = 512;  // bytes; of a streaming copy

inline void not_memcpy() noexcept {
  asm volatile("" ::: "memory");
}

// Copies blocks to `to`, a multiple of 32, from any address.
using MoveBlocks = void(std::byte* to, const std::byte* from, std::size_t blocks) noexcept;

void move_blocks_sse2(std::byte* to, const std::byte* from, std::size_t blocks) noexcept {
  for (; blocks > 0; --blocks, to += kBlock, from += kBlock) {
    for (std::size_t at = 0; at < kBlock; at += 16) {
      const __m128i part = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at));
      _mm_store_si128(reinterpret_cast<__m128i*>(to + at), part);
    }
    not_memcpy();
  }
}

void stream_blocks_sse2(std::byte* to, const std::byte* from, std::size_t blocks) noexcept {
  for (; blocks > 0; --blocks, to += kBlock, from += kBlock) {
    _mm_prefetch(reinterpret_cast<const char*>(from) + kPrefetchAhead, _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(from) + kPrefetchAhead + 64, _MM_HINT_T0);
    for (std::size_t at = 0; at < kBlock; at += 16) {
      const __m128i part = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at));
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + at), part);
    }
    not_memcpy();
  }
  _mm_sfence();  // non-temporal stores are ordered by nothing else
}

__attribute__((target("avx2"))) void move_blocks_avx2(std::byte* to, const std::byte* from,
                                                      std::size_t blocks) noexcept {
  for (; blocks > 0; --blocks, to += kBlock, from += kBlock) {
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 32));
    const __m256i c = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 64));
    const __m256i d = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 96));
    _mm256_store_si256(reinterpret_cast<__m256i*>(to), a);
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + 32), b);
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + 64), c);
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + 96), d);
    not_memcpy();
  }
}

__attribute__((target("avx2"))) void stream_blocks_avx2(std::byte* to, const std::byte* from,
                                                        std::size_t blocks) noexcept {
  for (; blocks > 0; --blocks, to += kBlock, from += kBlock) {
    _mm_prefetch(reinterpret_cast<const char*>(from) + kPrefetchAhead, _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(from) + kPrefetchAhead + 64, _MM_HINT_T0);
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 32));
    const __m256i c = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 64));
    const __m256i d = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 96));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), a);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + 32), b);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + 64), c);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + 96), d);
    not_memcpy();
  }
  _mm_sfence();
}

// The loops that this processor runs; chosen at the first long copy. Any thread may choose: all choose the same.
struct Loops {
  MoveBlocks* move;
  MoveBlocks* stream;
};
constexpr Loops kSSE2{move_blocks_sse2, stream_blocks_sse2};
constexpr Loops kAVX2{move_blocks_avx2, stream_blocks_avx2};
constinit std::atomic<const Loops*> chosen_loops{nullptr};

const Loops& loops() noexcept {
  const Loops* known = chosen_loops.load(std::memory_order_relaxed);
  if (known == nullptr) [[unlikely]] {
    __builtin_cpu_init();
    known = __builtin_cpu_supports("avx2") ? &kAVX2 : &kSSE2;
    chosen_loops.store(known, std::memory_order_relaxed);
  }
  return *known;
}

// Both addresses are multiples of 8; fewer than kLong bytes.
inline void move_short(std::byte*& to, const std::byte*& from, std::size_t words) noexcept {
  for (; words >= 2; words -= 2, to += 16, from += 16) {
    const __m128i part = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), part);
    not_memcpy();
  }
  move_words(to, from, words);
}

inline void move_long(std::byte*& to, const std::byte*& from, std::size_t count, bool streaming) noexcept {
  const std::size_t blocks = count / kBlock;
  (streaming ? loops().stream : loops().move)(to, from, blocks);
  to += blocks * kBlock;
  from += blocks * kBlock;
}

// libc's: a compiler that knew the bound of `count` would put `rep movsb` here, ten times slower at these lengths.
inline void libc_copy(std::byte* to, const std::byte* from, std::size_t count) noexcept {
  asm volatile("" : "+r"(count));
  std::memcpy(to, from, count);
}

void copy_apart(std::byte* to, const std::byte* from, std::size_t count, bool streaming) noexcept {
  if (count >= kLong) {
    const std::size_t head = (32 - past_multiple(to, 32)) % 32;
    libc_copy(to, from, head);
    to += head;
    from += head;
    count -= head;
    move_long(to, from, count, streaming);
    count %= kBlock;
  }
  libc_copy(to, from, count);
}

#endif

}  // namespace

#ifdef FERRY_VECTOR_COPY

namespace {

[[gnu::noinline]] void copy_many(std::byte* to, const std::byte* from, std::size_t count, bool streaming) noexcept {
  if (past_multiple(to, 8) != past_multiple(from, 8)) {
    return copy_apart(to, from, count, streaming);  // no word is aligned on both sides
  }
  if (const std::size_t past = past_multiple(to, 8); past != 0) {
    const std::size_t head = count < 8 - past ? count : 8 - past;
    move_bytes(to, from, head);
    count -= head;
  }
  if (count >= kLong) {
    const std::size_t head = (32 - past_multiple(to, 32)) % 32;
    move_words(to, from, head / 8);
    count -= head;
    move_long(to, from, count, streaming);
    count %= kBlock;
  }
  move_short(to, from, count / 8);
  move_bytes(to, from, count % 8);
}

}  // namespace

// One word, a flag or a counter, is what is copied most often by far, and the only copy that its call would outweigh.
void copy_words(std::byte* to, const std::byte* from, std::size_t count, std::uint64_t total) noexcept {
  if (count == 8 && past_multiple(to, 8) == 0 && past_multiple(from, 8) == 0) [[likely]] {
    move_words(to, from, 1);
  } else {
    copy_many(to, from, count, total >= kStreamingBytes);
  }
}

#else

FERRY_RACING void copy_words(std::byte* to, const std::byte* from, std::size_t count, std::uint64_t) noexcept {
  if (past_multiple(to, 8) == past_multiple(from, 8)) {
    if (const std::size_t past = past_multiple(to, 8); past != 0) {
      const std::size_t head = count < 8 - past ? count : 8 - past;
      move_bytes(to, from, head);
      count -= head;
    }
    move_words(to, from, count / 8);
    count %= 8;
  }
  move_bytes(to, from, count);
}

#endif

}  // namespace ferry
