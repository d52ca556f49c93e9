// Cancelled and abandoned operations: what is left to end, what is silenced, and that memory is quiet afterwards.
#include "queue_fixture.hpp"

namespace ferry::queue_tests {
namespace {

const Failure kCancelled(errc::cancelled, "the user asked");

class Cancel : public QueueTest, public testing::WithParamInterface<OrderClass> {
 protected:
  Cancel() : QueueTest(GetParam()) {}

  // Both lanes are open afterwards.
  void open_lanes(Memory& memory) {
    auto bulk = pattern(8192, 0);
    auto small = pattern(8, 0);
    Tracked& first = read(memory.part(0, 8192), bulk);
    Tracked& second = read(memory.part(0, 8), small);
    run();
    ASSERT_TRUE(first.succeeded() && second.succeeded()) << first.text() << second.text();
  }
  void hold() { initiator_->device.is_held = owner_->device.is_held = true; }
  void release() {
    initiator_->device.release();
    owner_->device.release();
    run();
  }
  static constexpr Duration kGrace = NodeLimits{}.quiet_grace;
};

INSTANTIATE_TEST_SUITE_P(Queue, Cancel,
                         testing::Values(OrderClass::strict, OrderClass::unordered, OrderClass::iwarp, OrderClass::srd),
                         name_of_class);

TEST_P(Cancel, WhatWasNotPostedEndsAtOnce) {
  Memory memory(*owner_, 8);
  auto local = pattern(8, 1);
  Tracked& writing = write(memory.reference, local);
  peer_->cancel(writing.operation, kCancelled);
  EXPECT_EQ(writing.ended, 1);
  EXPECT_EQ(writing.code(), errc::cancelled);
  run();
  Tracked& warm = read(memory.reference, local);
  run();
  ASSERT_TRUE(warm.succeeded());
  pipe().hold(FakePipe::owner);
  initiator_->device.lose_queues(Failure(errc::peer_lost, "the port is down"));
  run();
  Tracked& waiting = write(memory.reference, local);
  run();
  peer_->cancel(waiting.operation, kCancelled);
  EXPECT_EQ(waiting.code(), errc::cancelled) << waiting.text();
  EXPECT_EQ(waiting.operation.failure.effect(), Effect::none);
  pipe().release(FakePipe::owner);
  run();
  EXPECT_TRUE(memory.is(0));
}

TEST_P(Cancel, ABulkReadIsLeftToEndWithinTheGraceAndPostsNoMore) {
  const std::size_t size = std::size_t{64} << 20;
  Memory memory(*owner_, size);
  open_lanes(memory);
  auto local = pattern(size, 0);
  const std::size_t before = initiator_->device.executed.size();
  Tracked& reading = read(memory.reference, local);
  peer_->cancel(reading.operation, kCancelled);
  EXPECT_EQ(reading.ended, 0) << "what was posted may still write to its memory";
  run();
  EXPECT_EQ(reading.code(), errc::cancelled) << reading.text();
  EXPECT_LE(initiator_->device.executed.size() - before, limits::kWindowPieces);
  EXPECT_EQ(initiator_->device.created, 2U) << "nothing was torn down";
  pass(kGrace);
  EXPECT_EQ(initiator_->device.created, 2U);
}

TEST_P(Cancel, AWriteThatEndsWithinTheGraceIsToldCancelledOnceItIsVisible) {
  Memory memory(*owner_, 8192);
  open_lanes(memory);
  owner_->device.lands_late = initiator_->device.lands_late = true;
  auto local = pattern(8192, 6);
  Tracked& writing = write(memory.reference, local);
  peer_->cancel(writing.operation, kCancelled);
  while (writing.ended == 0 && fabric_.step()) {
  }
  EXPECT_EQ(writing.code(), errc::cancelled) << writing.text();
  EXPECT_EQ(writing.operation.failure.effect(), Effect::unknown);
  EXPECT_TRUE(memory.is(6)) << "the owner's memory is quiet too";
}

TEST_P(Cancel, AfterTheGraceTheQueueIsTornDownAndLocalMemoryIsQuiet) {
  Memory memory(*owner_, 8192);
  memory.fill(1);
  open_lanes(memory);
  hold();
  auto local = pattern(8192, 0);
  auto written = pattern(8, 7);
  auto beside = pattern(8, 0);
  Tracked& reading = read(memory.reference, local);
  Tracked& writing = write(memory.part(0, 8), written);
  Tracked& other = read(memory.part(8, 8), beside);
  peer_->cancel(reading.operation, kCancelled);
  peer_->cancel(writing.operation, kCancelled);
  pass(kGrace - 1ms);
  EXPECT_EQ(reading.ended + writing.ended + other.ended, 0);
  pass(1ms);
  EXPECT_EQ(reading.code(), errc::cancelled) << reading.text();
  EXPECT_EQ(reading.operation.failure.effect(), Effect::none);
  EXPECT_EQ(writing.code(), errc::outcome_unknown) << writing.text();
  release();
  EXPECT_TRUE(is_all(local, 0)) << "a byte was written after the end";
  EXPECT_TRUE(memory.is(1)) << "the write of the discarded lane was not executed";
  EXPECT_TRUE(other.succeeded() && is_all(beside, 1)) << other.text();
}

TEST_P(Cancel, AFrozenOwnerHoldsUpNoCancel) {
  Memory memory(*owner_, 8192);
  open_lanes(memory);
  hold();
  pipe().hold(FakePipe::owner);
  auto local = pattern(8192, 0);
  auto small = pattern(8, 3);
  Tracked& reading = read(memory.reference, local);
  Tracked& beside = read(memory.part(0, 4104), local);
  peer_->cancel(reading.operation, kCancelled);
  pass(kGrace);
  EXPECT_EQ(reading.code(), errc::cancelled) << reading.text();
  Tracked& writing = write(memory.part(0, 8), small);
  run();
  EXPECT_EQ(writing.ended, 0) << "it waits: the owner has not discarded the lane";
  peer_->cancel(writing.operation, kCancelled);
  EXPECT_EQ(writing.code(), errc::cancelled) << writing.text();
  EXPECT_EQ(writing.operation.failure.effect(), Effect::none);
  peer_->cancel(beside.operation, kCancelled);
  pass(kGrace);
  EXPECT_EQ(beside.code(), errc::cancelled) << beside.text() << ": its lane is broken, and its memory quiet";
  pipe().release(FakePipe::owner);
  release();
  Tracked& next = read(memory.part(0, 8), small);
  run();
  EXPECT_TRUE(next.succeeded()) << next.text();
}

TEST_P(Cancel, AnAtomicIsAnsweredWithinTheGraceAndTearsNothingDown) {
  Memory memory(*owner_, 8);
  Tracked& atomic = add(memory.reference, 4);
  while (memory.words[0] == 0 && fabric_.step()) {
  }
  peer_->cancel(atomic.operation, kCancelled);
  EXPECT_EQ(atomic.ended, 0);
  run();
  EXPECT_EQ(atomic.code(), errc::cancelled) << atomic.text();
  EXPECT_EQ(atomic.operation.failure.effect(), Effect::unknown);
  EXPECT_TRUE(initiator_->events.failures.empty());
  EXPECT_EQ(memory.words[0], 4U);
}

TEST_P(Cancel, AnAtomicWithoutAnswerEndsWithItsChannel) {
  Memory memory(*owner_, 8);
  Tracked& warm = add(memory.reference, 1);
  run();
  ASSERT_TRUE(warm.succeeded());
  pipe().hold(FakePipe::owner);
  Tracked& atomic = add(memory.reference, 4);
  run();
  peer_->cancel(atomic.operation, kCancelled);
  pass(kGrace);
  EXPECT_EQ(atomic.code(), errc::outcome_unknown) << atomic.text();
  EXPECT_EQ(initiator_->events.failures.size(), 1U);
  Tracked& next = add(memory.reference, 10);
  run();
  EXPECT_TRUE(next.succeeded()) << next.text();
  EXPECT_EQ(memory.words[0], 15U);
}

TEST_P(Cancel, AnAbandonedReadIsQuietAtOnce) {
  Memory memory(*owner_, 8192);
  memory.fill(1);
  open_lanes(memory);
  hold();
  auto local = pattern(8192, 0);
  auto beside = pattern(8192, 0);
  Tracked& reading = read(memory.reference, local);
  Tracked& other = read(memory.reference, beside);
  run();
  EXPECT_TRUE(peer_->abandon(reading.operation));
  release();
  EXPECT_EQ(reading.ended, 0) << "nobody is told";
  EXPECT_TRUE(is_all(local, 0));
  EXPECT_TRUE(other.succeeded() && is_all(beside, 1)) << other.text();
}

TEST_P(Cancel, WhatWasAbandonedAndMayStillReachTheOwnersMemoryHoldsUpWhatComesAfter) {
  Memory memory(*owner_, 8192);
  open_lanes(memory);
  pipe().hold(FakePipe::owner);
  auto small = pattern(8, 5);
  Tracked& atomic = add(memory.part(16, 8), 1);
  run();
  EXPECT_TRUE(peer_->abandon(atomic.operation));
  const std::size_t before = initiator_->device.executed.size();
  Tracked& later = write(memory.part(0, 8), small);
  run();
  EXPECT_EQ(initiator_->device.executed.size(), before) << "the atomic has not been answered";
  pipe().release(FakePipe::owner);
  run();
  EXPECT_EQ(atomic.ended, 0);
  EXPECT_TRUE(later.succeeded()) << later.text();
  if (GetParam() == OrderClass::strict) {
    return;  // no owner takes part in its writes
  }
  pipe().hold(FakePipe::owner);
  Tracked& writing = write(memory.part(0, 8), small);
  run();
  EXPECT_EQ(writing.ended, 0) << "its mark has not been answered";
  EXPECT_TRUE(peer_->abandon(writing.operation));
  const std::size_t executed = initiator_->device.executed.size();
  Tracked& reading = read(memory.part(0, 8), small);
  run();
  EXPECT_EQ(initiator_->device.executed.size(), executed);
  pipe().release(FakePipe::owner);
  run();
  EXPECT_TRUE(reading.succeeded()) << reading.text();
  EXPECT_EQ(initiator_->device.created, 2U) << "nothing was torn down";
}

TEST_P(Cancel, WhatHasEndedOrNeverStartedIsNotCancelled) {
  Memory memory(*owner_, 8);
  auto local = pattern(8, 0);
  Tracked& reading = read(memory.reference, local);
  run();
  peer_->cancel(reading.operation, kCancelled);
  EXPECT_TRUE(reading.succeeded());
  EXPECT_FALSE(peer_->abandon(reading.operation));
  Tracked& flushing = flush(memory.reference);
  EXPECT_EQ(flushing.ended, 1);
}

TEST_P(Cancel, AFlushIsCancelledAtOnce) {
  Memory memory(*owner_, 8);
  auto local = pattern(8, 2);
  Tracked& warm = read(memory.reference, local);
  run();
  ASSERT_TRUE(warm.succeeded());
  hold();
  Tracked& sent = write(memory.reference, local, Completion::transmitted);
  Tracked& flushing = flush(memory.reference);
  run();
  EXPECT_EQ(flushing.ended, 0);
  peer_->cancel(flushing.operation, kCancelled);
  EXPECT_EQ(flushing.code(), errc::cancelled) << flushing.text();
  release();
  EXPECT_TRUE(sent.succeeded()) << sent.text();
}

TEST_P(Cancel, AKeptAtomicIsUnknownAtOnce) {
  Memory memory(*owner_, 8);
  Tracked& warm = add(memory.reference, 1);
  run();
  ASSERT_TRUE(warm.succeeded());
  pipe().hold(FakePipe::owner);
  Tracked& atomic = add(memory.reference, 4);
  run();
  pipe().cut(Failure(errc::peer_lost, "the wire was cut"), PeerState::unknown);
  while (initiator_->events.failures.empty() && fabric_.step()) {
  }
  peer_->cancel(atomic.operation, kCancelled);
  EXPECT_EQ(atomic.code(), errc::outcome_unknown) << atomic.text();
  run();
  EXPECT_EQ(atomic.ended, 1);
}

}  // namespace
}  // namespace ferry::queue_tests
