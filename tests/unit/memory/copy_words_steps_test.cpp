// Runs copy_words one instruction at a time (the processor's trap flag) and looks at memory in between: what a racing
// thread could see or do at that moment. Deterministic, where the race of copy_words_test.cpp depends on luck.
#include <ferry/memory/execute.hpp>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstring>

#include <gtest/gtest.h>

#include <sanitizers.hpp>

#if defined(__x86_64__) && !FERRY_TEST_SANITIZED
#define FERRY_CAN_STEP 1
#endif

namespace ferry {
namespace {

#ifdef FERRY_CAN_STEP

constexpr std::size_t kSize = 1024;
alignas(64) std::array<std::byte, kSize> source;
alignas(64) std::array<std::byte, kSize> destination;
std::uint64_t steps = 0;

constexpr std::uint64_t uniform(std::uint64_t turn) {
  return (turn % 251 + 1) * 0x0101010101010101ULL;
}
std::uint64_t word_at(const std::array<std::byte, kSize>& bytes, std::size_t at) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}
bool is_torn(std::uint64_t word) {
  return word != (word & 0xff) * 0x0101010101010101ULL;
}

// After each instruction all words of the source are given one new value, whose bytes are alike.
void renew_source(int) {
  ++steps;
  const std::uint64_t word = uniform(steps);
  for (std::size_t at = 0; at < kSize; at += sizeof word) {
    std::memcpy(source.data() + at, &word, sizeof word);
  }
}

// Both leave the 128 bytes below the stack pointer alone: the compiler may keep something there.
void set_trap_flag() {
  asm volatile("lea -128(%%rsp), %%rsp\n pushfq\n orq $0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::
                   : "memory", "cc");
}
void clear_trap_flag() {
  asm volatile("lea -128(%%rsp), %%rsp\n pushfq\n andq $-0x101, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::
                   : "memory", "cc");
}

using Copy = void (*)(std::byte* to, const std::byte* from, std::size_t count, std::uint64_t total);
void copy_in_words(std::byte* to, const std::byte* from, std::size_t count, std::uint64_t total) {
  copy_words(to, from, count, total);
}
void copy_with_libc(std::byte* to, const std::byte* from, std::size_t count, std::uint64_t) {
  std::memcpy(to, from, count);
}

// The number of whole words of the copied range that were mixed from two moments of the source.
std::size_t torn_words(Copy copy, std::size_t offset, std::size_t count, std::uint64_t total) {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = &renew_source;
  destination.fill(std::byte{0});
  renew_source(0);
  ::sigaction(SIGTRAP, &action, &before);
  const std::uint64_t steps_before = steps;
  set_trap_flag();
  copy(destination.data() + offset, source.data() + offset, count, total);
  clear_trap_flag();
  ::sigaction(SIGTRAP, &before, nullptr);
  EXPECT_GT(steps - steps_before, 3U) << "the processor did not trap";
  std::size_t torn = 0;
  for (std::size_t at = (offset + 7) / 8 * 8; at + 8 <= offset + count; at += 8) {
    torn += is_torn(word_at(destination, at)) ? 1 : 0;
  }
  return torn;
}

TEST(CopyWordsSteps, EveryAlignedWordIsReadByOneInstructionOfAnyCopy) {
  copy_words(destination.data(), source.data(), kSize);  // chooses its loops
  for (const std::uint64_t total : {std::uint64_t{0}, kStreamingBytes}) {
    for (const std::size_t offset : {0, 1, 7, 8, 16, 29, 40}) {
      for (std::size_t count = 0; count + offset < 700; count += count < 24 ? 1 : 39) {
        ASSERT_EQ(torn_words(&copy_in_words, offset, count, total), 0U)
            << count << " bytes at offset " << offset << " of a transfer of " << total;
      }
    }
  }
}

// The canary: a copy whose moves overlap, as libc's do, is caught.
TEST(CopyWordsSteps, TheOverlappingMovesOfLibcAreSeen) {
  std::size_t torn = 0;
  for (std::size_t count = 8; count < 300; ++count) {
    volatile std::size_t unknown = count;
    torn += torn_words(&copy_with_libc, 3, unknown, 0);
  }
  EXPECT_GT(torn, 0U);
}

std::size_t partly_written = 0;

// After each instruction: a word of the destination is the old one or the new one.
void inspect_destination(int) {
  ++steps;
  for (std::size_t at = 0; at < kSize; at += 8) {
    partly_written += is_torn(word_at(destination, at)) ? 1 : 0;
  }
}

TEST(CopyWordsSteps, EveryAlignedWordIsWrittenByOneInstruction) {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = &inspect_destination;
  ::sigaction(SIGTRAP, &action, &before);
  for (const std::uint64_t total : {std::uint64_t{0}, kStreamingBytes}) {
    for (std::size_t offset = 0; offset < 64; offset += 8) {
      for (std::size_t count = 0; count + offset < 700; count += count < 80 ? 8 : 40) {
        destination.fill(std::byte{1});
        source.fill(std::byte{2});
        set_trap_flag();
        copy_words(destination.data() + offset, source.data() + offset, count, total);
        clear_trap_flag();
        ASSERT_EQ(partly_written, 0U) << count << " bytes at offset " << offset;
      }
    }
  }
  ::sigaction(SIGTRAP, &before, nullptr);
}

#else

TEST(CopyWordsSteps, NeedAProcessorThatTrapsAndAPlainBuild) {
  GTEST_SKIP() << "needs an x86-64 processor's trap flag and code that no sanitizer has changed";
}

#endif

}  // namespace
}  // namespace ferry
