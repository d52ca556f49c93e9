// Reads, writes, flushes, atomics and messages over queue pairs, on devices of every order class.
#include "queue_fixture.hpp"

namespace ferry::queue_tests {
namespace {

class EveryClass : public QueueTest, public testing::WithParamInterface<std::tuple<OrderClass, bool>> {
 protected:
  EveryClass() : QueueTest(std::get<0>(GetParam())) {
    for (Process* process : {owner_.get(), initiator_.get()}) {
      process->device.set().needs_local_keys = std::get<1>(GetParam());
      process->device.lands_late = true;
    }
  }
  bool is(OrderClass order) const { return std::get<0>(GetParam()) == order; }
};

std::string name_of(const testing::TestParamInfo<std::tuple<OrderClass, bool>>& info) {
  return to_text(std::get<0>(info.param)) + (std::get<1>(info.param) ? "Keyed" : "Open");
}

INSTANTIATE_TEST_SUITE_P(Queue, EveryClass,
                         testing::Combine(testing::Values(OrderClass::strict, OrderClass::unordered, OrderClass::iwarp,
                                                          OrderClass::srd),
                                          testing::Bool()),
                         name_of);

TEST_P(EveryClass, SmallAndBulkReadsBringTheBytes) {
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{8}, std::size_t{4096}, std::size_t{4104}, std::size_t{5} << 20}) {
    Memory memory(*owner_, size);
    memory.fill(7);
    auto local = pattern(size, 1);
    Tracked& done = read(memory.reference, local);
    run();
    EXPECT_TRUE(done.succeeded()) << size << ": " << done.text();
    EXPECT_EQ(std::memcmp(local.data(), memory.data(), size), 0) << size;
  }
}

TEST_P(EveryClass, ADeliveredWriteIsInMemoryWhenItCompletes) {
  for (const std::size_t size : {std::size_t{8}, std::size_t{4096}, std::size_t{5} << 20}) {
    Memory memory(*owner_, size);
    auto local = pattern(size, 9);
    Tracked& done = write(memory.reference, local);
    while (done.ended == 0 && fabric_.step()) {
    }
    EXPECT_TRUE(done.succeeded()) << size << ": " << done.text();
    EXPECT_TRUE(memory.is(9)) << size << ": it had not landed when it completed";
    run();
  }
}

TEST_P(EveryClass, ATransmittedWriteCompletesBeforeItLandsAndAFlushAfterwards) {
  Memory memory(*owner_, 64);
  auto local = pattern(64, 5);
  Tracked& sent = write(memory.reference, local, Completion::transmitted);
  while (sent.ended == 0 && fabric_.step()) {
  }
  EXPECT_TRUE(sent.succeeded()) << sent.text();
  if (!is(OrderClass::srd)) {
    EXPECT_TRUE(memory.is(0)) << "nothing has asked for it to land";
  }
  Tracked& flushed = flush(memory.reference);
  while (flushed.ended == 0 && fabric_.step()) {
  }
  EXPECT_TRUE(flushed.succeeded()) << flushed.text();
  EXPECT_TRUE(memory.is(5)) << "flushed";
  run();
  EXPECT_TRUE(flush(memory.reference).succeeded()) << "nothing is to be flushed";
}

TEST_P(EveryClass, AtomicsOfTheOwnersProcessorReturnTheOldValue) {
  Memory memory(*owner_, 16);
  memory.words[1] = 40;
  Tracked& first = add(memory.part(8, 8), 2);
  Tracked& second = add(memory.part(8, 8), 3);
  run();
  EXPECT_TRUE(first.succeeded() && second.succeeded()) << first.text() << second.text();
  EXPECT_EQ(first.operation.result, 40U);
  EXPECT_EQ(second.operation.result, 42U);
  EXPECT_EQ(memory.words[1], 45U);
}

TEST_P(EveryClass, MessagesAndTheirAnswersKeepTheirOrder) {
  for (const char* text : {"one", "two", "three"}) {
    ASSERT_FALSE(peer_->send(wire::Bytes(wire::as_bytes(text))));
  }
  run();
  EXPECT_EQ(owner_->sink.requests, (std::vector<std::string>{"one", "two", "three"}));
  ASSERT_NE(owner_->sink.last, nullptr);
  EXPECT_EQ(owner_->sink.last->peer(), (ProcessId{1, 1}));
  EXPECT_TRUE(owner_->sink.last->send(wire::Bytes(wire::as_bytes("answer"))));
  run();
  EXPECT_EQ(initiator_->events.replies, std::vector<std::string>{"answer"});
}

