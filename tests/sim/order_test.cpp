// What the fabric orders and what it does not: programs that rely on more than the contract promises fail within 1,000
// seeds; those that do not never do.
#include <set>

#include <gmock/gmock.h>

#include <ferry/buffer/batch.hpp>
#include <ferry/buffer/sequence.hpp>

#include "task_program.hpp"

namespace ferry::sim::test {
namespace {

constexpr std::uint64_t kSeeds = 1000;

// How a writer publishes 32 words and then a flag.
enum class Way { not_awaited, not_awaited_chunks, awaited, sequence, transmitted, transmitted_and_flushed, notified };

struct Mailbox {
  std::array<std::uint64_t, 32> data{};
  alignas(8) std::uint64_t flag = 0;
};

Task<void> publish(Island& island, Board& board, Way way) {
  BufferRef data = co_await wait_for(board, "data", island);
  BufferRef flag = co_await wait_for(board, "flag", island);
  std::array<std::uint64_t, 32> words{};
  words.fill(1);
  std::uint64_t one = 1;
  // One round trip first, so that the channel is open and both writes start at once.
  co_await flag.read_into(std::span(&one, 1));
  one = 1;
  switch (way) {
    case Way::not_awaited: {
      auto first = start(data.write_from(std::span(words)));
      auto second = start(flag.write_from(std::span(&one, 1)));
      co_await first;
      co_await second;
      break;
    }
    case Way::not_awaited_chunks: {
      Batch batch;
      batch.add(data.write_from(std::span(words)));
      batch.add(flag.write_from(std::span(&one, 1)));
      auto run = batch.run();
      co_await run;
      break;
    }
    case Way::awaited:
      co_await data.write_from(std::span(words));
      co_await flag.write_from(std::span(&one, 1));
      break;
    case Way::sequence: {
      Sequence sequence;
      sequence.add(data.write_from(std::span(words)));
      sequence.add(flag.write_from(std::span(&one, 1)));
      auto run = sequence.run();
      const Outcomes outcomes = co_await run;
      require(outcomes.all_succeeded(), "a member of the sequence failed");
      break;
    }
    case Way::transmitted: {
      const WriteOptions options{.completion = transmitted};
      co_await data.write_from(std::span(words), options);
      co_await flag.write_from(std::span(&one, 1));
      break;
    }
    case Way::transmitted_and_flushed: {
      const WriteOptions options{.completion = transmitted};
      co_await data.write_from(std::span(words), options);
      co_await data.flush();
      co_await flag.write_from(std::span(&one, 1));
      break;
    }
    case Way::notified: {
      const WriteOptions options{.notify = 42};
      co_await data.write_from(std::span(words), options);
      break;
    }
  }
}

Task<void> take_mail(Island& island, Board& board, Way way, int& torn) {
  Mailbox mail;
  RDMABuffer data = register_memory(island.node(), std::span(mail.data));
  RDMABuffer flag = register_memory(island.node(), std::span(&mail.flag, 1));
  auto notifications = data.notifications();
  board.post("data", island, data);
  board.post("flag", island, flag);
  if (way == Way::notified) {
    auto next = notifications.next();
    require(co_await next == 42, "another tag");
  } else {
    while (mail.flag == 0) {
      co_await sleep_for(500ns);
    }
  }
  const bool complete = std::all_of(mail.data.begin(), mail.data.end(), [](std::uint64_t word) { return word == 1; });
  torn += complete ? 0 : 1;
  co_await sleep_for(5s);
}

// Worlds among the first 1,000 seeds in which the flag came before the data; stops at the first.
int torn_in(Way way) {
  int torn = 0;
  for (std::uint64_t seed = 0; seed < kSeeds && torn == 0; ++seed) {
    Board board;
    World world({.seed = seed});
    world.start("reader", run_task([&](Island& island) { return take_mail(island, board, way, torn); }));
    world.start("writer", run_task([&](Island& island) { return publish(island, board, way); }));
    const WorldResult result = world.run();
    EXPECT_EQ(result.outcome, Outcome::passed) << result.to_text();
  }
  return torn;
}

TEST(Order, ADataWriteThatIsNotAwaitedMayLandBehindTheFlag) {
  EXPECT_GT(torn_in(Way::not_awaited), 0);
}

TEST(Order, MembersOfABatchHaveNoOrder) {
  EXPECT_GT(torn_in(Way::not_awaited_chunks), 0);
}

TEST(Order, ATransmittedWriteMayLandBehindALaterDeliveredOne) {
  EXPECT_GT(torn_in(Way::transmitted), 0);
}

TEST(Order, AnAwaitBetweenDataAndFlagOrdersThem) {
  EXPECT_EQ(torn_in(Way::awaited), 0);
}

TEST(Order, ASequenceOrdersItsMembers) {
  EXPECT_EQ(torn_in(Way::sequence), 0);
}

TEST(Order, AFlushOrdersTransmittedWritesBeforeWhatFollows) {
  EXPECT_EQ(torn_in(Way::transmitted_and_flushed), 0);
}

TEST(Order, ANotificationComesBehindItsBytes) {
  EXPECT_EQ(torn_in(Way::notified), 0);
}

// A reader and a writer of the same words at the same time.
Task<void> overwrite(Island& island, Board& board, std::size_t misalignment) {
  BufferRef all = co_await wait_for(board, "words", island);
  BufferRef words = all.subrange(misalignment, 64);
  std::array<std::uint64_t, 8> ones{};
  ones.fill(~std::uint64_t{0});
  co_await words.write_from(std::span(ones));
}

Task<void> watch(Island& island, Board& board, std::size_t misalignment, std::set<std::uint64_t>& seen, int& mixed) {
  std::array<std::uint64_t, 9> memory{};
  RDMABuffer buffer = register_memory(island.node(), std::span(memory));
  board.post("words", island, buffer);
  std::array<std::uint64_t, 8> words{};
  for (int round = 0; round < 100; ++round) {
    std::memcpy(words.data(), reinterpret_cast<std::byte*>(memory.data()) + misalignment, sizeof words);
    seen.insert(words.begin(), words.end());
    mixed += words.front() != words.back() ? 1 : 0;
    co_await sleep_for(100ns);
  }
  co_await sleep_for(1s);
}

TEST(Order, WritesTearBetweenAlignedWordsAndNeverInsideOne) {
  std::set<std::uint64_t> seen;
  int mixed = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Board board;
    World world({.seed = seed});
    world.start("owner", run_task([&](Island& island) { return watch(island, board, 0, seen, mixed); }));
    world.start("writer", run_task([&](Island& island) { return overwrite(island, board, 0); }));
    EXPECT_EQ(world.run().outcome, Outcome::passed) << "seed " << seed;
  }
  EXPECT_EQ(seen, (std::set<std::uint64_t>{0, ~std::uint64_t{0}}));
  EXPECT_GT(mixed, 0);
}

TEST(Order, AGranuleOfOneByteTearsWords) {
  std::set<std::uint64_t> seen;
  int mixed = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Board board;
    World world({.seed = seed, .fabric = {.granule = 1}});
    world.start("owner", run_task([&](Island& island) { return watch(island, board, 0, seen, mixed); }));
    world.start("writer", run_task([&](Island& island) { return overwrite(island, board, 0); }));
    EXPECT_EQ(world.run().outcome, Outcome::passed) << "seed " << seed;
  }
  EXPECT_GT(seen.size(), 2U);
}

