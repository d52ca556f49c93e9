// A lane that fails: who is told what, what is done again, and what waits for the owner's word.
#include "queue_fixture.hpp"

namespace ferry::queue_tests {
namespace {

class Recovery : public QueueTest, public testing::WithParamInterface<OrderClass> {
 protected:
  Recovery() : QueueTest(GetParam()) { owner_->device.lands_late = initiator_->device.lands_late = true; }
  bool is(OrderClass order) const { return GetParam() == order; }

  // How often each remote address was put to.
  std::map<std::uint64_t, int> puts() const {
    std::map<std::uint64_t, int> count;
    for (const queue::WorkRequest& request : initiator_->device.executed) {
      if (request.verb == queue::Verb::put && request.length > 0) {
        ++count[request.remote.address];
      }
    }
    return count;
  }
  std::size_t data_requests() const {
    return static_cast<std::size_t>(
        std::count_if(initiator_->device.executed.begin(), initiator_->device.executed.end(),
                      [](const queue::WorkRequest& request) { return request.length > 0; }));
  }
};

INSTANTIATE_TEST_SUITE_P(Queue, Recovery,
                         testing::Values(OrderClass::strict, OrderClass::unordered, OrderClass::iwarp, OrderClass::srd),
                         name_of_class);

TEST_P(Recovery, ARefusedReadFailsAloneWithItsOwnCause) {
  Memory good(*owner_, 64);
  Memory bad(*owner_, 64);
  good.fill(3);
  bad.revoke();
  std::vector<std::vector<std::uint64_t>> locals(8, pattern(64, 0));
  std::vector<Tracked*> all;
  for (std::size_t index = 0; index < locals.size(); ++index) {
    all.push_back(&read(index == 2 ? bad.reference : good.reference, locals[index]));
  }
  run();
  for (std::size_t index = 0; index < locals.size(); ++index) {
    if (index == 2) {
      EXPECT_EQ(all[index]->code(), errc::revoked) << all[index]->text();
      EXPECT_NE(all[index]->text().find("ask it for a new reference"), std::string::npos) << all[index]->text();
      EXPECT_EQ(all[index]->operation.failure.effect(), Effect::none);
    } else {
      EXPECT_TRUE(all[index]->succeeded() && is_all(locals[index], 3)) << index << ": " << all[index]->text();
    }
  }
  auto again = pattern(64, 0);
  Tracked& next = read(good.reference, again);
  run();
  EXPECT_TRUE(next.succeeded() && is_all(again, 3)) << next.text();
}

TEST_P(Recovery, WritesBesideARefusedOneAreExecutedOnce) {
  Memory good(*owner_, 64);
  Memory bad(*owner_, 64, Access::read);
  std::vector<std::vector<std::uint64_t>> locals(8, pattern(8, 4));
  std::vector<Tracked*> all;
  for (std::size_t index = 0; index < locals.size(); ++index) {
    all.push_back(&write(index == 2 ? bad.part(0, 8) : good.part(index * 8, 8), locals[index]));
  }
  run();
  for (std::size_t index = 0; index < locals.size(); ++index) {
    if (index == 2) {
      EXPECT_EQ(all[index]->code(), errc::access_denied) << all[index]->text();
      EXPECT_EQ(all[index]->operation.failure.effect(), Effect::none) << all[index]->text();
    } else {
      EXPECT_TRUE(all[index]->succeeded()) << index << ": " << all[index]->text();
      EXPECT_TRUE(good.is(4, index * 8, 8)) << index;
    }
  }
  for (const auto& [address, count] : puts()) {
    EXPECT_EQ(count, 1) << "address " << address;
  }
  EXPECT_TRUE(bad.is(0));
}

TEST_P(Recovery, ManyBadMembersCostOneRebuild) {
  Memory good(*owner_, 64);
  Memory bad(*owner_, 64);
  bad.revoke();
  std::vector<std::vector<std::uint64_t>> locals(300, pattern(8, 0));
  std::vector<Tracked*> all;
  for (std::size_t index = 0; index < locals.size(); ++index) {
    all.push_back(&read(index % 3 == 1 ? bad.part(0, 8) : good.part(0, 8), locals[index]));
  }
  run();
  for (std::size_t index = 0; index < locals.size(); ++index) {
    EXPECT_EQ(all[index]->succeeded(), index % 3 != 1) << index << ": " << all[index]->text();
    EXPECT_TRUE(all[index]->succeeded() || all[index]->code() == errc::revoked);
  }
  EXPECT_LE(initiator_->device.created, 2U);
}

TEST_P(Recovery, ABulkWriteGoesOnAfterAnothersRefusal) {
  Memory good(*owner_, std::size_t{6} << 20);
  Memory bad(*owner_, 8192);
  bad.revoke();
  auto bulk = pattern(std::size_t{6} << 20, 8);
  auto other = pattern(8192, 8);
  Tracked& first = write(good.reference, bulk);
  Tracked& second = write(bad.reference, other);
  run();
  EXPECT_EQ(second.code(), errc::revoked) << second.text();
  EXPECT_TRUE(first.succeeded()) << first.text();
  EXPECT_TRUE(good.is(8));
  for (const auto& [address, count] : puts()) {
    EXPECT_EQ(count, 1) << "a piece was executed again";
  }
}

TEST_P(Recovery, ARefusalWhoseWordGotLostIsAttributedByTheOwner) {
  initiator_->device.loses_refusals = true;
  Memory good(*owner_, 64);
  Memory bad(*owner_, 64);
  bad.revoke();
  std::vector<std::vector<std::uint64_t>> locals(8, pattern(8, 4));
  std::vector<Tracked*> all;
  for (std::size_t index = 0; index < locals.size(); ++index) {
    all.push_back(&write(index == 2 ? bad.part(0, 8) : good.part(index * 8, 8), locals[index]));
  }
  run();
  for (std::size_t index = 0; index < locals.size(); ++index) {
    if (index == 2) {
      EXPECT_EQ(all[index]->text().substr(0, 7), "revoked") << all[index]->text();
      EXPECT_EQ(all[index]->operation.failure.effect(), Effect::none) << all[index]->text();
    } else {
      EXPECT_TRUE(all[index]->succeeded() && good.is(4, index * 8, 8)) << index << ": " << all[index]->text();
    }
  }
  for (const auto& [address, count] : puts()) {
    EXPECT_EQ(count, 1) << "address " << address;
  }
}

TEST_P(Recovery, OfTwoThatMayHaveBeenRefusedNobodySaysThatItHadNoEffect) {
  initiator_->device.loses_refusals = true;
  Memory first(*owner_, 8);
  Memory second(*owner_, 8);
  auto local = pattern(8, 4);
  Tracked& warm = write(first.reference, local);
  run();
  ASSERT_TRUE(warm.succeeded());
  first.revoke();
  second.revoke();
  Tracked& one = write(first.reference, local);
  Tracked& other = write(second.reference, local);
  run();
  EXPECT_EQ(one.text().substr(0, 7), "revoked") << one.text();
  EXPECT_EQ(other.text().substr(0, 7), "revoked") << other.text();
  EXPECT_EQ(one.operation.failure.effect(), is(OrderClass::srd) ? Effect::none : Effect::unknown)
      << "it might have been executed and then revoked";
}

TEST_P(Recovery, AForgedKeyIsRefusedAlsoWhereNobodyNamesTheRequest) {
  initiator_->device.loses_refusals = true;
  Memory good(*owner_, 64);
  good.fill(3);
  RemoteRegion forged = good.reference;
  forged.keys[0].key += 1000;
  std::vector<std::vector<std::uint64_t>> locals(4, pattern(64, 0));
  std::vector<Tracked*> all;
  for (std::size_t index = 0; index < locals.size(); ++index) {
    all.push_back(&read(index == 1 ? forged : good.reference, locals[index]));
  }
  run();
  for (std::size_t index = 0; index < locals.size(); ++index) {
    EXPECT_EQ(all[index]->ended, 1);
    if (index == 1) {
      EXPECT_EQ(all[index]->text().substr(0, 13), "access_denied") << all[index]->text();
    } else {
      EXPECT_TRUE(all[index]->succeeded() && is_all(locals[index], 3)) << all[index]->text();
    }
  }
}

TEST_P(Recovery, AfterAnyOtherFailureReadsAreDoneAgainAndWritesAreUnknown) {
  Memory memory(*owner_, 64);
  memory.fill(2);
  auto first = pattern(8, 5);
  auto second = pattern(8, 6);
  auto local = pattern(8, 0);
  run();
  initiator_->device.fault = FakeDevice::Fault{1, queue::WorkStatus::unreachable, true};
  Tracked& before = write(memory.part(0, 8), first);
  Tracked& failing = write(memory.part(8, 8), second);
  Tracked& behind = write(memory.part(16, 8), second);
  Tracked& reading = read(memory.part(32, 8), local);
  run();
  if (is(OrderClass::strict) || is(OrderClass::unordered)) {
    EXPECT_TRUE(before.succeeded()) << before.text() << ": the discard confirms what had completed";
  }
  EXPECT_TRUE(reading.succeeded() && is_all(local, 2)) << reading.text();
  int unknown = 0;
  for (const Tracked* each : {&before, &failing, &behind}) {
    EXPECT_EQ(each->ended, 1);
    if (!each->succeeded()) {
      ++unknown;
      EXPECT_EQ(each->code(), errc::outcome_unknown) << each->text();
      EXPECT_EQ(each->operation.failure.effect(), Effect::unknown);
    }
  }
  EXPECT_GE(unknown, is(OrderClass::srd) ? 1 : 2);
  for (const auto& [address, count] : puts()) {
    EXPECT_EQ(count, 1) << "a write was executed again";
  }
}

TEST_P(Recovery, NothingOneSidedStartsOnAnyLaneBeforeTheOwnerHasDiscarded) {
  Memory memory(*owner_, 8192);
  memory.fill(1);
  auto small = pattern(8, 5);
  auto bulk = pattern(8192, 0);
  Tracked& warm_small = read(memory.part(0, 8), small);
  Tracked& warm_bulk = read(memory.reference, bulk);
  run();
  ASSERT_TRUE(warm_small.succeeded() && warm_bulk.succeeded());
  pipe().hold(FakePipe::owner);
  initiator_->device.fault = FakeDevice::Fault{0, queue::WorkStatus::unreachable, false};
  Tracked& failing = write(memory.part(0, 8), small);
  run();
  const std::size_t executed = data_requests();
  Tracked& other_lane = read(memory.reference, bulk);
  Tracked& same_lane = read(memory.part(8, 8), small);
  Tracked& atomic = add(memory.part(16, 8), 1);
  run();
  EXPECT_EQ(failing.ended + other_lane.ended + same_lane.ended + atomic.ended, 0);
  EXPECT_EQ(data_requests(), executed) << "the owner has not discarded the lane yet";
  pipe().release(FakePipe::owner);
  run();
  EXPECT_EQ(failing.code(), errc::outcome_unknown) << failing.text();
  EXPECT_TRUE(other_lane.succeeded() && same_lane.succeeded() && atomic.succeeded())
      << other_lane.text() << same_lane.text() << atomic.text();
}

TEST_P(Recovery, ALaneWhoseDeviceGivesItUpIsRebuilt) {
  Memory memory(*owner_, 8192);
  memory.fill(9);
  auto local = pattern(8192, 0);
  initiator_->device.is_held = true;
  Tracked& reading = read(memory.reference, local);
  run();
  initiator_->device.lose_queues(Failure(errc::peer_lost, "the port is down"));
  run();
  initiator_->device.release();
  run();
  EXPECT_TRUE(reading.succeeded() && is_all(local, 9)) << reading.text();
}

TEST_P(Recovery, TransmittedWritesThatCompletedAreConfirmedByTheDiscard) {
  Memory memory(*owner_, 64);
  Memory bad(*owner_, 64);
  bad.revoke();
  auto local = pattern(64, 5);
  Tracked& sent = write(memory.reference, local, Completion::transmitted);
  run();
  ASSERT_TRUE(sent.succeeded());
  Tracked& refused = read(bad.reference, local);
  run();
  EXPECT_EQ(refused.code(), errc::revoked);
  Tracked& flushed = flush(memory.reference);
  run();
  if (is(OrderClass::iwarp)) {  // its completion says nothing: it may have been the one that was refused
    EXPECT_EQ(flushed.text().substr(0, 15), "outcome_unknown") << flushed.text();
  } else {
    EXPECT_TRUE(flushed.succeeded()) << flushed.text();
    EXPECT_TRUE(memory.is(5));
  }
}

TEST_P(Recovery, TransmittedWritesThatNothingConfirmsMakeTheNextFlushSaySoOnce) {
  Memory memory(*owner_, 64);
  auto local = pattern(64, 5);
  Tracked& sent = write(memory.reference, local, Completion::transmitted);
  run();
  ASSERT_TRUE(sent.succeeded());
  initiator_->device.lose_queues(Failure(errc::peer_lost, "the port is down"));
  run();
  Tracked& flushed = flush(memory.reference);
  run();
  if (is(OrderClass::iwarp)) {  // its completion says nothing, and no mark was posted
    EXPECT_EQ(flushed.text().substr(0, 15), "outcome_unknown") << flushed.text();
    Tracked& again = flush(memory.reference);
    run();
    EXPECT_TRUE(again.succeeded()) << "it is told once";
  } else {
    EXPECT_TRUE(flushed.succeeded()) << flushed.text();
  }
}

TEST_P(Recovery, AReadThatNeverMovesIsNotDoneAgainForEver) {
  Memory memory(*owner_, 8);
  auto local = pattern(8, 0);
  Tracked& reading = read(memory.reference, local);
  for (int round = 0; round < 1000 && reading.ended == 0; ++round) {
    initiator_->device.fault = FakeDevice::Fault{0, queue::WorkStatus::unreachable, false};
    while (reading.ended == 0 && initiator_->device.fault && fabric_.step()) {
    }
  }
  EXPECT_EQ(reading.code(), errc::peer_lost) << reading.text();
  initiator_->device.fault.reset();
  run();
}

TEST_P(Recovery, LocalMemoryOutOfReachFailsThatOperation) {
  Memory memory(*owner_, 64);
  auto local = pattern(64, 0);
  initiator_->device.fault = FakeDevice::Fault{0, queue::WorkStatus::local_refusal, false};
  Tracked& failing = read(memory.reference, local);
  run();
  EXPECT_EQ(failing.code(), errc::invalid_argument) << failing.text();
  Tracked& next = read(memory.reference, local);
  run();
  EXPECT_TRUE(next.succeeded()) << next.text();
}

TEST_P(Recovery, WhatADeviceTakesNotIsPostedAgain) {
  Memory memory(*owner_, 64);
  auto local = pattern(64, 4);
  Tracked& warm = write(memory.reference, local);
  run();
  ASSERT_TRUE(warm.succeeded());
  initiator_->device.refuses_post = true;
  Tracked& writing = write(memory.reference, local);
  fabric_.step();
  initiator_->device.refuses_post = false;
  run();
  EXPECT_TRUE(writing.succeeded()) << writing.text();
}

TEST_P(Recovery, ALaneThatCannotBeMadeFailsWhatWaitsForIt) {
  Memory memory(*owner_, 64);
  auto local = pattern(64, 0);
  for (Process* process : {initiator_.get(), owner_.get()}) {
    process->device.create_failure = Failure(errc::resource_exhausted, "no more queue pairs");
    Tracked& failing = read(memory.reference, local);
    run();
    EXPECT_EQ(failing.code(), errc::resource_exhausted) << failing.text();
    EXPECT_EQ(failing.operation.failure.effect(), Effect::none);
    process->device.create_failure = Failure();
    Tracked& next = read(memory.reference, local);
    run();
    EXPECT_TRUE(next.succeeded()) << next.text();
    initiator_->device.lose_queues(Failure(errc::peer_lost, "the port is down"));
    run();
  }
}

TEST_P(Recovery, MemoryThatCannotBeRegisteredFailsTheOperation) {
  Memory memory(*owner_, 8192);
  auto local = pattern(8192, 0);
  Tracked& warm = read(memory.reference, local);
  run();
  ASSERT_TRUE(warm.succeeded());
  initiator_->device.register_failure = Failure(errc::resource_exhausted, "the locked-memory limit is 64 KiB");
  Tracked& failing = read(memory.reference, local);
  run();
  EXPECT_EQ(failing.code(), errc::resource_exhausted) << failing.text();
  initiator_->device.register_failure = Failure();
  Tracked& next = read(memory.reference, local);
  run();
  EXPECT_TRUE(next.succeeded()) << next.text();
}

}  // namespace
}  // namespace ferry::queue_tests