TEST_P(EveryClass, AChunkListIsOneOperation) {
  Memory memory(*owner_, 9000);
  memory.fill(3);
  auto a = pattern(8, 0);
  auto b = pattern(4104, 0);
  const Chunk chunks[] = {{16, reinterpret_cast<std::byte*>(a.data()), 8},
                          {32, nullptr, 0},
                          {64, reinterpret_cast<std::byte*>(b.data()), 4104}};
  Tracked& tracked = make_operation(OperationKind::read, memory.reference, nullptr, 0);
  tracked.operation.list = chunks;
  tracked.start(*peer_);
  run();
  EXPECT_TRUE(tracked.succeeded()) << tracked.text();
  EXPECT_TRUE(is_all(a, 3) && is_all(b, 3));
}

TEST_P(EveryClass, ManyOperationsShareMarksAndRespectTheDepth) {
  Memory memory(*owner_, 8192);
  std::vector<std::vector<std::uint64_t>> locals(400, pattern(8, 6));
  std::vector<Tracked*> all;
  for (std::size_t index = 0; index < locals.size(); ++index) {
    all.push_back(&write(memory.part(index * 8, 8), locals[index]));
  }
  run();
  for (const Tracked* each : all) {
    EXPECT_TRUE(each->succeeded()) << each->text();
  }
  EXPECT_TRUE(memory.is(6, 0, 3200));
}

TEST_P(EveryClass, NothingMovesForALengthOfZeroButTheOwnerIsAsked) {
  Memory memory(*owner_, 64);
  std::vector<std::uint64_t> local(1);
  Tracked& done = read(memory.part(64, 0), local);
  run();
  EXPECT_TRUE(done.succeeded()) << done.text();
  memory.revoke();
  Tracked& refused = write(memory.part(0, 0), local);
  run();
  EXPECT_EQ(refused.code(), errc::revoked) << refused.text();
  EXPECT_EQ(initiator_->device.created, 0U);
}

TEST_P(EveryClass, ANotificationComesAfterItsBytes) {
  struct Notifications final : NotificationSink {
    bool on_notify(std::uint64_t tag) noexcept override {
      tags.push_back(tag);
      seen.push_back(memory->is(4));
      return true;
    }
    Memory* memory = nullptr;
    std::vector<std::uint64_t> tags;
    std::vector<bool> seen;
  } sink;
  Memory memory(*owner_, 6000);
  sink.memory = &memory;
  owner_->core.regions().set_notifications(memory.handle, &sink);
  auto local = pattern(6000, 4);
  Tracked& tracked =
      make_operation(OperationKind::write, memory.reference, reinterpret_cast<std::byte*>(local.data()), 6000);
  tracked.operation.notify = true;
  tracked.operation.tag = 77;
  tracked.start(*peer_);
  run();
  EXPECT_TRUE(tracked.succeeded()) << tracked.text();
  EXPECT_EQ(sink.tags, std::vector<std::uint64_t>{77});
  EXPECT_EQ(sink.seen, std::vector<bool>{true});
}

TEST_P(EveryClass, AnOwnerThatEndsIsGone) {
  Memory memory(*owner_, 64);
  std::vector<std::uint64_t> local(8);
  Tracked& before = read(memory.reference, local);
  run();
  EXPECT_TRUE(before.succeeded());
  owner_->server->shut_down();
  run();
  Tracked& after = read(memory.reference, local);
  run();
  EXPECT_EQ(after.code(), errc::peer_lost) << after.text();
  EXPECT_EQ(initiator_->events.states, std::vector<PeerState>{PeerState::gone});
}

TEST_P(EveryClass, AWriteIsInMemoryBehindADevicesFlush) {
  owner_->device.set().flush = initiator_->device.set().flush = true;
  Memory memory(*owner_, 8192);
  auto local = pattern(8192, 9);
  Tracked& warm = write(memory.reference, local);
  run();
  ASSERT_TRUE(warm.succeeded());
  auto more = pattern(8192, 8);
  if (is(OrderClass::unordered)) {
    pipe().hold(FakePipe::owner);  // no answer of the owner's is needed
  }
  Tracked& done = write(memory.reference, more);
  while (done.ended == 0 && fabric_.step()) {
  }
  EXPECT_TRUE(done.succeeded()) << done.text();
  EXPECT_TRUE(memory.is(8));
  run();
}

TEST_F(QueueTest, ANicsAtomicIsPostedWhereTheDeviceHasThem) {
  initiator_->device.set().atomics = true;
  Memory memory(*owner_, 8, Access::all, AtomicDomain::nic);
  memory.words[0] = 5;
  Tracked& added = add(memory.reference, 2);
  run();
  EXPECT_TRUE(added.succeeded()) << added.text();
  EXPECT_EQ(added.operation.result, 5U);
  EXPECT_EQ(memory.words[0], 7U);
  Tracked& swapped = make_operation(OperationKind::swap, memory.reference, nullptr, 0).start(*peer_);
  EXPECT_EQ(swapped.code(), errc::unsupported) << swapped.text();
  initiator_->device.set().atomics = false;
  EXPECT_EQ(add(memory.reference, 2).code(), errc::unsupported);
}

}  // namespace
}  // namespace ferry::queue_tests