// 4 processes add, by turns in pieces of work, to one word.
Task<void> add(Island& island, Board& board, int times, int& running) {
  BufferRef word = co_await wait_for(board, "word", island);
  for (int i = 0; i < times; ++i) {
    co_await word.fetch_add(1);
  }
  --running;
}

Task<void> add_by_read_and_write(Island& island, Board& board, int times, int& running) {
  BufferRef word = co_await wait_for(board, "word", island);
  for (int i = 0; i < times; ++i) {
    std::uint64_t value = 0;
    co_await word.read_into(std::span(&value, 1));
    ++value;
    co_await word.write_from(std::span(&value, 1));
  }
  --running;
}

Task<void> own_word(Island& island, Board& board, int& running) {
  std::uint64_t word = 0;
  RDMABuffer buffer = register_memory(island.node(), std::span(&word, 1));
  board.post("word", island, buffer);
  while (running > 0) {
    co_await sleep_for(10us);
  }
  board.numbers["sum"] = word;
}

template <class Adder>
std::uint64_t sum_of(std::uint64_t seed, Adder adder) {
  Board board;
  int running = 4;
  World world({.seed = seed});
  world.start("owner", run_task([&](Island& island) { return own_word(island, board, running); }));
  for (int i = 0; i < 4; ++i) {
    world.start("adder", run_task([&](Island& island) { return adder(island, board, 10, running); }));
  }
  const WorldResult result = world.run();
  EXPECT_EQ(result.outcome, Outcome::passed) << result.to_text();
  return board.numbers["sum"];
}

TEST(Order, AtomicAdditionsSumExactly) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    ASSERT_EQ(sum_of(seed, &add), 40U) << "seed " << seed;
  }
}

TEST(Order, ReadingAndWritingBackLosesAdditions) {
  std::uint64_t least = 40;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    least = std::min(least, sum_of(seed, &add_by_read_and_write));
  }
  EXPECT_LT(least, 40U);
}

