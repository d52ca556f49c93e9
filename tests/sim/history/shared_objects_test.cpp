// Objects that processes share by one-sided operations alone, judged by the linearizability checker: built as the
// contract asks, no seed finds fault; built with a mistake that people make, some seed does, and soon.
#include <array>
#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <ferry/base/as_result.hpp>
#include <ferry/buffer/sequence.hpp>
#include <ferry/sim/history/history.hpp>
#include <ferry/sim/history/linearizability.hpp>

#include "../task_program.hpp"

namespace ferry::sim::test {
namespace {

constexpr std::uint64_t kGoodSeeds = 1000;
constexpr std::uint64_t kBadSeeds = 10'000;  // within which a mistake is found
constexpr std::uint32_t kClients = 3;
constexpr int kRounds = 4;  // of each client

// A world in which an owner holds `words` of memory and clients work on it.
class Shared {
 public:
  // Steps are the clock: two things are never at one instant.
  TimePoint now() const { return TimePoint(Duration(static_cast<std::int64_t>(world->scheduler().steps()))); }

  World* world = nullptr;
  Board board;
  History history;
  std::vector<std::uint64_t> memory;
  AtomicDomain domain{};
  std::uint32_t ended = 0;
};

using Client = std::function<Task<void>(Island&, Shared&, BufferRef, std::uint32_t)>;
using OwnerWork = std::function<Task<void>(Island&, Shared&)>;

Task<void> own(Island& island, Shared& shared, OwnerWork work) {
  RDMABuffer buffer = register_memory(island.node(), std::span(shared.memory), {.atomics = shared.domain});
  shared.board.post("memory", island, buffer);
  if (work) {
    auto working = work(island, shared);
    co_await working;
  }
  while (shared.ended < kClients) {
    co_await sleep_for(100us);
  }
}

Task<void> use(Island& island, Shared& shared, Client client, std::uint32_t number) {
  const BufferRef memory = co_await wait_for(shared.board, "memory", island);
  std::array<std::uint64_t, 1> word{};
  co_await memory.subrange(0, 8).read_into(std::span(word));  // the channel is open when the work begins
  auto working = client(island, shared, memory, number);
  co_await working;
  ++shared.ended;
}

struct Object {
  std::size_t words;
  Client client;
  OwnerWork owner = nullptr;
  AtomicDomain domain = AtomicDomain::cpu;
};

// The first seed below `seeds` whose history the model does not explain.
template <class Model>
std::optional<std::uint64_t> first_fault(const Model& model, std::uint64_t seeds, const Object& object,
                                         std::string* text = nullptr) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    Shared shared;
    shared.memory.resize(object.words);
    shared.domain = object.domain;
    World world({.seed = seed});
    shared.world = &world;
    world.start("owner", run_task([&](Island& island) { return own(island, shared, object.owner); }));
    for (std::uint32_t client = 0; client < kClients; ++client) {
      world.start("client", run_task([&shared, &object, client](Island& island) {
                    return use(island, shared, object.client, client);
                  }));
    }
    const WorldResult result = world.run();
    EXPECT_EQ(result.outcome, Outcome::passed) << result.to_text();
    const Verdict verdict = check_linearizable(model, shared.history.calls());
    EXPECT_NE(verdict.kind, Verdict::Kind::undecided) << "seed " << seed;
    if (!verdict) {
      if (text != nullptr) {
        *text = verdict.text;
      }
      return seed;
    }
  }
  return std::nullopt;
}

#define EXPECT_EXPLAINED(model, object)                                                        \
  do {                                                                                         \
    std::string why;                                                                           \
    const auto fault = first_fault(model, kGoodSeeds, object, &why);                           \
    EXPECT_FALSE(fault) << "WorldOptions::seed=" << fault.value_or(0) << " shows it: " << why; \
  } while (false)
#define EXPECT_CAUGHT(model, object)                                                                         \
  do {                                                                                                       \
    std::string why;                                                                                         \
    const auto fault = first_fault(model, kBadSeeds, object, &why);                                          \
    EXPECT_TRUE(fault) << "no seed shows it";                                                                \
    std::printf("caught at seed %llu: %s", static_cast<unsigned long long>(fault.value_or(0)), why.c_str()); \
  } while (false)

