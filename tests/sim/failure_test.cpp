// Revocation, crashes, restarts, cancelling and dropping: errors as the contract says, and quiet memory behind them.
#include <gmock/gmock.h>

#include "task_program.hpp"

namespace ferry::sim::test {
namespace {

using testing::HasSubstr;

constexpr std::byte kCanary{0xc5};

bool all_are(const std::vector<std::byte>& bytes, std::byte value) {
  return std::all_of(bytes.begin(), bytes.end(), [value](std::byte byte) { return byte == value; });
}

// Revokes while peers read and write, and reuses the memory at once.
Task<void> revoke_early(Island& island, Board& board) {
  std::vector<std::byte> memory(20'000, std::byte{1});
  RDMABuffer old = register_memory(island.node(), std::span(memory));
  board.post("old", island, old);
  co_await sleep_for(Duration(island.world().random(Purpose::program).below(30'000)));
  co_await old.revoke();
  std::fill(memory.begin(), memory.end(), kCanary);
  RDMABuffer reused = register_memory(island.node(), std::span(memory));
  board.post("reused", island, reused);
  co_await sleep_for(5s);
  require(all_are(memory, kCanary), "memory changed after its revocation");
}

Task<void> write_until_revoked(Island& island, Board& board, int& refused) {
  BufferRef old = co_await wait_for(board, "old", island);
  std::vector<std::byte> local(20'000, std::byte{2});
  for (;;) {
    auto attempt = as_result(old.write_from(std::span(local)));
    const Result<void> written = co_await attempt;
    if (!written) {
      require(written.error().code() == errc::revoked, written.error().to_text());
      break;
    }
  }
  ++refused;
  BufferRef reused = co_await wait_for(board, "reused", island);
  std::vector<std::byte> read(20'000);
  co_await reused.read_into(std::span(read));
  require(all_are(read, kCanary), "the reused memory was written through the old reference");
}

Task<void> read_until_revoked(Island& island, Board& board, int& refused) {
  BufferRef old = co_await wait_for(board, "old", island);
  std::vector<std::byte> local(20'000);
  for (;;) {
    auto attempt = as_result(old.read_into(std::span(local)));
    const Result<void> read = co_await attempt;
    require(std::find(local.begin(), local.end(), kCanary) == local.end(), "a byte of the reused memory was read");
    if (!read) {
      require(read.error().code() == errc::revoked && read.error().effect() == Effect::none, read.error().to_text());
      break;
    }
  }
  ++refused;
}

TEST(Failure, NothingTouchesMemoryAfterItsRevocation) {
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Board board;
    World world({.seed = seed});
    world.start("owner", run_task([&](Island& island) { return revoke_early(island, board); }));
    world.start("writer", run_task([&](Island& island) { return write_until_revoked(island, board, refused); }));
    world.start("reader", run_task([&](Island& island) { return read_until_revoked(island, board, refused); }));
    const WorldResult result = world.run();
    ASSERT_EQ(result.outcome, Outcome::passed) << result.to_text();
  }
  EXPECT_EQ(refused, 1000);
}

Task<void> own_for(Island& island, Board& board, std::string name, Duration time) {
  std::vector<std::byte> memory(50'000, std::byte{1});
  RDMABuffer buffer = register_memory(island.node(), std::span(memory));
  board.post(name, island, buffer);
  co_await sleep_for(time);
}

struct Fate {
  errc code{};
  Duration after{};
  std::string text;
  Effect effect{};
};

Task<void> read_until_failure(Island& island, Board& board, std::string name, Fate& fate) {
  BufferRef remote = co_await wait_for(board, name, island);
  std::vector<std::byte> local(50'000);
  for (;;) {
    auto attempt = as_result(remote.read_into(std::span(local)));
    const Result<void> read = co_await attempt;
    if (!read) {
      fate = {read.error().code(), island.executor().now().time_since_epoch(), read.error().to_text(),
              read.error().effect()};
      break;
    }
    co_await sleep_for(10ms);
  }
  // From now on at once.
  const TimePoint before = island.executor().now();
  auto attempt = as_result(remote.read_into(std::span(local)));
  const Result<void> again = co_await attempt;
  require(!again && again.error().code() == fate.code, "a later read did not fail alike");
  require(island.executor().now() == before, "a later read took its time to fail");
}

TEST(Failure, PeersOfACrashedProcessLoseItAfterTheDetectionTimeAndOthersDoNot) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Board board;
    Fate first;
    Fate second;
    World world({.seed = seed});
    Process& o1 = world.start("o1", run_task([&](Island& island) { return own_for(island, board, "o1", 60s); }));
    world.start("o2", run_task([&](Island& island) { return own_for(island, board, "o2", 8s); }));
    world.start("r1", run_task([&](Island& island) { return read_until_failure(island, board, "o1", first); }));
    world.start("r2", run_task([&](Island& island) { return read_until_failure(island, board, "o2", second); }));
    world.at(1ms, [&o1] { o1.kill(); });
    const WorldResult result = world.run();
    ASSERT_EQ(result.outcome, Outcome::passed) << result.to_text();
    ASSERT_EQ(first.code, errc::peer_lost) << first.text;
    ASSERT_EQ(first.after, 1ms + limits::kFailureDetection);
    ASSERT_THAT(first.text, HasSubstr("o1"));
    ASSERT_EQ(first.effect, Effect::none);
    ASSERT_EQ(second.code, errc::peer_lost) << second.text;  // it has exited, and said so
    ASSERT_GE(second.after, 8s);
    ASSERT_LT(second.after, 9s);
  }
}

Task<void> write_for_ever(Island& island, Board& board, std::string name) {
  BufferRef remote = co_await wait_for(board, name, island);
  std::vector<std::byte> local(50'000, std::byte{2});
  for (;;) {
    co_await remote.write_from(std::span(local));
  }
}

Task<void> expect_quiet_after(Island& island, Board& board, Duration crash) {
  std::vector<std::byte> memory(50'000, std::byte{1});
  RDMABuffer buffer = register_memory(island.node(), std::span(memory));
  board.post("memory", island, buffer);
  co_await sleep_for(crash + limits::kFailureDetection + 1ms);
  std::fill(memory.begin(), memory.end(), kCanary);
  co_await sleep_for(10s);
  require(all_are(memory, kCanary), "a dead process wrote after its loss was known");
}

TEST(Failure, ADeadProcessWritesNothingAfterItsLossIsKnown) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Board board;
    World world({.seed = seed});
    world.start("owner", run_task([&](Island& island) { return expect_quiet_after(island, board, 1ms); }));
    Process& writer =
        world.start("writer", run_task([&](Island& island) { return write_for_ever(island, board, "memory"); }));
    world.at(1ms, [&writer] { writer.kill(); });
    const WorldResult result = world.run();
    ASSERT_EQ(result.outcome, Outcome::passed) << result.to_text();
  }
}

Task<void> lend(Island& island, Board& board, std::vector<std::byte>& memory) {
  RDMABuffer buffer = register_memory(island.node(), std::span(memory));
  board.post("memory", island, buffer);
  co_await sleep_for(6s);
}

TEST(Failure, SomeSeedLetsPartOfADyingProcessesWriteArrive) {
  int partial = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Board board;
    std::vector<std::byte> memory(50'000, std::byte{1});
    World world({.seed = seed});
    world.start("owner", run_task([&](Island& island) { return lend(island, board, memory); }));
    Process& writer =
        world.start("writer", run_task([&](Island& island) { return write_for_ever(island, board, "memory"); }));
    world.at(30us, [&writer] { writer.kill(); });
    ASSERT_EQ(world.run().outcome, Outcome::passed);
    partial += !all_are(memory, std::byte{1}) && !all_are(memory, std::byte{2}) ? 1 : 0;
  }
  EXPECT_GT(partial, 0);
}

Task<void> use_both_lives(Island& island, Board& board) {
  BufferRef old = co_await wait_for(board, "first", island);
  std::vector<std::byte> local(50'000);
  co_await old.read_into(std::span(local));
  BufferRef renewed = co_await wait_for(board, "second", island);
  auto attempt = as_result(old.read_into(std::span(local)));
  const Result<void> read = co_await attempt;
  require(!read, "a reference of the former life was served");
  require(read.error().code() == errc::stale_incarnation || read.error().code() == errc::peer_lost,
          read.error().to_text());
  co_await renewed.read_into(std::span(local));
  board.numbers[std::string(to_string(read.error().code()))] += 1;
}

TEST(Failure, AReferenceOfAFormerLifeAtTheSameAddressIsNeverServed) {
  Board codes;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Board board;
    World world({.seed = seed});
    Process& first =
        world.start("server", run_task([&](Island& island) { return own_for(island, board, "first", 60s); }));
    world.start("client", run_task([&](Island& island) { return use_both_lives(island, board); }));
    world.at(1ms, [&] {
      first.kill();
      world.start("server", run_task([&](Island& island) { return own_for(island, board, "second", 30s); }),
                  first.port());
    });
    const WorldResult result = world.run();
    ASSERT_EQ(result.outcome, Outcome::passed) << result.to_text();
    EXPECT_NE(world.processes()[0]->bootstrap().self, world.processes()[2]->bootstrap().self);
    for (const auto& [code, count] : board.numbers) {
      codes.numbers[code] += count;
    }
  }
  EXPECT_GT(codes.numbers["peer_lost"], 0U);
}

Task<void> use_stale(Island& island, Board& board, std::string& told) {
  BufferRef old = co_await wait_for(board, "first", island);
  co_await wait_for(board, "second", island);
  std::vector<std::byte> local(50'000);
  auto attempt = as_result(old.read_into(std::span(local)));
  const Result<void> read = co_await attempt;
  require(!read && read.error().code() == errc::stale_incarnation, "not stale_incarnation");
  told = read.error().to_text();
}

TEST(Failure, AnotherLifeAtTheAddressIsNamed) {
  Board board;
  std::string told;
  World world({.seed = 1});
  Process& first =
      world.start("server", run_task([&](Island& island) { return own_for(island, board, "first", 60s); }));
  world.start("client", run_task([&](Island& island) { return use_stale(island, board, told); }));
  world.at(1ms, [&] {
    first.kill();
    world.start("server", run_task([&](Island& island) { return own_for(island, board, "second", 30s); }),
                first.port());
  });
  const WorldResult result = world.run();
  ASSERT_EQ(result.outcome, Outcome::passed) << result.to_text();
  EXPECT_THAT(told, HasSubstr("now lives at sim:1"));
}

// Cancels or times out operations at some moment, and then fills the local memory.
enum class End { timeout, drop };

Task<void> end_early(Island& island, Board& board, End end, OperationKind kind) {
  BufferRef remote = co_await wait_for(board, "memory", island);
  std::vector<std::byte> local(50'000, std::byte{2});
  const Duration moment(island.world().random(Purpose::program).below(40'000));
  if (end == End::timeout) {
    const WriteOptions options{.timeout = moment};
    const Limits limits{.timeout = moment};
    auto write = as_result(remote.write_from(std::span(local), options));
    auto read = as_result(remote.read_into(std::span(local), limits));
    Result<void> ended;
    if (kind == OperationKind::write) {
      ended = co_await write;
    } else {
      ended = co_await read;
    }
    if (!ended) {
      require(ended.error().code() == errc::timed_out, ended.error().to_text());
      board.numbers["timed out"] += 1;
    }
  } else {
    std::optional<Running<void>> started;
    if (kind == OperationKind::write) {
      started.emplace(start(remote.write_from(std::span(local))));
    } else {
      started.emplace(start(remote.read_into(std::span(local))));
    }
    co_await sleep_for(moment);
    board.numbers["dropped"] += started->is_done() ? 0 : 1;
    started.reset();
  }
  // Local memory is quiet now. So is the owner's, but for a dropped write, of which nobody knows: until something else
  // was done there.
  std::fill(local.begin(), local.end(), kCanary);
  if (end == End::drop && kind == OperationKind::write) {
    std::array<std::byte, 8> word{};
    co_await remote.subrange(0, 8).read_into(std::span(word));
  }
  board.numbers["quiet"] = 1;
  co_await sleep_for(5s);
  require(all_are(local, kCanary), "local memory changed after the operation had ended");
  board.numbers["done"] = 1;
}

Task<void> own_and_watch(Island& island, Board& board) {
  std::vector<std::byte> memory(50'000, std::byte{1});
  RDMABuffer buffer = register_memory(island.node(), std::span(memory));
  board.post("memory", island, buffer);
  while (!board.numbers.contains("quiet")) {
    co_await sleep_for(100ns);
  }
  std::vector<std::byte> then = memory;
  while (!board.numbers.contains("done")) {
    co_await sleep_for(10ms);
  }
  require(then == memory, "the owner's memory changed after the operation had ended");
  require(std::find(memory.begin(), memory.end(), kCanary) == memory.end(), "bytes from after the end were written");
}

class EarlyEnd : public testing::TestWithParam<std::tuple<End, OperationKind>> {};

TEST_P(EarlyEnd, LeavesMemoryQuietOnBothSides) {
  const auto [end, kind] = GetParam();
  std::uint64_t early = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Board board;
    World world({.seed = seed});
    world.start("owner", run_task([&](Island& island) { return own_and_watch(island, board); }));
    world.start("user",
                run_task([&, end = end, kind = kind](Island& island) { return end_early(island, board, end, kind); }));
    const WorldResult result = world.run();
    ASSERT_EQ(result.outcome, Outcome::passed) << result.to_text();
    early += board.numbers["timed out"] + board.numbers["dropped"];
  }
  EXPECT_GT(early, 50U);
}

INSTANTIATE_TEST_SUITE_P(Failure, EarlyEnd,
                         testing::Combine(testing::Values(End::timeout, End::drop),
                                          testing::Values(OperationKind::read, OperationKind::write)));

Task<void> reach_nobody(Island& island, Failure& told) {
  const Contact nowhere{{77, 1}, {{TransportId::sim, "99"}}};
  RemoteRegion region;
  region.owner = nowhere.id;
  region.rights = Access::all;
  region.size = region.length = 8;
  BufferRef reference(island.node().peers().find_or_add(nowhere), region);
  std::uint64_t word = 0;
  auto attempt = as_result(reference.read_into(std::span(&word, 1)));
  const Result<void> read = co_await attempt;
  require(!read, "somebody answered");
  told = read.error();
}

TEST(Failure, AnAddressWhereNobodyListensIsPeerUnreachable) {
  Failure told;
  World world({.seed = 1});
  world.start("user", run_task([&](Island& island) { return reach_nobody(island, told); }));
  const WorldResult result = world.run();
  ASSERT_EQ(result.outcome, Outcome::passed) << result.to_text();
  EXPECT_EQ(told.code(), errc::peer_unreachable);
  EXPECT_THAT(told.to_text(), HasSubstr("nobody listens at sim:99"));
}

Task<void> lose_transmitted(Island& island, Board& board) {
  BufferRef remote = co_await wait_for(board, "old", island);
  std::vector<std::byte> local(8, std::byte{2});
  const WriteOptions options{.completion = transmitted};
  for (;;) {
    auto write = as_result(remote.subrange(0, 8).write_from(std::span(local), options));
    const Result<void> written = co_await write;
    if (!written) {  // known before it was complete
      require(written.error().code() == errc::revoked, written.error().to_text());
      break;
    }
    auto flush = as_result(remote.flush());
    const Result<void> flushed = co_await flush;
    if (!flushed) {
      const errc code = flushed.error().code();
      require(code == errc::revoked || code == errc::outcome_unknown, flushed.error().to_text());
      board.numbers["late"] += 1;
      break;
    }
  }
  // The failure is told once.
  co_await remote.flush();
}

// On iWARP a write completes before its owner has seen it.
TEST(Failure, ALateFailureOfATransmittedWriteIsToldByTheNextFlushAndOnce) {
  std::uint64_t late = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Board board;
    World world({.seed = seed, .fabric = {.profile = nic_profile("iwarp")}});
    world.start("owner", run_task([&](Island& island) { return revoke_early(island, board); }));
    world.start("user", run_task([&](Island& island) { return lose_transmitted(island, board); }));
    const WorldResult result = world.run();
    ASSERT_EQ(result.outcome, Outcome::passed) << result.to_text();
    late += board.numbers["late"];
  }
  EXPECT_GT(late, 0U);
}

}  // namespace
}  // namespace ferry::sim::test