Task<void> use_self(Island& island, std::uint64_t& steps) {
  std::array<std::uint64_t, 4> memory{1, 2, 3, 4};
  std::array<std::uint64_t, 4> local{};
  RDMABuffer buffer = register_memory(island.node(), std::span(memory));
  BufferRef self = buffer.ref();
  const std::uint64_t before = island.world().scheduler().steps();
  co_await self.read_into(std::span(local));
  steps = island.world().scheduler().steps() - before;
  require(local == memory, "wrong bytes");
}

TEST(Order, EvenOnesOwnMemoryIsReachedInSteps) {
  std::uint64_t steps = 0;
  World world({.seed = 1});
  world.start("self", run_task([&](Island& island) { return use_self(island, steps); }));
  const WorldResult result = world.run();
  EXPECT_EQ(result.outcome, Outcome::passed) << result.to_text();
  EXPECT_GE(steps, 4U);
}

Task<void> move_chunks(Island& island, Board& board) {
  BufferRef remote = co_await wait_for(board, "bytes", island);
  std::vector<std::byte> out(20'000);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<std::byte>(i * 7);
  }
  const std::array writes{Chunk{100, out.data(), 9'000}, Chunk{0, out.data() + 9'000, 0},
                          Chunk{9'100, out.data() + 9'000, 11'000}};
  co_await remote.write_from(std::span<const Chunk>(writes));
  std::vector<std::byte> in(20'002, std::byte{0xee});
  const std::array reads{Chunk{9'100, in.data() + 9'001, 11'000}, Chunk{100, in.data() + 1, 9'000}};
  co_await remote.read_into(std::span<const Chunk>(reads));
  require(std::equal(out.begin(), out.end(), in.begin() + 1), "wrong bytes");
  require(in.front() == std::byte{0xee} && in.back() == std::byte{0xee}, "bytes beside the destination changed");
  board.numbers["done"] = 1;
}

Task<void> own_bytes(Island& island, Board& board) {
  std::vector<std::byte> memory(40'000);
  RDMABuffer buffer = register_memory(island.node(), std::span(memory));
  board.post("bytes", island, buffer);
  while (!board.numbers.contains("done")) {
    co_await sleep_for(10us);
  }
  require(memory[99] == std::byte{} && memory[20'100] == std::byte{}, "bytes beside the range changed");
}

TEST(Order, ChunkListsMoveTheRightBytesAndNoOthers) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Board board;
    World world({.seed = seed, .fabric = {.mtu = 64}});
    world.start("owner", run_task([&](Island& island) { return own_bytes(island, board); }));
    world.start("user", run_task([&](Island& island) { return move_chunks(island, board); }));
    const WorldResult result = world.run();
    ASSERT_EQ(result.outcome, Outcome::passed) << result.to_text();
  }
}

// A sequence whose second member is refused.
Task<void> run_failing_sequence(Island& island, Board& board) {
  BufferRef good = co_await wait_for(board, "good", island);
  BufferRef bad = co_await wait_for(board, "bad", island);
  std::uint64_t one = 1;
  std::uint64_t read_back = 0;
  co_await good.read_into(std::span(&read_back, 1));
  Sequence sequence;
  sequence.add(good.fetch_add(1));
  sequence.add(bad.write_from(std::span(&one, 1)));
  sequence.add(good.fetch_add(100));
  sequence.add(good.read_into(std::span(&read_back, 1)));
  auto run = sequence.run();
  const Outcomes outcomes = co_await run;
  require(outcomes[0].has_value(), "the first member failed");
  require(outcomes[1].error().code() == errc::revoked, "the second member: " + outcomes[1].error().to_text());
  for (std::size_t index : {2U, 3U}) {
    require(outcomes[index].error().code() == errc::not_executed, "a member behind it was executed");
    require(outcomes[index].error().effect() == Effect::none, "and says otherwise");
  }
  co_await good.read_into(std::span(&read_back, 1));
  require(read_back == 1, "the word is not 1");
  board.numbers["done"] = 1;
}

Task<void> own_good_and_bad(Island& island, Board& board) {
  std::uint64_t good_word = 0;
  std::uint64_t bad_word = 0;
  RDMABuffer good = register_memory(island.node(), std::span(&good_word, 1));
  RDMABuffer bad = register_memory(island.node(), std::span(&bad_word, 1));
  board.post("bad", island, bad);
  bad = RDMABuffer();
  board.post("good", island, good);
  while (!board.numbers.contains("done")) {
    co_await sleep_for(10us);
  }
  require(bad_word == 0, "a revoked word was written");
}

TEST(Order, BehindAFailedMemberOfASequenceNothingIsExecuted) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Board board;
    World world({.seed = seed});
    world.start("owner", run_task([&](Island& island) { return own_good_and_bad(island, board); }));
    world.start("user", run_task([&](Island& island) { return run_failing_sequence(island, board); }));
    const WorldResult result = world.run();
    ASSERT_EQ(result.outcome, Outcome::passed) << result.to_text();
  }
}

}  // namespace
}  // namespace ferry::sim::test
