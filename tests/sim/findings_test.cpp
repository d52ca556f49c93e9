// Findings: a mistake of each kind is found within some seeds, with both sides and the bytes; the program without it
// never is, under any profile.
#include <array>

#include <gmock/gmock.h>

#include <ferry/buffer/batch.hpp>
#include <ferry/buffer/sequence.hpp>
#include <ferry/sim/explore.hpp>
#include <ferry/transport/inbound.hpp>

#include "task_program.hpp"

namespace ferry::sim::test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kSeedsToFind = 200;
constexpr std::uint64_t kSeedsWithout = 1000;  // under each profile

using Words = std::array<std::uint64_t, 32>;

enum class Mistake { none, made };

struct Ignoring final : MessageSink {
  void on_request(const std::shared_ptr<Inbound>&, wire::Bytes&&) noexcept override {}
  void on_inbound_closed(const std::shared_ptr<Inbound>&, const Failure&) noexcept override {}
};

struct Shared {
  Board board;
  Ignoring sink;
  bool stop = false;
  World* world = nullptr;
};

using Part = Task<void> (*)(Island&, Shared&, Mistake);

// The world of a mistake: an owner, and who uses its memory.
struct Scene {
  const char* name;
  FindingKind kind;
  Part owner;
  Part writer;
  Part other = nullptr;
};

WorldResult play(const Scene& scene, Mistake mistake, const WorldOptions& options) {
  Shared shared;
  World world(options);
  shared.world = &world;
  const auto add = [&](const char* name, Part part) {
    world.start(name, run_task([&shared, part, mistake](Island& island) { return part(island, shared, mistake); }));
  };
  add("owner", scene.owner);
  add("user", scene.writer);
  if (scene.other != nullptr) {
    add("other", scene.other);
  }
  return world.run();
}

// The memory of most scenes: 32 words and a flag, until somebody says that all is over.
Task<void> lend(Island& island, Shared& shared, Mistake) {
  island.node().set_sink(shared.sink);
  Words words{};
  alignas(8) std::uint64_t flag = 0;
  RDMABuffer data = register_memory(island.node(), std::span(words));
  RDMABuffer word = register_memory(island.node(), std::span(&flag, 1));
  shared.board.post("data", island, data);
  shared.board.post("flag", island, word);
  while (!shared.stop) {
    co_await sleep_for(10us);
  }
  co_await sleep_for(10ms);
}

// A channel is there afterwards.
Task<BufferRef> reach(Island& island, Shared& shared, std::string name) {
  BufferRef ref = co_await wait_for(shared.board, std::move(name), island);
  std::uint64_t word = 0;
  co_await ref.subrange(0, 8).read_into(std::span(&word, 1));
  co_return ref;
}

// --- Read race: the owner counts in its memory while it is read.

Task<void> count(Island& island, Shared& shared, Mistake mistake) {
  Words words{};
  RDMABuffer data = register_memory(island.node(), std::span(words));
  shared.board.post("data", island, data);
  while (!shared.stop) {
    co_await sleep_for(3us);
    if (mistake == Mistake::made) {
      ++words[3];
    }
  }
  ++words[3];
  co_await sleep_for(10ms);
}

Task<void> read_some(Island& island, Shared& shared, Mistake) {
  BufferRef data = co_await reach(island, shared, "data");
  Words words{};
  for (int i = 0; i < 5; ++i) {
    co_await data.read_into(std::span(words));
  }
  shared.stop = true;
}

// --- Unordered writes: of one process, and of two.

Task<void> write_twice(Island& island, Shared& shared, Mistake mistake) {
  BufferRef data = co_await reach(island, shared, "data");
  Words first{};
  Words second{};
  second.fill(2);
  const BufferRef upper = data.subrange(128, 128);
  auto one = start(data.write_from(std::span(first)));
  if (mistake == Mistake::none) {
    co_await one;
  }
  auto two = start(upper.write_from(std::span(second).first(16)));
  if (mistake == Mistake::made) {
    co_await one;
  }
  co_await two;
  shared.stop = true;
}

Task<void> write_in_turn(Island& island, Shared& shared, Mistake mistake) {
  BufferRef data = co_await reach(island, shared, "data");
  Words words{};
  const WriteOptions options{.completion = transmitted};
  co_await data.write_from(std::span(words), options);
  if (mistake == Mistake::none) {
    co_await data.flush();
  }
  shared.board.numbers["turn"] = 1;
  while (!shared.stop) {
    co_await sleep_for(10us);
  }
}

