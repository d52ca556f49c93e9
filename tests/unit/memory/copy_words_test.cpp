#include <ferry/memory/execute.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ferry/base/random.hpp>

namespace ferry {
namespace {

constexpr std::size_t kMargin = 64;

// A buffer that starts at a multiple of 64, with room on both sides of what a test copies.
class Buffer {
 public:
  explicit Buffer(std::size_t size) : bytes_(size + 3 * kMargin) {
    const auto at = reinterpret_cast<std::uintptr_t>(bytes_.data());
    start_ = bytes_.data() + (kMargin - at % kMargin) % kMargin;
  }
  std::byte* at(std::size_t offset) { return start_ + offset; }
  void fill(std::byte value) { std::fill(bytes_.begin(), bytes_.end(), value); }
  std::size_t differing(std::byte value) const {
    return static_cast<std::size_t>(
        std::count_if(bytes_.begin(), bytes_.end(), [&](std::byte b) { return b != value; }));
  }

 private:
  std::vector<std::byte> bytes_;
  std::byte* start_;
};

void expect_exact_copy(Buffer& to, std::size_t to_offset, Buffer& from, std::size_t from_offset, std::size_t count,
                       std::uint64_t total) {
  constexpr std::byte kGuard{0xEE};  // no byte of the source
  to.fill(kGuard);
  copy_words(to.at(to_offset), from.at(from_offset), count, total);
  ASSERT_EQ(std::memcmp(to.at(to_offset), from.at(from_offset), count), 0)
      << count << " bytes from +" << from_offset << " to +" << to_offset;
  ASSERT_EQ(to.differing(kGuard), count) << count << " bytes from +" << from_offset << " to +" << to_offset;
}

void number(Buffer& buffer, std::size_t size) {
  for (std::size_t index = 0; index < size; ++index) {
    *buffer.at(index) = static_cast<std::byte>(index * 7 % 199);
  }
}

TEST(CopyWords, CopiesEverySmallSizeBetweenEveryAlignmentAndNothingElse) {
  constexpr std::size_t kSizes = 300;
  Buffer from(kSizes + kMargin);
  Buffer to(kSizes + kMargin);
  number(from, kSizes + kMargin);
  for (std::size_t count = 0; count < kSizes; count += count < 70 ? 1 : 7) {
    for (std::size_t from_offset = 0; from_offset < 16; ++from_offset) {
      for (std::size_t to_offset = 0; to_offset < 40; ++to_offset) {
        expect_exact_copy(to, to_offset, from, from_offset, count, count);
      }
    }
  }
}

TEST(CopyWords, CopiesLongOnesOfEveryAlignmentAlsoWhenTheyStream) {
  constexpr std::size_t kSize = 5000;
  Buffer from(kSize + kMargin);
  Buffer to(kSize + kMargin);
  number(from, kSize + kMargin);
  for (const std::uint64_t total : {std::uint64_t{0}, kStreamingBytes}) {
    for (std::size_t count = 400; count < kSize; count = count * 2 + 13) {
      for (std::size_t from_offset = 0; from_offset < 9; ++from_offset) {
        for (std::size_t to_offset = 0; to_offset < 33; ++to_offset) {
          expect_exact_copy(to, to_offset, from, from_offset, count, total);
        }
      }
    }
  }
}

// A word whose bytes are all alike: a mixture of two of them shows.
constexpr std::uint64_t uniform(std::uint64_t turn) {
  return (turn % 251 + 1) * 0x0101010101010101ULL;
}
bool is_torn(std::uint64_t word) {
  return word != (word & 0xff) * 0x0101010101010101ULL;
}

std::uint64_t load_word(const std::byte* at) {
  return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(at)))
      .load(std::memory_order_relaxed);
}
void store_word(std::byte* at, std::uint64_t word) {
  std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(at)).store(word, std::memory_order_relaxed);
}

