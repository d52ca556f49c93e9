// The bookkeeping of a lane: what may be posted, what a mark covers, what the owner may say.
#include <gtest/gtest.h>

#include <ferry/queue/lane.hpp>

namespace ferry::queue {
namespace {

PostedRequest request(PostedRequest::Kind kind) {
  PostedRequest made;
  made.kind = kind;
  return made;
}

// Posts a mark as the connection does; its number.
std::uint32_t post_mark(Lane& lane) {
  const std::uint32_t mark = lane.add_mark();
  lane.add(request(PostedRequest::Kind::mark));
  return mark;
}

TEST(Lane, AMarkCoversWhatWasPostedBeforeItAndNothingBehind) {
  Lane lane;
  lane.begin(OrderClass::unordered, 8, 8, true);
  const std::uint64_t before = lane.add(request(PostedRequest::Kind::put));
  lane.want_covered(before);
  EXPECT_TRUE(lane.wants_mark());
  const std::uint32_t mark = post_mark(lane);
  EXPECT_FALSE(lane.wants_mark());
  const std::uint64_t behind = lane.add(request(PostedRequest::Kind::put));
  EXPECT_FALSE(lane.is_covered(before));
  EXPECT_TRUE(lane.mark_answered(mark));
  EXPECT_TRUE(lane.is_covered(before));
  EXPECT_FALSE(lane.is_covered(behind));
}

TEST(Lane, AtMostTwoMarksAreUnderWayAndLaterOperationsShareTheNext) {
  Lane lane;
  lane.begin(OrderClass::unordered, 64, 64, true);
  std::vector<std::uint32_t> marks;
  for (int count = 0; count < 10; ++count) {
    lane.want_covered(lane.add(request(PostedRequest::Kind::put)));
    while (lane.wants_mark()) {
      marks.push_back(post_mark(lane));
    }
  }
  ASSERT_EQ(marks.size(), 2U);
  EXPECT_TRUE(lane.mark_answered(marks[0]));
  ASSERT_TRUE(lane.wants_mark());
  marks.push_back(post_mark(lane));
  EXPECT_TRUE(lane.mark_answered(marks[1]));
  EXPECT_FALSE(lane.wants_mark()) << "the one under way covers all";
  EXPECT_TRUE(lane.mark_answered(marks[2]));
  EXPECT_TRUE(lane.is_covered(10));
}

TEST(Lane, AnAnswerToAnotherMarkIsMalformed) {
  Lane lane;
  lane.begin(OrderClass::unordered, 8, 8, true);
  EXPECT_EQ(lane.mark_answered(1).error().code(), errc::malformed);
  const std::uint32_t first = post_mark(lane);
  const std::uint32_t second = post_mark(lane);
  EXPECT_EQ(lane.mark_answered(second).error().code(), errc::malformed);
  EXPECT_TRUE(lane.mark_answered(first));
  EXPECT_EQ(lane.mark_answered(first).error().code(), errc::malformed);
}

TEST(Lane, RoomReceivesAndWindowAreCounted) {
  Lane lane;
  lane.begin(OrderClass::unordered, 20, 3, true);
  EXPECT_EQ(lane.room(), 20U);
  EXPECT_EQ(lane.credits(), 3U);
  lane.add(request(PostedRequest::Kind::command));
  lane.add(request(PostedRequest::Kind::get));
  lane.add(request(PostedRequest::Kind::put));
  EXPECT_EQ(lane.room(), 17U);
  EXPECT_EQ(lane.credits(), 2U) << "only the command takes a receive";
  EXPECT_TRUE(lane.received(1));
  EXPECT_EQ(lane.credits(), 3U);
  EXPECT_EQ(lane.received(2).error().code(), errc::malformed) << "more than were used";
  EXPECT_EQ(lane.received(0).error().code(), errc::malformed) << "fewer than before";
  PostedRequest large = request(PostedRequest::Kind::get);
  large.is_large = true;
  std::uint64_t last = 0;
  for (std::size_t count = 0; count < limits::kWindowPieces; ++count) {
    EXPECT_TRUE(lane.has_window());
    last = lane.add(large);
  }
  EXPECT_FALSE(lane.has_window());
  lane.done(last);
  EXPECT_TRUE(lane.has_window());
}

TEST(Lane, EveryPutOfAnSrdDeviceTakesAReceiveAndStaysUntilItIsConfirmed) {
  Lane lane;
  lane.begin(OrderClass::srd, 8, 8, false);
  PostedRequest put = request(PostedRequest::Kind::put);
  put.is_transmitted = true;
  const std::uint64_t number = lane.add(put);
  EXPECT_EQ(lane.credits(), 7U);
  EXPECT_EQ(lane.whole_number(static_cast<std::uint32_t>(number)), number);
  lane.done(number);
  EXPECT_NE(lane.find(number), nullptr);
  EXPECT_TRUE(lane.has_unconfirmed_transmitted(number));
  lane.confirmed(number);
  EXPECT_EQ(lane.find(number), nullptr);
  EXPECT_FALSE(lane.has_unconfirmed_transmitted(number));
}

TEST(Lane, ANumberIsOfOneRequestOverAllLives) {
  Lane lane;
  lane.begin(OrderClass::strict, 8, 8, false);
  const std::uint64_t first = lane.add(request(PostedRequest::Kind::put));
  lane.cover(first + 1);
  lane.begin(OrderClass::strict, 8, 8, false);
  EXPECT_EQ(lane.find(first), nullptr) << "it was of an earlier life";
  const std::uint64_t second = lane.add(request(PostedRequest::Kind::put));
  EXPECT_GT(second, first);
  EXPECT_TRUE(lane.is_covered(first));
  EXPECT_FALSE(lane.is_covered(second));
}

}  // namespace
}  // namespace ferry::queue