std::int64_t number(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

// --- A counter: word 0.

Task<void> count(Island&, Shared& shared, BufferRef memory, std::uint32_t client) {
  for (int round = 0; round < kRounds; ++round) {
    const auto call = shared.history.begin(client, 0, {.method = Method::fetch_add, .argument = {1}}, shared.now());
    const std::uint64_t old = co_await memory.fetch_add(1);
    shared.history.end(call, {number(old)}, shared.now());
  }
}

// Reads, adds, writes.
Task<void> count_without_atomics(Island&, Shared& shared, BufferRef memory, std::uint32_t client) {
  for (int round = 0; round < kRounds; ++round) {
    const auto call = shared.history.begin(client, 0, {.method = Method::fetch_add, .argument = {1}}, shared.now());
    std::array<std::uint64_t, 1> word{};
    co_await memory.read_into(std::span(word));
    const std::uint64_t old = word[0]++;
    co_await memory.write_from(std::span(word));
    shared.history.end(call, {number(old)}, shared.now());
  }
}

// Gives up waiting now and then. Whoever knows the contract counts the attempt as one of unknown outcome; whoever does
// not takes the next one for the same.
Task<void> count_with_retries(Shared& shared, BufferRef memory, std::uint32_t client, bool counts_attempts) {
  const ObjectInput add{.method = Method::fetch_add, .argument = {1}};
  for (int round = 0; round < kRounds; ++round) {
    auto call = shared.history.begin(client, 0, add, shared.now());
    for (Duration patience = 2us;; patience *= 8) {
      const AtomicOptions options{.timeout = patience};
      const Result<std::uint64_t> old = co_await as_result(memory.fetch_add(1, options));
      if (old) {
        shared.history.end(call, {number(*old)}, shared.now());
        break;
      }
      require(old.error().code() == errc::timed_out, old.error().to_text());
      if (counts_attempts && old.error().effect() == Effect::unknown) {
        call = shared.history.begin(client, 0, add, shared.now());
      }
    }
  }
}

// The owner counts too, by its CPU's own atomic instructions, while clients are at work.
Task<void> count_by_cpu(Island&, Shared& shared) {
  while (shared.ended < kClients) {
    const auto call = shared.history.begin(kClients, 0, {.method = Method::fetch_add, .argument = {1}}, shared.now());
    const std::uint64_t old = std::atomic_ref(shared.memory[0]).fetch_add(1);
    shared.history.end(call, {number(old)}, shared.now());
    co_await sleep_for(1us);
  }
}

TEST(SharedCounter, ByFetchAddIsOne) {
  EXPECT_EXPLAINED(RegisterModel{}, (Object{1, count}));
}
TEST(SharedCounter, ByReadAndWriteLosesUpdates) {
  EXPECT_CAUGHT(RegisterModel{}, (Object{1, count_without_atomics}));
}
TEST(SharedCounter, ByFetchAddOfTheNICIsOne) {
  EXPECT_EXPLAINED(RegisterModel{}, (Object{1, count, nullptr, AtomicDomain::nic}));
}
TEST(SharedCounter, ByFetchAddOfTheCPUAndOfClientsIsOneInTheCPUsDomain) {
  EXPECT_EXPLAINED(RegisterModel{}, (Object{1, count, count_by_cpu, AtomicDomain::cpu}));
}
TEST(SharedCounter, AtomicsOfTheNICMixedWithThoseOfTheCPULoseUpdates) {
  EXPECT_CAUGHT(RegisterModel{}, (Object{1, count, count_by_cpu, AtomicDomain::nic}));
}
TEST(SharedCounter, AttemptsOfUnknownOutcomeCountAsSuch) {
  EXPECT_EXPLAINED(RegisterModel{}, (Object{1, [](Island&, Shared& shared, BufferRef memory, std::uint32_t client) {
                                              return count_with_retries(shared, memory, client, true);
                                            }}));
}
TEST(SharedCounter, RetryOfAnAtomicAfterAnUnknownOutcomeCountsTwice) {
  EXPECT_CAUGHT(RegisterModel{}, (Object{1, [](Island&, Shared& shared, BufferRef memory, std::uint32_t client) {
                                           return count_with_retries(shared, memory, client, false);
                                         }}));
}

// --- A spin lock, word 0, around a plain counter, word 1.

enum class Unlock { delivered, unflushed, flushed };

Task<void> lock_and_count(Shared& shared, BufferRef memory, std::uint32_t client, Unlock way) {
  const BufferRef lock = memory.subrange(0, 8);
  const BufferRef counter = memory.subrange(8, 8);
  std::array<std::uint64_t, 1> free{0};
  std::array<std::uint64_t, 1> word{};
  const WriteOptions data{.completion = way == Unlock::delivered ? delivered : transmitted};
  for (int round = 0; round < kRounds; ++round) {
    for (;;) {
      const std::uint64_t holder = co_await lock.compare_swap(0, client + 1);
      if (holder == 0) {
        break;
      }
      co_await sleep_for(3us);
    }
    const auto call = shared.history.begin(client, 0, {.method = Method::fetch_add, .argument = {1}}, shared.now());
    co_await counter.read_into(std::span(word));
    const std::uint64_t old = word[0]++;
    co_await counter.write_from(std::span(word), data);
    if (way == Unlock::flushed) {
      co_await counter.flush();
    }
    shared.history.end(call, {number(old)}, shared.now());
    co_await lock.write_from(std::span(free));
  }
}

TEST(SpinLock, ThatIsReleasedAfterWhatItProtectsIsDeliveredProtects) {
  for (const Unlock way : {Unlock::delivered, Unlock::flushed}) {
    EXPECT_EXPLAINED(RegisterModel{},
                     (Object{2, [way](Island&, Shared& shared, BufferRef memory, std::uint32_t client) {
                               return lock_and_count(shared, memory, client, way);
                             }}));
  }
}
TEST(SpinLock, UnlockBeforeAnUnflushedWriteIsDeliveredProtectsNothing) {
  EXPECT_CAUGHT(RegisterModel{}, (Object{2, [](Island&, Shared& shared, BufferRef memory, std::uint32_t client) {
                                           return lock_and_count(shared, memory, client, Unlock::unflushed);
                                         }}));
}

// --- A mailbox ring in the owner's memory: word 0 gives tickets; slots of a value and a stamp follow. The owner
// takes.

constexpr std::size_t kSlots = 4;

enum class Post { in_sequence, not_awaited };

Task<void> post_mail(Shared& shared, BufferRef memory, std::uint32_t client, Post way) {
  for (int round = 0; round < kRounds; ++round) {
    std::array<std::uint64_t, 1> value{1 + client * 100 + static_cast<std::uint64_t>(round)};
    const auto call =
        shared.history.begin(client, 0, {.method = Method::push, .argument = {number(value[0])}}, shared.now());
    const std::uint64_t ticket = co_await memory.fetch_add(1);
    const BufferRef slot = memory.subrange(8 + 16 * (ticket % kSlots), 16);
    std::array<std::uint64_t, 1> stamp{};
    for (;;) {  // until its last value has been taken: the owner then adds one to its stamp
      co_await slot.subrange(8, 8).read_into(std::span(stamp));
      if (stamp[0] == 2 * (ticket / kSlots)) {
        break;
      }
      co_await sleep_for(3us);
    }
    stamp[0] += 1;
    auto first = slot.subrange(0, 8).write_from(std::span(value));
    auto second = slot.subrange(8, 8).write_from(std::span(stamp));
    if (way == Post::in_sequence) {
      Sequence sequence;
      sequence.add(std::move(first));
      sequence.add(std::move(second));
      auto run = sequence.run();
      const Outcomes outcomes = co_await run;
      require(outcomes.all_succeeded(), "a member failed");
    } else {
      auto value_on_its_way = start(std::move(first));
      auto stamp_on_its_way = start(std::move(second));
      co_await value_on_its_way;
      co_await stamp_on_its_way;
    }
    shared.history.end(call, {1}, shared.now());
  }
}

Task<void> take_mail(Island&, Shared& shared) {
  for (std::uint64_t ticket = 0; ticket < kClients * kRounds; ++ticket) {
    const auto call = shared.history.begin(kClients, 0, {.method = Method::pop}, shared.now());
    const std::size_t slot = 1 + 2 * (ticket % kSlots);
    while (shared.memory[slot + 1] != 2 * (ticket / kSlots) + 1) {
      co_await sleep_for(700ns);
    }
    const std::uint64_t value = shared.memory[slot];
    shared.memory[slot + 1] += 1;
    shared.history.end(call, {number(value)}, shared.now());
  }
}

TEST(MailboxRing, WithTheStampBehindTheValueIsAQueue) {
  EXPECT_EXPLAINED(QueueModel{}, (Object{1 + 2 * kSlots,
                                         [](Island&, Shared& shared, BufferRef memory, std::uint32_t client) {
                                           return post_mail(shared, memory, client, Post::in_sequence);
                                         },
                                         take_mail}));
}
TEST(MailboxRing, StampThatIsNotOrderedBehindTheValueLosesMail) {
  EXPECT_CAUGHT(QueueModel{}, (Object{1 + 2 * kSlots,
                                      [](Island&, Shared& shared, BufferRef memory, std::uint32_t client) {
                                        return post_mail(shared, memory, client, Post::not_awaited);
                                      },
                                      take_mail}));
}

// --- A versioned buffer: word 0 is the version, odd while client 0 writes; the others read.

constexpr std::size_t kBufferWords = 6;

Words words_of(std::span<const std::uint64_t> values) {
  Words words;
  for (const std::uint64_t value : values) {
    words.push_back(number(value));
  }
  return words;
}

Task<void> write_versions(Shared& shared, BufferRef memory) {
  const BufferRef version = memory.subrange(0, 8);
  const BufferRef data = memory.subrange(8, 8 * kBufferWords);
  std::array<std::uint64_t, kBufferWords> values{};
  for (std::uint64_t round = 1; round <= 2 * kRounds; ++round) {
    values.fill(round);
    const auto call = shared.history.begin(0, 0, {.method = Method::write, .argument = words_of(values)}, shared.now());
    std::array<std::uint64_t, 1> mark{2 * round - 1};
    co_await version.write_from(std::span(mark));
    co_await data.write_from(std::span(values));
    mark[0] += 1;
    co_await version.write_from(std::span(mark));
    shared.history.end(call, {}, shared.now());
  }
}

// Once: the version and the data by one read. Otherwise version, data, version again, each awaited.
Task<void> read_versions(Shared& shared, BufferRef memory, std::uint32_t client, bool once) {
  const BufferRef version = memory.subrange(0, 8);
  const BufferRef data = memory.subrange(8, 8 * kBufferWords);
  for (int round = 0; round < kRounds; ++round) {
    const auto call = shared.history.begin(client, 0, {.method = Method::read}, shared.now());
    std::array<std::uint64_t, 1 + kBufferWords> all{};
    const std::span<std::uint64_t> values = std::span(all).subspan(1);
    for (;;) {
      if (once) {
        co_await memory.read_into(std::span(all));
        if (all[0] % 2 == 0) {
          break;
        }
        continue;
      }
      std::array<std::uint64_t, 1> after{};
      co_await version.read_into(std::span(all).first<1>());
      co_await data.read_into(values);
      co_await version.read_into(std::span(after));
      if (all[0] % 2 == 0 && after[0] == all[0]) {
        break;
      }
    }
    shared.history.end(call, words_of(values), shared.now());
  }
}

Object versioned(bool once) {
  return {1 + kBufferWords, [once](Island&, Shared& shared, BufferRef memory, std::uint32_t client) {
            return client == 0 ? write_versions(shared, memory) : read_versions(shared, memory, client, once);
          }};
}

TEST(VersionedBuffer, ReadBetweenTwoLooksAtItsVersionIsWhole) {
  EXPECT_EXPLAINED(RegisterModel(Words(kBufferWords, 0)), versioned(false));
}
TEST(VersionedBuffer, ReadWithItsVersionByOneReadIsTorn) {
  EXPECT_CAUGHT(RegisterModel(Words(kBufferWords, 0)), versioned(true));
}

}  // namespace
}  // namespace ferry::sim::test
