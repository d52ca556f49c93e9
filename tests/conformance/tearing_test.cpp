// Aligned 8-byte words never tear (contract: Operations): every word that anybody sees was once stored as a whole.
#include <atomic>
#include <vector>

#include "scenario.hpp"

namespace ferry::conformance {
namespace {

FERRY_CONFORMANCE(Tearing);

// Words whose eight bytes are equal: a mixture of two of them is seen at once.
constexpr std::uint64_t word_of(std::uint64_t number) noexcept {
  return (number % 255 + 1) * 0x0101010101010101ULL;
}
constexpr bool is_whole(std::uint64_t word) noexcept {
  return word == (word & 0xff) * 0x0101010101010101ULL;
}

struct Seen {
  std::uint64_t torn = 0;
  std::uint64_t mixed = 0;  // looks at which words of different stores stood side by side: there was a race
};

void look(std::span<const std::uint64_t> words, Seen& seen) {
  bool mixed = false;
  for (const std::uint64_t word : words) {
    seen.torn += is_whole(word) ? 0U : 1U;
    mixed |= word != words.front();
  }
  seen.mixed += mixed ? 1U : 0U;
}

// The owner stores words with its own instructions until told to stop.
Task<void> store_words(std::span<std::uint64_t> words, std::atomic<bool>& over, const Cluster& cluster) {
  for (std::uint64_t number = 1; !over.load(); ++number) {
    for (std::size_t at = 0; at < words.size(); ++at) {
      std::atomic_ref<std::uint64_t>(words[at]).store(word_of(number), std::memory_order_relaxed);
      if (!cluster.traits().threads && at % 16 == 0) {
        co_await between_looks(cluster);
      }
    }
    co_await between_looks(cluster);
  }
}

// Another process stores them one-sided.
Task<void> write_words(BufferRef memory, std::atomic<bool>& over) {
  std::vector<std::uint64_t> local(memory.size() / 8);
  for (std::uint64_t number = 1; !over.load(); ++number) {
    std::ranges::fill(local, word_of(number));
    co_await memory.write_from(std::span<const std::uint64_t>(local));
  }
}

// Reads until words of different stores were seen side by side often enough, and a number of times at least.
Task<Seen> read_words(BufferRef memory, std::size_t looks, std::size_t mixtures) {
  std::vector<std::uint64_t> local(memory.size() / 8);
  Seen seen;
  for (std::size_t count = 0; count < looks || seen.mixed < mixtures; ++count) {
    co_await memory.read_into(std::span(local));
    look(local, seen);
  }
  co_return seen;
}

// The owner looks with its own instructions.
Task<Seen> load_words(std::span<std::uint64_t> words, std::size_t looks, std::size_t mixtures, const Cluster& cluster) {
  std::vector<std::uint64_t> local(words.size());
  Seen seen;
  for (std::size_t count = 0; count < looks || seen.mixed < mixtures; ++count) {
    for (std::size_t at = 0; at < words.size(); ++at) {
      local[at] = std::atomic_ref<std::uint64_t>(words[at]).load(std::memory_order_relaxed);
    }
    look(local, seen);
    co_await between_looks(cluster);
  }
  co_return seen;
}

struct Size {
  std::size_t words;
  std::size_t looks;
  std::size_t mixtures;
};
std::vector<Size> sizes(const Cluster& cluster) {
  if (!cluster.traits().threads) {
    return {{1, 30, 0}, {7, 30, 0}, {700, 10, 1}};
  }
  return {{1, repetitions(2'000), 0}, {9, repetitions(2'000), 0}, {512, repetitions(500), 3}, {131'073, 5, 5}};
}

Task<void> owner_stores(Cluster& cluster) {
  for (const Size& size : sizes(cluster)) {
    Shared<std::uint64_t> owner(cluster, 1, size.words, word_of(0));
    std::atomic<bool> over{false};
    auto storing = start(cluster.on(1, store_words(owner.values, over, cluster)));
    auto reading = cluster.on(0, read_words(owner.ref(cluster, 0), size.looks, size.mixtures));
    const Seen seen = co_await reading;
    over.store(true);
    co_await storing;
    EXPECT_EQ(seen.torn, 0U) << "reads of " << size.words << " words";
  }
}
TEST_P(Tearing, ReadsNeverTearWordsThatTheOwnerStores) {
  if (traits().tears_words) {
    return;  // exempt by the contract
  }
  play(owner_stores, {.seeds = 6});
}

Task<void> peer_writes(Cluster& cluster) {
  for (const Size& size : sizes(cluster)) {
    Shared<std::uint64_t> owner(cluster, 1, size.words, word_of(0));
    std::atomic<bool> over{false};
    auto writing = start(cluster.on(2, write_words(owner.ref(cluster, 2), over)));
    auto loading = cluster.on(1, load_words(owner.values, size.looks, size.mixtures, cluster));
    const Seen loaded = co_await loading;
    auto reading = cluster.on(0, read_words(owner.ref(cluster, 0), size.looks, 0));
    const Seen read = co_await reading;
    over.store(true);
    co_await writing;
    EXPECT_EQ(loaded.torn, 0U) << "loads of the owner, " << size.words << " words written one-sided";
    EXPECT_EQ(read.torn, 0U) << "reads, " << size.words << " words written one-sided";
  }
}
TEST_P(Tearing, WritesNeverTearWordsForTheOwnerNorForOtherReaders) {
  if (traits().tears_words) {
    return;  // exempt by the contract
  }
  play(peer_writes, {.nodes = 3, .seeds = 6});
}

// The owner stores the halves of a word one after the other: that is torn, and must be seen.
Task<void> store_halves(std::span<std::uint64_t> words, std::atomic<bool>& over, const Cluster& cluster) {
  auto* halves = reinterpret_cast<std::uint32_t*>(words.data());
  for (std::uint64_t number = 1; !over.load(); ++number) {
    for (std::size_t at = 0; at < 2 * words.size(); ++at) {
      std::atomic_ref<std::uint32_t>(halves[at])
          .store(static_cast<std::uint32_t>(word_of(number)), std::memory_order_relaxed);
      if (!cluster.traits().threads && at % 15 == 0) {
        co_await between_looks(cluster);
      }
    }
    co_await between_looks(cluster);
  }
}
Task<void> canary_of_halves(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 512, word_of(0));
  std::atomic<bool> over{false};
  auto storing = start(cluster.on(1, store_halves(owner.values, over, cluster)));
  std::uint64_t torn = 0;
  while (torn == 0) {  // the watchdog ends it if tearing cannot be seen
    auto reading = read_words(owner.ref(cluster, 0), 10, 0);
    const Seen seen = co_await reading;
    torn += seen.torn;
  }
  over.store(true);
  co_await storing;
}
TEST_P(Tearing, CanaryTornWordsAreSeen) {
  play(canary_of_halves, {.seeds = 2});
}

// Pieces that are aligned at both sides inside a list, with odd tails that are not.
Task<void> chunk_lists(Cluster& cluster) {
  constexpr std::size_t kWords = 600;
  Shared<std::uint64_t> owner(cluster, 1, kWords, word_of(0));
  std::atomic<bool> over{false};
  auto storing = start(cluster.on(1, store_words(owner.values, over, cluster)));
  const BufferRef ref = owner.ref(cluster, 0);
  std::vector<std::uint64_t> local(kWords, word_of(0));
  auto* bytes = reinterpret_cast<std::byte*>(local.data());
  const std::array<Chunk, 3> chunks{{{0, bytes, 801}, {1'600, bytes + 1'600, 1'203}, {4'000, bytes + 4'000, 800}}};
  Seen seen;
  for (std::size_t count = 0; count < (cluster.traits().threads ? repetitions(1'000) : 20); ++count) {
    co_await ref.read_into(std::span(chunks));
    look(std::span<const std::uint64_t>(local).first(100), seen);
    look(std::span<const std::uint64_t>(local).subspan(200, 150), seen);
    look(std::span<const std::uint64_t>(local).subspan(500), seen);
  }
  over.store(true);
  co_await storing;
  EXPECT_EQ(seen.torn, 0U);
}
TEST_P(Tearing, AlignedPiecesOfAChunkListNeverTearTheirWords) {
  if (traits().tears_words) {
    return;  // exempt by the contract
  }
  play(chunk_lists, {.seeds = 6});
}

}  // namespace
}  // namespace ferry::conformance
