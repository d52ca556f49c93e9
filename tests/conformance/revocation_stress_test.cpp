// Readers race with an owner who revokes its memory and uses it for something else at once, again and again.
#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "scenario.hpp"

namespace ferry::conformance {
namespace {

FERRY_CONFORMANCE(RevocationStress);

constexpr std::size_t kReaders = 4;
constexpr int kLooksInARow = 500;   // of the owner, for a reader that runs at this moment
constexpr std::byte kReused{0xff};  // what memory holds while no reference to it is good

// What the owner publishes and the readers tell, in plain memory: the scenario's own, not ferry's.
class Stage {
 public:
  struct Published {
    BufferRef ref;
    std::uint64_t number = 0;  // gives the byte value of the memory; 0: nothing was published yet
  };

  void publish(const std::array<BufferRef, 2>& refs, std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    refs_ = refs;
    number_ = number;
  }
  Published latest(std::size_t holder) const {
    const std::lock_guard lock(mutex_);
    return {refs_[holder], number_};
  }

  // The number that each reader is reading at this moment; 0: none.
  std::array<std::atomic<std::uint64_t>, kReaders> reading{};
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> successes{0};
  std::atomic<std::uint64_t> refusals{0};
  std::atomic<std::uint64_t> wrong_bytes{0};
  std::atomic<std::uint64_t> wrong_errors{0};

