// Members of a Sequence take effect in their order, and stop at the first that fails.
#include "queue_fixture.hpp"

#include <ferry/queue/sequence_order.hpp>

namespace ferry::queue_tests {
namespace {

using queue::SequenceOrder;
using Kind = SequenceOrder::Kind;

TEST(SequenceOrder, PutsOfAStrictDeviceFollowEachOtherAndOthersWait) {
  SequenceOrder order;
  EXPECT_EQ(order.enter(7, 1), 1);
  EXPECT_EQ(order.enter(7, 0), 1) << "all members under way stay on one lane";
  order.posted(7, Kind::put, false);
  EXPECT_TRUE(order.may_post(7, Kind::put, OrderClass::strict));
  EXPECT_TRUE(order.may_post(7, Kind::get, OrderClass::strict));
  EXPECT_FALSE(order.may_post(7, Kind::put, OrderClass::unordered));
  EXPECT_FALSE(order.may_post(7, Kind::get, OrderClass::unordered));
  EXPECT_TRUE(order.may_post(7, Kind::command, OrderClass::unordered));
  EXPECT_FALSE(order.ended(7, true));
  EXPECT_TRUE(order.may_post(7, Kind::put, OrderClass::unordered)) << "it has ended";
}

TEST(SequenceOrder, NothingButCommandsFollowsACommand) {
  SequenceOrder order;
  order.enter(7, 0);
  order.enter(7, 0);
  order.posted(7, Kind::command, false);
  for (const OrderClass each : {OrderClass::strict, OrderClass::unordered}) {
    EXPECT_TRUE(order.may_post(7, Kind::command, each));
    EXPECT_FALSE(order.may_post(7, Kind::put, each));
    EXPECT_FALSE(order.may_post(7, Kind::get, each));
  }
}

TEST(SequenceOrder, WhatFollowsAGetOfAnEarlierMemberIsFenced) {
  SequenceOrder order;
  order.enter(7, 0);
  order.enter(7, 0);
  order.posted(7, Kind::get, false);
  order.posted(7, Kind::get, true);
  EXPECT_FALSE(order.is_fenced(7, 2)) << "its own gets do not count";
  EXPECT_TRUE(order.is_fenced(7, 0));
  order.get_ended(7);
  EXPECT_TRUE(order.is_fenced(7, 0));
  order.get_ended(7);
  EXPECT_FALSE(order.is_fenced(7, 0));
}

TEST(SequenceOrder, AFailedOneIsRememberedWhenNothingOfItIsUnderWay) {
  SequenceOrder order;
  order.enter(7, 0);
  order.enter(8, 0);
  order.fail(7, 20);
  EXPECT_TRUE(order.has_failed(7));
  EXPECT_TRUE(order.has_failed_before(7, 21));
  EXPECT_FALSE(order.has_failed_before(7, 20)) << "what is before the failed one may still succeed";
  EXPECT_TRUE(order.ended(7, false)) << "the owner may forget it";
  EXPECT_TRUE(order.has_failed(7));
  EXPECT_FALSE(order.has_failed(8));
  EXPECT_FALSE(order.ended(8, false));
}

class Sequences : public QueueTest, public testing::WithParamInterface<OrderClass> {
 protected:
  Sequences() : QueueTest(GetParam()) { owner_->device.lands_late = initiator_->device.lands_late = true; }

