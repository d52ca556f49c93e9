// The machine's rules one by one, on programs so small that their outcomes can be worked out by hand.
#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "litmus_programs.hpp"

namespace ferry::sim::litmus {
namespace {

using Texts = std::set<std::string>;

std::string joined(std::string_view first, std::string_view second) {
  return fmt::format("{}{}", first, second);
}

void expect_outcomes(std::string_view text, const Texts& strict, const Texts& portable) {
  const Program program = program_of(joined("litmus T\n", text));
  EXPECT_EQ(outcomes_of(program, ProfileName::strict), strict) << "strict";
  EXPECT_EQ(outcomes_of(program, ProfileName::portable), portable) << "portable";
}

void expect_outcomes(std::string_view text, const Texts& both) {
  expect_outcomes(text, both, both);
}

TEST(LitmusMachine, AProgramWithoutThreadsEndsAsItBegins) {
  expect_outcomes("init x@A=3\n", {"x@A=3"});
  expect_outcomes("", {""});
}

// Rows E29 and E31 of the reliability table: what memory registered for less order adds.
TEST(LitmusMachine, RelaxedPutsToTheSameBytesMayChangePlaces) {
  const Program program = program_of(
      "litmus T\ninit a@A=1 b@A=2 x@B=0\nqueue q A B\nthread A on A\nput q x@B <- a@A\nput q x@B <- b@A\npoll q\n"
      "poll q\n");
  EXPECT_EQ(outcomes_of(program, ProfileName::portable), Texts{"a@A=1 b@A=2 x@B=2"});
  const Texts either{"a@A=1 b@A=2 x@B=1", "a@A=1 b@A=2 x@B=2"};
  EXPECT_EQ(outcomes_of(program, ProfileName::relaxed), either);
  EXPECT_EQ(outcomes_of(program, ProfileName::unordered), either);
}

TEST(LitmusMachine, OnlyUnorderedLetsAGetPassAPutOnTheSameBytes) {
  const Program program = program_of(
      "litmus T\ninit a@A=1 b@A=9 x@B=0\nqueue q A B\nthread A on A\nput q x@B <- a@A\nget q b@A <- x@B\npoll q\n"
      "poll q\n");
  EXPECT_EQ(outcomes_of(program, ProfileName::relaxed), Texts{"a@A=1 b@A=1 x@B=1"});
  EXPECT_EQ(outcomes_of(program, ProfileName::unordered), (Texts{"a@A=1 b@A=0 x@B=1", "a@A=1 b@A=1 x@B=1"}));
}

TEST(LitmusMachine, ValuesWrap) {
  expect_outcomes(
      "init x@A=18446744073709551615 y@B=18446744073709551614 o@A=0\nqueue q A B\nthread A on A\n"
      "faa r x@A 2\nrfaa q o@A <- y@B + 18446744073709551615\n",
      {"x@A=1 y@B=18446744073709551613 o@A=18446744073709551614 A:r=18446744073709551615"});
}

TEST(LitmusMachine, AStoreWritesTheValueThatItsRegisterHadThen) {
  expect_outcomes("init x@A=1 y@A=0 z@A=5\nthread A on A\nld r x@A\nst y@A r\nld r z@A\nst x@A r\n",
                  {"x@A=5 y@A=1 z@A=5 A:r=5"});
}

TEST(LitmusMachine, ALoadSeesTheNewestStoreOfItsOwnBuffer) {
  expect_outcomes("init x@A=0\nthread A on A\nst x@A 1\nst x@A 2\nld r x@A\n", {"x@A=2 A:r=2"});
}

TEST(LitmusMachine, StoresMayBePassedByLoadsAndAFenceStopsIt) {
  constexpr std::string_view head = "init x@A=0 y@A=0\n";
  expect_outcomes(
      joined(head, "thread T on A\nst x@A 1\nld r y@A\nthread U on A\nst y@A 1\nld r x@A\n"),
      {"x@A=1 y@A=1 T:r=0 U:r=0", "x@A=1 y@A=1 T:r=0 U:r=1", "x@A=1 y@A=1 T:r=1 U:r=0", "x@A=1 y@A=1 T:r=1 U:r=1"});
  expect_outcomes(joined(head, "thread T on A\nst x@A 1\nmf\nld r y@A\nthread U on A\nst y@A 1\nmf\nld r x@A\n"),
                  {"x@A=1 y@A=1 T:r=0 U:r=1", "x@A=1 y@A=1 T:r=1 U:r=0", "x@A=1 y@A=1 T:r=1 U:r=1"});
}

TEST(LitmusMachine, WaitGoesOnWithAStoreOfItsOwnBufferAndWithARegister) {
  expect_outcomes("init x@A=0\nthread A on A\nst x@A 1\nwait x@A 1\nld r x@A\nwait x@A r\n", {"x@A=1 A:r=1"});
}

TEST(LitmusMachine, AFailingCompareSwapOfTheCPUWritesNothing) {
  expect_outcomes("init x@A=1\nthread A on A\ncas r x@A 0 7\ncas s x@A 1 8\n", {"x@A=8 A:r=1 A:s=1"});
}

TEST(LitmusMachine, AThreadThatCannotGoOnIsStuckAndGivesNoOutcome) {
  for (const char* text : {"litmus T\ninit x@A=0\nthread A on A\nwait x@A 1\nld r x@A\n",
                           "litmus T\ninit x@A=0\nqueue q A A\nthread A on A\npoll q\n",
                           "litmus T\ninit x@A=0\nqueue q A A\nthread A on A\nput q x@A <- x@A\npoll q\nrpoll q\n",
                           "litmus T\ninit x@A=0\nqueue q A A\nthread A on A\nput q x@A <- x@A\npoll q\npoll q\n"}) {
    const Program program = program_of(text);
    const Exploration result = explored(program, ProfileName::portable);
    EXPECT_EQ(result.stuck, 1U) << text;
    EXPECT_TRUE(result.outcomes.empty()) << text;
  }
}

TEST(LitmusMachine, ChunksOfOneMessageHaveNoOrderEvenOnTheSameLocation) {
  expect_outcomes("init a@A=1 b@A=2 x@B=0\nqueue q A B\nthread A on A\nput q x@B <- a@A, x@B <- b@A\n",
                  {"a@A=1 b@A=2 x@B=1", "a@A=1 b@A=2 x@B=2"});
  expect_outcomes("init a@A=0 x@B=1 y@B=2\nqueue q A B\nthread A on A\nget q a@A <- x@B, a@A <- y@B\n",
                  {"a@A=1 x@B=1 y@B=2", "a@A=2 x@B=1 y@B=2"});
}

TEST(LitmusMachine, InlineDataIsTakenWhenTheInstructionRuns) {
  expect_outcomes(
      "init a@A=1 b@A=1 x@B=0 y@B=0\nqueue q A B\nthread A on A\n"
      "st a@A 2\nput.inline q x@B <- a@A, y@B <- b@A\nst a@A 3\nst b@A 3\n",
      {"a@A=3 b@A=3 x@B=2 y@B=1"});
}

TEST(LitmusMachine, AFencedInlinePutDoesNotWriteBeforeEarlierGetsAreDone) {
  constexpr std::string_view head = "init a@A=0 x@B=7 one@A=1\nqueue q A B\nthread A on A\nget q a@A <- x@B\n";
  expect_outcomes(joined(head, "put.inline q x@B <- one@A\n"), {"a@A=1 x@B=1 one@A=1", "a@A=7 x@B=1 one@A=1"});
  expect_outcomes(joined(head, "put.inline.fence q x@B <- one@A\n"), {"a@A=7 x@B=1 one@A=1"});
}

TEST(LitmusMachine, AFenceDoesNotWaitForPuts) {
  // The fenced put reads its source while the first put has not read: portable alone, strict reads in order.
  expect_outcomes(
      "init a@A=0 b@A=0 x@B=9 y@B=9\nqueue q A B\nthread A on A\nput q x@B <- a@A\nput.fence q y@B <- b@A\n"
      "thread U on A\nst b@A 1\nst a@A 1\n",
      {"a@A=1 b@A=1 x@B=0 y@B=0", "a@A=1 b@A=1 x@B=0 y@B=1", "a@A=1 b@A=1 x@B=1 y@B=1"},
      {"a@A=1 b@A=1 x@B=0 y@B=0", "a@A=1 b@A=1 x@B=0 y@B=1", "a@A=1 b@A=1 x@B=1 y@B=0", "a@A=1 b@A=1 x@B=1 y@B=1"});
}

TEST(LitmusMachine, AQueueFromANodeToItselfKeepsItsTwoListsApart) {
  // The get passes no write under way toward what it reads; the put's read looks at the other list alone.
  expect_outcomes("init a@A=1 b@A=0 c@A=0\nqueue q A A\nthread A on A\nput q b@A <- a@A\nget q c@A <- b@A\n",
                  {"a@A=1 b@A=1 c@A=1"});
  expect_outcomes("init a@A=1 b@A=0 c@A=0\nqueue q A A\nthread A on A\nput q b@A <- a@A\nput q c@A <- b@A\n",
                  {"a@A=1 b@A=1 c@A=0", "a@A=1 b@A=1 c@A=1"});
  expect_outcomes("init a@A=1 b@A=0 c@A=0\nqueue q A A\nthread A on A\nget q b@A <- a@A\nput q c@A <- b@A\n",
                  {"a@A=1 b@A=1 c@A=0", "a@A=1 b@A=1 c@A=1"});
}

TEST(LitmusMachine, QueuesBetweenTheSameNodesHaveNoOrder) {
  expect_outcomes(
      "init a@A=1 b@A=2 x@B=0\nqueue q A B\nqueue p A B\nthread A on A\nput q x@B <- a@A\npoll q\nput p x@B <- b@A\n",
      {"a@A=1 b@A=2 x@B=1", "a@A=1 b@A=2 x@B=2"});
}

TEST(LitmusMachine, ThreadsThatShareAQueueShareItsCompletions) {
  expect_outcomes("init a@A=1 x@B=0\nqueue q A B\nthread T on A\nput q x@B <- a@A\nthread U on A\npoll q\nld r a@A\n",
                  {"a@A=1 x@B=1 U:r=1"});
}

TEST(LitmusMachine, AGlobAtomicIsOneStepForTheOwnersCPUToo) {
  constexpr std::string_view body =
      "init r@A=9 x@B=0\nqueue q A B\nthread A on A\nrfaa q r@A <- x@B + 1\nthread B on B\nfaa t x@B 1\n";
  expect_outcomes(joined("atomics glob\n", body), {"r@A=0 x@B=2 B:t=1", "r@A=1 x@B=2 B:t=0"});
  expect_outcomes(body, {"r@A=0 x@B=1 B:t=0", "r@A=0 x@B=2 B:t=1", "r@A=1 x@B=2 B:t=0"});
}

TEST(LitmusMachine, ARemoteCompareSwapWritesOnlyIfItFindsWhatItExpects) {
  for (const char* scope : {"atomics hca\n", "atomics glob\n"}) {
    expect_outcomes(joined(scope,
                           "init r@A=9 s@A=9 x@B=4\nqueue q A B\nthread A on A\n"
                           "rcas q r@A <- x@B : 5 -> 6\nrcas q s@A <- x@B : 4 -> 7\n"),
                    {"r@A=4 s@A=4 x@B=7"});
  }
}

TEST(LitmusMachine, AnImmediateWaitsForEarlierPutsAndAtomicsAndNotForGets) {
  expect_outcomes(
      "init r@A=9 d@A=1 x@B=0 y@B=0\nqueue q A B\nthread A on A\nrfaa q r@A <- x@B + 1\nput.imm q y@B <- d@A\n"
      "thread B on B\nrpoll q\nld s x@B\n",
      {"r@A=0 d@A=1 x@B=1 y@B=1 B:s=1"});
  expect_outcomes(
      "init a@A=9 d@A=1 x@B=0 y@B=0\nqueue q A B\nthread A on A\nget q a@A <- x@B\nput.imm q y@B <- d@A\n"
      "thread B on B\nrpoll q\nst x@B 1\n",
      {"a@A=0 d@A=1 x@B=1 y@B=1", "a@A=1 d@A=1 x@B=1 y@B=1"});
}

TEST(LitmusMachine, AReceiveCompletionCoversTheWritesBeforeItOfThatQueueAlone) {
  expect_outcomes(
      "init d@A=1 x@B=0 y@B=0\nqueue q A B\nqueue p A B\nthread A on A\nput p x@B <- d@A\nput.imm q y@B <- d@A\n"
      "thread B on B\nrpoll q\nld r x@B\nld s y@B\n",
      {"d@A=1 x@B=1 y@B=1 B:r=0 B:s=1", "d@A=1 x@B=1 y@B=1 B:r=1 B:s=1"});
}

TEST(LitmusMachine, AnEarlierAtomicHoldsBackEveryLaterGetEvenUnderPortable) {
  expect_outcomes(
      "init r@A=9 g@A=9 h@A=9 x@B=0 y@B=0\nqueue q A B\nthread A on A\n"
      "rfaa q r@A <- x@B + 1\nget q g@A <- y@B\nget q h@A <- x@B\n",
      {"r@A=0 g@A=0 h@A=1 x@B=1 y@B=0"});
}

TEST(LitmusMachine, ResultsForTheSameLocalLocationLandInPostingOrder) {
  expect_outcomes("init a@A=9 x@B=1 y@B=2\nqueue q A B\nthread A on A\nget q a@A <- x@B\nget q a@A <- y@B\n",
                  {"a@A=2 x@B=1 y@B=2"});
  expect_outcomes("init a@A=9 x@B=1 y@B=2\nqueue q A B\nthread A on A\nget q a@A <- x@B\nrfaa q a@A <- y@B + 1\n",
                  {"a@A=2 x@B=1 y@B=3"});
}

}  // namespace
}  // namespace ferry::sim::litmus