Task<void> write_in_other_turn(Island& island, Shared& shared, Mistake) {
  BufferRef data = co_await reach(island, shared, "data");
  while (!shared.board.numbers.contains("turn")) {
    co_await sleep_for(500ns);
  }
  Words words{};
  co_await data.write_from(std::span(words));
  shared.stop = true;
}

// --- Local buffer: the source of a write, the destination of a read, and one buffer for two reads.

Task<void> reuse_source(Island& island, Shared& shared, Mistake mistake) {
  BufferRef data = co_await reach(island, shared, "data");
  Words words{};
  auto write = start(data.write_from(std::span(words)));
  if (mistake == Mistake::made) {
    words[1] = 7;
  }
  co_await write;
  words[1] = 7;
  co_await data.write_from(std::span(words));
  shared.stop = true;
}

Task<void> touch_destination(Island& island, Shared& shared, Mistake mistake) {
  BufferRef data = co_await reach(island, shared, "data");
  Words words{};
  words.fill(1);
  auto read = start(data.read_into(std::span(words)));
  if (mistake == Mistake::made) {
    co_await sleep_for(1us);
    words[2] = 9;
  }
  co_await read;
  words[2] = 9;
  shared.stop = true;
}

Task<void> read_twice_to_one_place(Island& island, Shared& shared, Mistake mistake) {
  BufferRef data = co_await reach(island, shared, "data");
  Words words{};
  Words more{};
  auto first = start(data.read_into(std::span(words)));
  auto second = start(data.read_into(std::span(mistake == Mistake::made ? words : more)));
  co_await first;
  co_await second;
  shared.stop = true;
}

// A buffer on the heap is freed, and what the heap writes into it is seen.
Task<void> free_source(Island& island, Shared& shared, Mistake mistake) {
  BufferRef data = co_await reach(island, shared, "data");
  auto words = std::make_unique<Words>();
  words->fill(0x0101010101010101U);
  auto write = start(data.write_from(std::span(*words)));
  if (mistake == Mistake::made) {
    std::fill_n(words->begin(), 2, 0);  // as free() does, without reading what is freed
  }
  co_await write;
  shared.stop = true;
}

// --- Use after revoke.

Task<void> lend_for_a_while(Island& island, Shared& shared, Mistake mistake) {
  Words words{};
  RDMABuffer data = register_memory(island.node(), std::span(words));
  shared.board.post("data", island, data);
  while (shared.board.numbers["used"] == 0 || (mistake == Mistake::none && !shared.stop)) {
    co_await sleep_for(10us);
  }
  co_await data.revoke();
  words.fill(1);
  while (!shared.stop) {
    co_await sleep_for(10us);
  }
  co_await sleep_for(10ms);
}

Task<void> use_again(Island& island, Shared& shared, Mistake mistake) {
  BufferRef data = co_await reach(island, shared, "data");
  Words words{};
  co_await data.read_into(std::span(words));
  shared.board.numbers["used"] = 1;
  co_await sleep_for(200us);
  std::string failed;
  try {
    co_await data.read_into(std::span(words));
  } catch (const Error& error) {
    failed = error.what();
  }
  require(failed.empty() == (mistake == Mistake::none), "the second use: " + failed);
  shared.stop = true;
}

// The reference of somebody who has gone.
Task<void> lend_and_go(Island& island, Shared& shared, Mistake mistake) {
  Words words{};
  RDMABuffer data = register_memory(island.node(), std::span(words));
  shared.board.post("data", island, data);
  while (mistake == Mistake::none && !shared.stop) {
    co_await sleep_for(10us);
  }
  co_await sleep_for(10us);
}

Task<void> use_late(Island& island, Shared& shared, Mistake mistake) {
  BufferRef data = co_await wait_for(shared.board, "data", island);
  co_await sleep_for(200us);
  Words words{};
  std::string failed;
  try {
    co_await data.read_into(std::span(words));
  } catch (const Error& error) {
    failed = error.what();
  }
  require(failed.empty() == (mistake == Mistake::none), "the late use: " + failed);
  shared.stop = true;
}