// Runs `step` until it says enough and `race`, again and again on another thread, has had its turns.
template <class Race, class Step>
void against(Race race, Step step) {
  constexpr std::uint64_t kTurns = 300000;
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> turns{0};
  std::thread racer([&] {
    for (std::uint64_t turn = 0; !stop.load(std::memory_order_relaxed); ++turn) {
      race(turn);
      turns.store(turn, std::memory_order_relaxed);
    }
  });
  while (step() || turns.load(std::memory_order_relaxed) < kTurns) {
  }
  stop.store(true, std::memory_order_relaxed);
  racer.join();
}

constexpr std::size_t kRaced = 640;  // bytes
constexpr int kRounds = 200000;

struct Draw {
  std::size_t offset;
  std::size_t count;
  std::uint64_t total;
};
// Both sides start `offset` bytes behind a word's start.
Draw draw(Random& random) {
  const std::size_t offset = random.below(24);
  return {offset, random.below(kRaced - offset), random.below(4) == 0 ? kStreamingBytes : 0};
}
// Words that lie completely in [offset, offset + count).
template <class Visit>
void for_whole_words(const Draw& drawn, Visit visit) {
  for (std::size_t at = (drawn.offset + 7) / 8 * 8; at + 8 <= drawn.offset + drawn.count; at += 8) {
    visit(at);
  }
}

TEST(CopyWords, NeverReadsAnAlignedWordInParts) {
  constexpr std::uint64_t kSeed = 20260301;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  Buffer shared(kRaced);
  Buffer mine(kRaced);
  shared.fill(std::byte{1});
  std::size_t torn = 0;
  int round = 0;
  against(
      [&](std::uint64_t turn) {
        for (std::size_t at = 0; at < kRaced; at += 8) {
          store_word(shared.at(at), uniform(turn));
        }
      },
      [&] {
        const Draw drawn = draw(random);
        copy_words(mine.at(drawn.offset), shared.at(drawn.offset), drawn.count, drawn.total);
        for_whole_words(drawn, [&](std::size_t at) { torn += is_torn(load_word(mine.at(at))) ? 1 : 0; });
        return ++round < kRounds;
      });
  EXPECT_EQ(torn, 0U);
}

TEST(CopyWords, NeverWritesAnAlignedWordInParts) {
  constexpr std::uint64_t kSeed = 20260302;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  Buffer shared(kRaced);
  Buffer mine(kRaced);
  shared.fill(std::byte{1});
  std::atomic<std::size_t> torn{0};
  int round = 0;
  against(
      [&](std::uint64_t) {
        for (std::size_t at = 32; at + 8 <= kRaced; at += 8) {
          if (is_torn(load_word(shared.at(at)))) {
            torn.fetch_add(1, std::memory_order_relaxed);
          }
        }
      },
      [&] {
        mine.fill(static_cast<std::byte>(round % 251 + 1));
        Draw drawn = draw(random);
        drawn.offset = drawn.offset / 8 * 8 + 32;  // whole words only: a head of single bytes may tear its word
        drawn.count = drawn.count / 8 * 8;
        drawn.count = std::min(drawn.count, kRaced - drawn.offset);
        copy_words(shared.at(drawn.offset), mine.at(drawn.offset), drawn.count, drawn.total);
        return ++round < kRounds;
      });
  EXPECT_EQ(torn.load(), 0U);
}

// The canary: the same race catches a copy of single bytes.
TEST(CopyWords, ACopyOfSingleBytesIsSeenToTear) {
  Buffer shared(kRaced);
  shared.fill(std::byte{1});
  bool torn = false;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  against([&](std::uint64_t turn) { store_word(shared.at(0), uniform(turn)); },
          [&] {
            std::uint64_t word = 0;
            for (unsigned index = 0; index < 8; ++index) {
              auto* byte = reinterpret_cast<unsigned char*>(shared.at(index));
              word |= std::uint64_t{std::atomic_ref<unsigned char>(*byte).load(std::memory_order_relaxed)}
                      << (8 * index);
            }
            torn = is_torn(word);
            return !torn && std::chrono::steady_clock::now() < limit;
          });
  EXPECT_TRUE(torn);
}

}  // namespace
}  // namespace ferry