 private:
  mutable std::mutex mutex_;
  std::array<BufferRef, 2> refs_;
  std::uint64_t number_ = 0;
};

constexpr std::byte byte_of(std::uint64_t number) noexcept {
  return static_cast<std::byte>(number % 251);
}

// Every word of the buffer may be of another moment, but none of a moment after the revocation.
bool holds_only(std::span<const std::byte> memory, std::byte value) noexcept {
  return memory[0] == value && std::memcmp(memory.data(), memory.data() + 1, memory.size() - 1) == 0;
}

// Reads the latest memory until it is refused, and then waits for the next.
Task<void> read_on(Stage& stage, std::size_t reader, std::size_t holder, std::size_t size, const Cluster& cluster) {
  std::vector<std::byte> local(size);
  for (std::uint64_t refused = 0;;) {
    const Stage::Published published = stage.latest(holder);
    if (stage.over.load()) {
      co_return;
    }
    // On a machine of few cores nobody is to run through its time slice while the others have nothing to run on.
    if (cluster.traits().threads) {
      std::this_thread::yield();
    }
    if (published.number == refused) {
      co_await between_looks(cluster);  // the owner may need this very thread
      continue;
    }
    stage.reading[reader].store(published.number, std::memory_order_seq_cst);
    auto outcome = as_result(published.ref.read_into(std::span(local)));
    const auto result = co_await outcome;
    stage.reading[reader].store(0, std::memory_order_seq_cst);
    if (result) {
      stage.successes.fetch_add(1, std::memory_order_relaxed);
      stage.wrong_bytes.fetch_add(holds_only(local, byte_of(published.number)) ? 0 : 1, std::memory_order_relaxed);
    } else {
      stage.refusals.fetch_add(1, std::memory_order_relaxed);
      stage.wrong_errors.fetch_add(result.error().code() == errc::revoked ? 0 : 1, std::memory_order_relaxed);
      refused = published.number;
    }
  }
}

// True once a reader is in the middle of a read of that number.
bool somebody_reads(const Stage& stage, std::uint64_t number) noexcept {
  for (const auto& reading : stage.reading) {
    if (reading.load(std::memory_order_seq_cst) == number) {
      return true;
    }
  }
  return false;
}

struct Tally {
  std::size_t revocations = 0;
  std::size_t found_busy = 0;  // a reader was inside that very memory when the revocation began
};

// revokes: false leaves out the revocation, which the readers must notice.
Task<Tally> revoke_and_reuse(Cluster& cluster, Stage& stage, std::span<std::byte> memory, std::size_t wanted,
                             bool revokes) {
  Tally tally;
  Context owner = cluster.context(1);
  for (std::uint64_t number = 1; tally.found_busy < wanted; ++number) {
    std::ranges::fill(memory, byte_of(number));
    RDMABuffer buffer = owner.register_memory(memory);
    const BufferRef ref = buffer.ref();
    stage.publish({carry(ref, cluster, 0), carry(ref, cluster, 2)}, number);
    for (int looks = 1; !somebody_reads(stage, number); ++looks) {
      if (!cluster.traits().threads || looks % kLooksInARow == 0) {
        co_await between_looks(cluster);
      }
    }
    // Simulated reads take about as long as a look: some are over by then.
    for (std::uint64_t looks = cluster.traits().threads ? 0 : cluster.random().below(4); looks > 0; --looks) {
      co_await between_looks(cluster);
    }
    const bool looks_busy = somebody_reads(stage, number);
    ++tally.revocations;
    if (revokes) {
      auto revoked = buffer.revoke();
      co_await revoked;
    }
    // What the transport itself has seen counts, where it tells.
    const auto busy = revokes ? cluster.busy_revocations(1) : std::nullopt;
    tally.found_busy = busy ? static_cast<std::size_t>(*busy) : tally.found_busy + (looks_busy ? 1U : 0U);
    std::ranges::fill(memory, kReused);
    if (!revokes) {
      co_await between_looks(cluster);
      for (int looks = 0; looks < kLooksInARow && somebody_reads(stage, number); ++looks) {
        co_await between_looks(cluster);  // its read may be refused still, when the buffer goes
      }
    }
  }
  stage.over.store(true);
  co_return tally;
}

Task<Tally> race(Cluster& cluster, Stage& stage, std::size_t wanted, bool revokes) {
  // Long enough for a reader to be inside most of the time.
  const std::size_t size = cluster.traits().completes_inline && cluster.traits().threads ? 32'768 : 2'048;
  vector<std::byte> memory = cluster.memory<std::byte>(1, size);
  std::vector<Running<void>> readers;
  for (std::size_t reader = 0; reader < kReaders; ++reader) {
    const std::size_t node = reader % 2 == 0 ? 0 : 2;
    readers.push_back(start(cluster.on(node, read_on(stage, reader, node / 2, size, cluster))));
  }
  auto revoking = cluster.on(1, revoke_and_reuse(cluster, stage, memory, wanted, revokes));
  const Tally tally = co_await revoking;
  for (Running<void>& reader : readers) {
    co_await reader;
  }
  co_return tally;
}

Task<void> racing_readers(Cluster& cluster) {
  const Traits& traits = cluster.traits();
  // Few enough for a machine whose cores others use too: there two steps seldom meet. shm's own test arranges that they
  // do, 10^5 times.
  // Where hardware refuses, each refusal costs the reader a queue pair.
  const bool is_dear = !traits.owner_checks_generations;
  const std::size_t wanted = !traits.threads || kSanitized ? 150 : is_dear ? 50 : traits.completes_inline ? 1'000 : 500;
  Stage stage;
  auto racing = race(cluster, stage, wanted, true);
  const Tally tally = co_await racing;
  testing::Test::RecordProperty("revocations", std::to_string(tally.revocations));
  testing::Test::RecordProperty("found_busy", std::to_string(tally.found_busy));
  fmt::print("  {} revocations, {} of them with a reader inside; {} reads succeeded, {} were refused\n",
             tally.revocations, tally.found_busy, stage.successes.load(), stage.refusals.load());
  EXPECT_EQ(stage.wrong_bytes.load(), 0U) << "a read that succeeded holds bytes from after the revocation";
  EXPECT_EQ(stage.wrong_errors.load(), 0U) << "a stale read failed with another error than revoked";
  EXPECT_GT(stage.successes.load(), 0U);
  EXPECT_GE(tally.found_busy, wanted);
}
TEST_P(RevocationStress, ReadersThatRaceWithItNeverSeeMemoryThatWasReused) {
  play(racing_readers, {.nodes = 3, .seeds = 4});
}

Task<void> canary_without_revocation(Cluster& cluster) {
  Stage stage;
  while (stage.wrong_bytes.load() == 0) {  // the watchdog ends it if it is never noticed
    stage.over.store(false);
    auto racing = race(cluster, stage, 100, false);
    co_await racing;
  }
}
TEST_P(RevocationStress, CanaryReuseWithoutRevocationIsNoticed) {
  play(canary_without_revocation, {.nodes = 3, .seeds = 2});
}

}  // namespace
}  // namespace ferry::conformance