// --- Missing delivery: a flag, or a message, before the bytes.

Task<void> publish_transmitted(Island& island, Shared& shared, Mistake mistake) {
  BufferRef data = co_await reach(island, shared, "data");
  BufferRef flag = co_await reach(island, shared, "flag");
  Words words{};
  const WriteOptions options{.completion = transmitted};
  co_await data.write_from(std::span(words), options);
  if (mistake == Mistake::none) {
    co_await data.flush();
  }
  std::uint64_t one = 1;
  co_await flag.write_from(std::span(&one, 1));
  shared.stop = true;
}

Task<void> publish_not_awaited(Island& island, Shared& shared, Mistake mistake) {
  BufferRef data = co_await reach(island, shared, "data");
  BufferRef flag = co_await reach(island, shared, "flag");
  Words words{};
  std::uint64_t one = 1;
  if (mistake == Mistake::made) {
    auto first = start(data.write_from(std::span(words)));
    auto second = start(flag.write_from(std::span(&one, 1)));
    co_await first;
    co_await second;
  } else {
    Sequence sequence;
    sequence.add(data.write_from(std::span(words)));
    sequence.add(flag.write_from(std::span(&one, 1)));
    auto run = sequence.run();
    const Outcomes outcomes = co_await run;
    require(outcomes.all_succeeded(), "a member of the sequence failed");
  }
  shared.stop = true;
}

// Raw, as the actor runtime sends: a request of kind 2.
Task<void> tell(Island& island, Shared& shared, Mistake mistake) {
  BufferRef data = co_await reach(island, shared, "data");
  Words words{};
  const WriteOptions options{.completion = transmitted};
  co_await data.write_from(std::span(words), options);
  if (mistake == Mistake::none) {
    co_await data.flush();
  }
  wire::Bytes message;
  wire::extend(message, 32);
  message.data()[0] = std::byte{2};
  Peer& peer = island.node().peers().find_or_add(shared.board.references.at("data").owner);
  require(!peer.send(std::move(message)), "the owner is gone already");
  co_await sleep_for(100us);
  shared.stop = true;
}

const std::array kScenes{
    Scene{"the owner counts while it is read", FindingKind::read_race, count, read_some},
    Scene{"two writes of one process", FindingKind::unordered_writes, lend, write_twice},
    Scene{"writes of two processes", FindingKind::unordered_writes, lend, write_in_turn, write_in_other_turn},
    Scene{"the source is reused", FindingKind::local_buffer, lend, reuse_source},
    Scene{"the destination is touched", FindingKind::local_buffer, lend, touch_destination},
    Scene{"two reads into one buffer", FindingKind::local_buffer, lend, read_twice_to_one_place},
    Scene{"the source is freed", FindingKind::local_buffer, lend, free_source},
    Scene{"used after it was revoked", FindingKind::use_after_revoke, lend_for_a_while, use_again},
    Scene{"used after its owner's life", FindingKind::use_after_revoke, lend_and_go, use_late},
    Scene{"a flag behind a transmitted write", FindingKind::missing_delivery, lend, publish_transmitted},
    Scene{"a flag behind a write that is not awaited", FindingKind::missing_delivery, lend, publish_not_awaited},
    Scene{"a message behind a transmitted write", FindingKind::missing_delivery, lend, tell},
};

// The first finding among the seeds under a profile; a failed run is a failed test.
std::string first_finding(const Scene& scene, Mistake mistake, const NicProfile& profile, std::uint64_t seeds) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    WorldOptions options{.seed = seed, .findings = FindingMode::report};
    options.fabric.profile = &profile;
    const WorldResult result = play(scene, mistake, options);
    EXPECT_EQ(result.outcome, Outcome::passed) << scene.name << ", " << profile.name << ": " << result.to_text();
    if (!result.findings.empty()) {
      return result.findings.front();
    }
    if (result.outcome != Outcome::passed) {
      return {};
    }
  }
  return {};
}

const Scene& scene_of(std::string_view name) {
  return *std::find_if(kScenes.begin(), kScenes.end(), [&](const Scene& scene) { return scene.name == name; });
}

