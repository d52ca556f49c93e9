// Findings: a mistake of each kind is found within some seeds, with both sides and the bytes; the program without it
// never is, under any profile.
#include <gmock/gmock.h>

#include <ferry/sim/explore.hpp>

#include "findings_ordered_scenes.hpp"

namespace ferry::sim::test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kSeedsToFind = 200;
constexpr std::uint64_t kSeedsWithout = 1000;  // under each profile

// The first finding among the seeds under a profile; a failed run is a failed test.
std::string first_finding(const Scene& scene, Mistake mistake, const NicProfile& profile, std::uint64_t seeds,
                          std::uint64_t lost_one_in = 0) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    WorldOptions options{.seed = seed, .findings = FindingMode::report};
    options.fabric.profile = &profile;
    options.fabric.drop_one_in = options.fabric.duplicate_one_in = lost_one_in;
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

// A strict fabric places what is written in order, and so do flags behind what they announce.
bool is_harmless(const Scene& scene, const NicProfile& profile) {
  return profile.order_class == queue::OrderClass::strict && scene.kind == FindingKind::missing_delivery;
}

TEST(Findings, EachMistakeIsFoundUnderEachProfile) {
  for (const Scene& scene : kScenes) {
    for (const NicProfile& profile : kNicProfiles) {
      const std::string found = first_finding(scene, Mistake::made, profile, kSeedsToFind);
      if (!is_harmless(scene, profile)) {
        EXPECT_THAT(found, ::testing::StartsWith(std::string(to_string(scene.kind)) + ": "))
            << scene.name << ", " << profile.name;
      }
    }
  }
}

TEST(Findings, WithoutTheMistakeNothingIsFoundUnderAnyProfile) {
  for (const Scene& scene : kScenes) {
    for (const NicProfile& profile : kNicProfiles) {
      EXPECT_EQ(first_finding(scene, Mistake::none, profile, kSeedsWithout), "") << scene.name << ", " << profile.name;
    }
  }
}

TEST(Findings, WhatIsOrderedInOtherWaysIsNone) {
  for (const Scene& scene : kOrdered) {
    for (const NicProfile& profile : kNicProfiles) {
      for (const std::uint64_t lost_one_in : {0, 20}) {
        EXPECT_EQ(first_finding(scene, Mistake::none, profile, kSeedsWithout / 5, lost_one_in), "")
            << scene.name << ", " << profile.name << ", lost one in " << lost_one_in;
      }
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
  EXPECT_THAT(portable_finding("a peer writes to the source"),
              AllOf(HasSubstr("a write of other changed bytes "), HasSubstr("of the source of user's write_from")));
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