  Tracked& member(OperationKind kind, const RemoteRegion& region, std::vector<std::uint64_t>* local,
                  std::uint64_t operand = 0) {
    Tracked& tracked =
        make_operation(kind, region, local == nullptr ? nullptr : reinterpret_cast<std::byte*>(local->data()),
                       local == nullptr ? 0 : region.length);
    tracked.operation.operand = operand;
    tracked.operation.sequence = SequenceTag{11, next_++, 0};
    return tracked.start(*peer_);
  }
  void warm_up(Memory& memory) {
    auto bulk = pattern(8192, 0);
    auto small = pattern(8, 0);
    Tracked& first = read(memory.part(0, 8192), bulk);
    Tracked& second = read(memory.part(0, 8), small);
    run();
    ASSERT_TRUE(first.succeeded() && second.succeeded());
  }
  // Two writes of a sequence behind another operation's read, whose memory was revoked, on one lane.
  void expect_behind_a_refused_read(errc first_code, errc second_code) {
    Memory good(*owner_, 16384);
    Memory bad(*owner_, 8192);
    warm_up(good);
    bad.revoke();
    auto local = pattern(8192, 0);
    auto bytes = pattern(8192, 5);
    Tracked& refused = read(bad.reference, local);
    Tracked& first = member(OperationKind::write, good.part(0, 8192), &bytes);
    Tracked& second = member(OperationKind::write, good.part(8192, 8192), &bytes);
    run();
    EXPECT_EQ(refused.code(), errc::revoked) << refused.text();
    EXPECT_EQ(first.code(), first_code) << first.text();
    EXPECT_EQ(second.code(), second_code) << second.text();
    EXPECT_TRUE(good.is(0));
  }
  std::uint32_t next_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Queue, Sequences, testing::Values(OrderClass::strict, OrderClass::unordered), name_of_class);

TEST_P(Sequences, AFlagIsNeverSeenBeforeTheBytesInFrontOfIt) {
  Memory memory(*owner_, 16384);
  warm_up(memory);
  auto bytes = pattern(8192, 5);
  auto flag = pattern(8, 1);
  Tracked& first = member(OperationKind::write, memory.part(0, 8192), &bytes);
  Tracked& second = member(OperationKind::write, memory.part(8192, 8), &flag);
  while (second.ended == 0 && fabric_.step()) {
    if (memory.is(1, 8192, 8)) {
      EXPECT_TRUE(memory.is(5, 0, 8192));
    }
  }
  EXPECT_TRUE(second.succeeded()) << second.text();
  run();
  EXPECT_TRUE(first.succeeded()) << first.text();
  EXPECT_TRUE(memory.is(1, 8192, 8));
}

TEST_P(Sequences, ALargeReadBehindALargeWriteSeesItsBytes) {
  Memory memory(*owner_, 8192);
  warm_up(memory);
  auto bytes = pattern(8192, 5);
  auto local = pattern(8192, 0);
  Tracked& first = member(OperationKind::write, memory.reference, &bytes);
  Tracked& second = member(OperationKind::read, memory.reference, &local);
  run();
  EXPECT_TRUE(first.succeeded() && second.succeeded()) << first.text() << second.text();
  EXPECT_TRUE(is_all(local, 5));
}

TEST_P(Sequences, WhatFollowsAReadIsFenced) {
  Memory memory(*owner_, 8192);
  warm_up(memory);
  const std::size_t before = initiator_->device.executed.size();
  auto local = pattern(8192, 0);
  auto flag = pattern(8, 1);
  Tracked& first = member(OperationKind::read, memory.reference, &local);
  Tracked& second = member(OperationKind::write, memory.part(0, 8), &flag);
  run();
  EXPECT_TRUE(first.succeeded() && second.succeeded()) << first.text() << second.text();
  ASSERT_GE(initiator_->device.executed.size(), before + 2);
  EXPECT_FALSE(initiator_->device.executed[before].fenced);
  EXPECT_TRUE(initiator_->device.executed[before + 1].fenced);
}

TEST_P(Sequences, AnAtomicOfTheOwnersProcessorComesBehindTheBytesBeforeIt) {
  Memory memory(*owner_, 8192);
  warm_up(memory);
  auto bytes = pattern(8192, 0);
  bytes[1] = 30;
  auto after = pattern(8192, 0);
  Tracked& first = member(OperationKind::write, memory.reference, &bytes);
  Tracked& second = member(OperationKind::fetch_add, memory.part(8, 8), nullptr, 4);
  Tracked& third = member(OperationKind::read, memory.reference, &after);
  run();
  EXPECT_TRUE(first.succeeded() && second.succeeded() && third.succeeded())
      << first.text() << second.text() << third.text();
  EXPECT_EQ(second.operation.result, 30U);
  EXPECT_EQ(after[1], 34U) << "the read was not behind the atomic";
}

TEST_P(Sequences, NothingBehindARefusedMemberIsExecuted) {
  for (const bool is_large : {false, true}) {
    Memory good(*owner_, 16384);
    Memory bad(*owner_, 16384, Access::read);
    warm_up(good);
    const std::uint64_t size = is_large ? 8192 : 8;
    auto bytes = pattern(8192, 5);
    std::vector<Tracked*> all;
    next_ = 0;
    for (const Memory* memory : {&good, &bad, &good, &good}) {
      const auto offset = static_cast<std::uint64_t>(all.size() == 3 ? 8192 : 0);
      all.push_back(&make_operation(OperationKind::write, memory->part(offset, size),
                                    reinterpret_cast<std::byte*>(bytes.data()), size));
      all.back()->operation.sequence = SequenceTag{is_large ? 21U : 20U, next_++, 0};
    }
    for (Tracked* each : all) {
      each->start(*peer_);
    }
    run();
    EXPECT_TRUE(all[0]->succeeded()) << all[0]->text();
    EXPECT_EQ(all[1]->code(), errc::access_denied) << all[1]->text();
    EXPECT_EQ(all[2]->code(), errc::not_executed) << all[2]->text();
    EXPECT_EQ(all[3]->code(), errc::not_executed) << all[3]->text();
    EXPECT_TRUE(good.is(0, 8192, 8192));
    auto local = pattern(8, 0);
    Tracked& next = read(good.part(0, 8), local);
    run();
    EXPECT_TRUE(next.succeeded()) << next.text();
  }
}

TEST_P(Sequences, MembersBehindAnothersRefusalAreNotStartedAgain) {
  owner_->device.tells_progress = true;
  expect_behind_a_refused_read(errc::not_executed, errc::not_executed);
}

TEST_P(Sequences, BehindARefusedReadNothingIsKnownWhereDevicesTellNoProgress) {
  expect_behind_a_refused_read(errc::outcome_unknown,
                               GetParam() == OrderClass::strict ? errc::outcome_unknown : errc::not_executed);
}

TEST_P(Sequences, IndependentOperationsPassASequenceThatWaits) {
  Memory memory(*owner_, 16384);
  warm_up(memory);
  pipe().hold(FakePipe::owner);
  auto bytes = pattern(8192, 5);
  auto local = pattern(8192, 0);
  auto independent = pattern(8192, 0);
  Tracked& first = member(OperationKind::write, memory.part(0, 8192), &bytes);
  Tracked& second = member(OperationKind::read, memory.part(0, 8192), &local);
  Tracked& other = read(memory.part(8192, 8192), independent);
  run();
  EXPECT_TRUE(other.succeeded()) << other.text();
  EXPECT_EQ(second.ended, GetParam() == OrderClass::strict ? 1 : 0) << second.text();
  pipe().release(FakePipe::owner);
  run();
  EXPECT_TRUE(first.succeeded() && second.succeeded() && is_all(local, 5));
}

TEST_P(Sequences, AMemberDoesNotPassOneForWhichThereIsNoRoom) {
  const std::size_t bulk = std::size_t{20} << 20;
  Memory memory(*owner_, bulk + 8192);
  warm_up(memory);
  initiator_->device.is_held = true;
  auto many = pattern(bulk, 0);
  auto bytes = pattern(8192, 5);
  auto flag = pattern(8, 1);
  Tracked& independent = read(memory.part(0, bulk), many);  // takes the whole window
  Tracked& first = member(OperationKind::write, memory.part(0, 8192), &bytes);
  Tracked& second = member(OperationKind::write, memory.part(8192, 8), &flag);
  run();
  initiator_->device.is_held = false;
  initiator_->device.release();
  bool was_early = false;
  while (second.ended == 0 && fabric_.step()) {
    was_early = was_early || (memory.is(1, 8192, 8) && !memory.is(5, 0, 8192));
  }
  EXPECT_FALSE(was_early);
  run();
  EXPECT_TRUE(independent.succeeded() && first.succeeded() && second.succeeded())
      << independent.text() << first.text() << second.text();
}

TEST_P(Sequences, AWriteInFlightWhenTheChannelEndsIsUnknownAndTheRestNotExecuted) {
  Memory memory(*owner_, 16384);
  warm_up(memory);
  initiator_->device.is_held = true;
  auto bytes = pattern(8192, 5);
  auto local = pattern(8192, 0);
  Tracked& first = member(OperationKind::write, memory.part(0, 8192), &bytes);
  Tracked& second = member(OperationKind::read, memory.part(0, 8192), &local);
  run();
  pipe().cut(Failure(errc::peer_lost, "the wire was cut"), PeerState::unknown);
  run();
  EXPECT_EQ(first.code(), errc::outcome_unknown) << first.text();
  EXPECT_TRUE(second.code() == errc::not_executed || second.code() == errc::peer_lost) << second.text();
  initiator_->device.release();
  run();
  EXPECT_TRUE(memory.is(0));
}

}  // namespace
}  // namespace ferry::queue_tests