TEST(Findings, EachMistakeIsFoundUnderSomeProfile) {
  for (const Scene& scene : kScenes) {
    std::string found;
    for (const NicProfile& profile : kNicProfiles) {
      found = first_finding(scene, Mistake::made, profile, kSeedsToFind);
      if (!found.empty()) {
        break;
      }
    }
    EXPECT_THAT(found, ::testing::StartsWith(std::string(to_string(scene.kind)) + ": ")) << scene.name;
  }
}

TEST(Findings, WithoutTheMistakeNothingIsFoundUnderAnyProfile) {
  for (const Scene& scene : kScenes) {
    for (const NicProfile& profile : kNicProfiles) {
      EXPECT_EQ(first_finding(scene, Mistake::none, profile, kSeedsWithout), "") << scene.name << ", " << profile.name;
    }
  }
}

std::string portable_finding(std::string_view name) {
  return first_finding(scene_of(name), Mistake::made, kPortableNic, kSeedsToFind);
}

TEST(Findings, NameBothSidesAndTheBytesAndWhatHappenedLast) {
  EXPECT_THAT(portable_finding("the owner counts while it is read"),
              AllOf(ContainsRegex(
                        "at 0\\.[0-9]+ s owner changed byte[s]? 2[4-9].* while user's read_into of 256 bytes at owner "
                        "\\(bytes 0 to 255 of region 1 of 256 bytes, begun at 0\\.[0-9]+ s\\) was in flight"),
                    ContainsRegex("\n  0\\.[0-9]+ s  (owner|user): ")));
  EXPECT_THAT(portable_finding("two writes of one process"),
              AllOf(HasSubstr("user's write_from of 128 bytes at owner (bytes 128 to 255 of region 1 of 256 bytes"),
                    HasSubstr("writes bytes 128 to 255 while user's write_from of 256 bytes at owner")));
  EXPECT_THAT(portable_finding("writes of two processes"),
              AllOf(HasSubstr("other's write_from of 256 bytes at owner"), HasSubstr("while user's write_from"),
                    HasSubstr("it was transmitted and not flushed")));
  EXPECT_THAT(portable_finding("the source is reused"),
              HasSubstr("user changed byte 8 of the source of user's write_from of 256 bytes at owner"));
  EXPECT_THAT(portable_finding("the destination is touched"),
              HasSubstr("of the destination of user's read_into of 256 bytes at owner"));
  EXPECT_THAT(portable_finding("two reads into one buffer"),
              AllOf(HasSubstr("user's read_into of 256 bytes at owner"),
                    HasSubstr("uses bytes 0 to 255 of the local buffer of user's read_into of 256 bytes at owner")));
  EXPECT_THAT(portable_finding("used after it was revoked"),
              ContainsRegex("user's read_into of 256 bytes at owner \\(bytes 0 to 255 of region 1 of 256 bytes, begun "
                            "at 0\\.[0-9]+ s\\): owner had revoked that region at 0\\.[0-9]+ s"));
  EXPECT_THAT(portable_finding("used after its owner's life"),
              ContainsRegex("user's read_into of 256 bytes at .*that life had ended at 0\\.[0-9]+ s"));
  EXPECT_THAT(
      portable_finding("a flag behind a transmitted write"),
      AllOf(HasSubstr("user's write_from of 8 bytes at owner"),
            ContainsRegex("has arrived, and [0-9]+ bytes \\(bytes [0-9]+ to [0-9]+, …\\)"),
            HasSubstr("are not in memory of user's write_from of 256 bytes"), HasSubstr("transmitted, not flushed")));
  EXPECT_THAT(portable_finding("a message behind a transmitted write"), HasSubstr("a message of user to owner"));
}

TEST(Findings, LookingChangesNothing) {
  for (const Scene& scene : kScenes) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const WorldResult off = play(scene, Mistake::made, {.seed = seed});
      const WorldResult on = play(scene, Mistake::made, {.seed = seed, .findings = FindingMode::report});
      EXPECT_EQ(off.hash, on.hash) << scene.name << ", seed " << seed;
      EXPECT_EQ(off.data, on.data) << scene.name << ", seed " << seed;
      EXPECT_THAT(off.findings, IsEmpty());
    }
  }
}

TEST(Findings, TheFirstCanEndTheRun) {
  const Scene& scene = scene_of("the source is reused");
  const WorldResult result = play(scene, Mistake::made, {.findings = FindingMode::fail});
  EXPECT_EQ(result.outcome, Outcome::finding);
  EXPECT_THAT(result.what, HasSubstr("local buffer: at "));
  EXPECT_EQ(failure_name(result), "finding: local buffer");
  EXPECT_THAT(result.to_text(), HasSubstr("finding after "));
}

TEST(Findings, WhatIsExpectedIsNone) {
  const Scene& scene = scene_of("the owner counts while it is read");
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    WorldOptions options{.seed = seed, .findings = FindingMode::fail};
    options.expected = {FindingKind::read_race};
    EXPECT_EQ(play(scene, Mistake::made, options).outcome, Outcome::passed);
  }
}

Task<void> count_as_expected(Island& island, Shared& shared, Mistake) {
  Words words{};
  RDMABuffer data = register_memory(island.node(), std::span(words));
  shared.world->expect_races(data);
  shared.board.post("data", island, data);
  while (!shared.stop) {
    co_await sleep_for(3us);
    ++words[3];
  }
}

TEST(Findings, RacesForBytesThatAreExpectedAreNone) {
  const Scene scene{"expected", FindingKind::read_race, count_as_expected, read_some};
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const WorldResult result = play(scene, Mistake::made, {.seed = seed, .findings = FindingMode::fail});
    EXPECT_EQ(result.outcome, Outcome::passed) << result.to_text();
  }
}

// A flag that the owner changes while others poll it is how one waits.
Task<void> raise_flag(Island& island, Shared& shared, Mistake) {
  alignas(8) std::uint64_t flag = 0;
  RDMABuffer word = register_memory(island.node(), std::span(&flag, 1));
  shared.board.post("flag", island, word);
  co_await sleep_for(50us);
  flag = 1;
  while (!shared.stop) {
    co_await sleep_for(10us);
  }
}

Task<void> poll_flag(Island& island, Shared& shared, Mistake) {
  BufferRef flag = co_await wait_for(shared.board, "flag", island);
  std::uint64_t word = 0;
  while (word == 0) {
    co_await flag.read_into(std::span(&word, 1));
  }
  shared.stop = true;
}

TEST(Findings, AWordThatIsPolledIsNoRace) {
  const Scene scene{"polled", FindingKind::read_race, raise_flag, poll_flag};
  for (const NicProfile& profile : kNicProfiles) {
    EXPECT_EQ(first_finding(scene, Mistake::none, profile, 100), "") << profile.name;
  }
}

TEST(Findings, AnExplorationFailsByOneAndItIsMadeSmallAndReplays) {
  const Scene& scene = scene_of("a flag behind a transmitted write");
  const RunWorld run = [&](const WorldOptions& options) { return play(scene, Mistake::made, options); };
  const Exploration found = explore({.seeds = 200, .findings = FindingMode::fail, .shrink_runs = 200}, run);
  ASSERT_TRUE(found.failure);
  EXPECT_EQ(found.failure->smallest.outcome, Outcome::finding);
  EXPECT_LE(found.failure->choices.size(), found.failure->found_choices);
  const std::string artefact = found.failure->to_text();
  EXPECT_THAT(artefact, AllOf(HasSubstr("# finding missing delivery: at "), HasSubstr("\nfindings fail\n")));
  const Result<WorldResult> again = replay(artefact, {}, run);
  ASSERT_TRUE(again) << again.error().detail();
  EXPECT_EQ(again->outcome, Outcome::finding);
  EXPECT_EQ(again->what, found.failure->smallest.what);
  EXPECT_EQ(again->hash, found.failure->smallest.hash);
}

TEST(Findings, AnExplorationReportsThemAndGoesOn) {
  const Scene& scene = scene_of("the source is reused");
  const RunWorld run = [&](const WorldOptions& options) { return play(scene, Mistake::made, options); };
  const Exploration found = explore({.seeds = 20}, run);
  EXPECT_FALSE(found.failure);
  EXPECT_EQ(found.found.at("local buffer"), 20U);
  EXPECT_THAT(found.findings, ::testing::ElementsAre(HasSubstr("seed 0: local buffer: at ")));
  EXPECT_THAT(found.to_text(), HasSubstr("; findings: local buffer 20"));
  const Exploration not_asked = explore({.seeds = 20, .findings = FindingMode::off}, run);
  EXPECT_THAT(not_asked.found, IsEmpty());
}

}  // namespace
}  // namespace ferry::sim::test
