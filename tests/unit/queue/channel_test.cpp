// A channel that ends and is made again: what is started again, what is unknown, and what the owner remembers.
#include "queue_fixture.hpp"

#include <ferry/queue/control_protocol.hpp>

namespace ferry::queue_tests {
namespace {

const Failure kCut(errc::peer_lost, "the wire was cut");

class Channel : public QueueTest, public testing::WithParamInterface<OrderClass> {
 protected:
  Channel() : QueueTest(GetParam()) {}
  void say(const char* text) { static_cast<void>(peer_->send(wire::Bytes(wire::as_bytes(text)))); }
};

INSTANTIATE_TEST_SUITE_P(Queue, Channel,
                         testing::Values(OrderClass::strict, OrderClass::unordered, OrderClass::iwarp, OrderClass::srd),
                         name_of_class);

TEST_P(Channel, ReadsAreStartedAgainAndWritesAreUnknown) {
  Memory memory(*owner_, 16384);
  memory.fill(4);
  auto small = pattern(8, 0);
  auto bulk = pattern(16384, 0);
  auto written = pattern(8, 7);
  Tracked& warm = read(memory.part(0, 8), small);
  run();
  ASSERT_TRUE(warm.succeeded());
  initiator_->device.is_held = true;
  Tracked& reading = read(memory.reference, bulk);
  Tracked& writing = write(memory.part(0, 8), written);
  run();
  pipe().cut(kCut, PeerState::unknown);
  run();
  EXPECT_EQ(writing.code(), errc::outcome_unknown) << writing.text();
  initiator_->device.release();
  run();
  EXPECT_TRUE(reading.succeeded() && is_all(bulk, 4)) << reading.text();
  EXPECT_TRUE(memory.is(4)) << "the write of the old channel was never executed";
  EXPECT_EQ(owner_->sink.closed.size(), 1U);
  EXPECT_EQ(initiator_->events.failures.size(), 1U);
}

TEST_P(Channel, AtomicsAreSentAgainAndExecutedOnce) {
  Memory memory(*owner_, 8);
  Tracked& warm = add(memory.reference, 1);
  run();
  ASSERT_TRUE(warm.succeeded());
  pipe().hold(FakePipe::owner);
  Tracked& first = add(memory.reference, 10);
  Tracked& second = add(memory.reference, 100);
  run();
  EXPECT_EQ(memory.words[0], 111U) << "executed, and the answers are under way";
  EXPECT_EQ(first.ended + second.ended, 0);
  pipe().cut(kCut, PeerState::unknown);
  run();
  EXPECT_TRUE(first.succeeded() && second.succeeded()) << first.text() << second.text();
  EXPECT_EQ(first.operation.result, 1U);
  EXPECT_EQ(second.operation.result, 11U);
  EXPECT_EQ(memory.words[0], 111U);
}

TEST_P(Channel, AtomicsOfAForgottenSessionAreUnknown) {
  Memory memory(*owner_, 8);
  Tracked& warm = add(memory.reference, 1);
  run();
  ASSERT_TRUE(warm.succeeded());
  pipe().hold(FakePipe::owner);
  Tracked& atomic = add(memory.reference, 10);
  run();
  owner_->server = std::make_unique<queue::QueueServer>(owner_->core, owner_->device, TransportId::sim, 1000);
  pipe().cut(kCut, PeerState::unknown);
  run();
  EXPECT_EQ(atomic.code(), errc::outcome_unknown) << atomic.text();
  EXPECT_EQ(memory.words[0], 11U);
}

TEST_P(Channel, TransmittedWritesAreLostWithTheirChannelAndTheNextFlushSaysSoOnce) {
  Memory memory(*owner_, 64);
  auto local = pattern(64, 5);
  Tracked& sent = write(memory.reference, local, Completion::transmitted);
  if (GetParam() == OrderClass::srd) {
    pipe();
    run();
    pipe().hold(FakePipe::owner);
    Tracked& more = write(memory.reference, local, Completion::transmitted);
    run();
    EXPECT_TRUE(more.succeeded());
  } else {
    run();
  }
  ASSERT_TRUE(sent.succeeded());
  pipe().cut(kCut, PeerState::unknown);
  run();
  Tracked& flushed = flush(memory.reference);
  run();
  EXPECT_EQ(flushed.code(), errc::outcome_unknown) << flushed.text();
  Tracked& again = flush(memory.reference);
  run();
  EXPECT_TRUE(again.succeeded()) << again.text();
}

TEST_P(Channel, AnOwnerDiscardsTheOldChannelBeforeItAnswersOnTheNewOne) {
  Memory memory(*owner_, 64);
  auto local = pattern(64, 5);
  Tracked& warm = read(memory.reference, local);
  run();
  ASSERT_TRUE(warm.succeeded());
  EXPECT_EQ(owner_->device.queue_pairs, 1U);
  const auto before = initiator_->pipe;
  // The owner does not learn of the end: only the initiator's side is cut.
  before->cut_initiator(kCut);
  run();
  say("hello");
  run();
  EXPECT_EQ(owner_->sink.requests, std::vector<std::string>{"hello"});
  EXPECT_EQ(owner_->device.queue_pairs, 0U) << "no lane of the old channel is left";
  EXPECT_EQ(owner_->server->size(), 1U);
}

TEST_P(Channel, ALinkThatComesTooLateEndsNoneOfItsInitiatorsLaterOnes) {
  say("x");
  run();
  ASSERT_EQ(owner_->server->size(), 1U);
  auto late = std::make_shared<FakePipe>(fabric_);
  struct Nobody final : queue::ControlEvents {
    void on_control_open() noexcept override {}
    void on_control(wire::Bytes&&) noexcept override {}
    void on_control_closed(const Failure&, PeerState) noexcept override { was_closed = true; }
    bool was_closed = false;
  } nobody;
  auto link = late->end(FakePipe::initiator, nobody, ProcessId{2, 2});
  owner_->server->accept(
      [&](queue::ControlEvents& events) { return late->end(FakePipe::owner, events, initiator_->core.self()); });
  link->send(queue::encode(queue::Hello{GetParam(), false, 1, "late", initiator_->core.contact()}));
  run();
  EXPECT_TRUE(nobody.was_closed);
  EXPECT_TRUE(initiator_->events.failures.empty());
  EXPECT_EQ(owner_->server->size(), 1U);
  say("y");
  run();
  EXPECT_EQ(owner_->sink.requests, (std::vector<std::string>{"x", "y"}));
}

TEST_P(Channel, ABytewiseWrongMessageClosesTheChannelWithOneLine) {
  for (const FakePipe::Side from : {FakePipe::initiator, FakePipe::owner}) {
    say("x");
    run();
    Process& victim = from == FakePipe::initiator ? *owner_ : *initiator_;
    const std::size_t lines = victim.log.lines().size();
    wire::Bytes wrong;
    wrong.push_back(std::byte{99});
    pipe().inject(from, wrong);
    run();
    EXPECT_EQ(victim.log.lines().size(), lines + 1);
    Memory memory(*owner_, 8);
    auto local = pattern(8, 0);
    Tracked& next = read(memory.reference, local);
    run();
    EXPECT_TRUE(next.succeeded()) << next.text();
  }
}

TEST_P(Channel, NoMessageOfAnyKindAndLengthDoesHarm) {
  for (const FakePipe::Side from : {FakePipe::initiator, FakePipe::owner}) {
    for (int kind = 0; kind < 64; ++kind) {
      if (kind == static_cast<int>(queue::Control::goodbye)) {
        continue;  // a process that says it stays gone
      }
      for (std::size_t length = 0; length < 100; length += 3) {
        for (const int fill : {0, 1, 255}) {
          say("x");
          run();
          wire::Bytes wrong(length + 1, static_cast<std::byte>(fill));
          wrong[0] = static_cast<std::byte>(kind);
          pipe().inject(from, wrong);
          run();
        }
      }
    }
  }
  Memory memory(*owner_, 8);
  auto local = pattern(8, 0);
  Tracked& next = read(memory.reference, local);
  run();
  EXPECT_TRUE(next.succeeded()) << next.text();
}

TEST_P(Channel, AnOwnerThatDoesNotAnswerIsGivenUpAtTheHandshakesLimit) {
  say("x");
  pipe().hold(FakePipe::owner);
  run();
  EXPECT_TRUE(initiator_->events.failures.empty());
  pass(NodeLimits{}.handshake);
  ASSERT_EQ(initiator_->events.failures.size(), 1U);
  EXPECT_NE(initiator_->events.failures[0].find("did not answer"), std::string::npos) << initiator_->events.failures[0];
  say("y");
  run();
  EXPECT_EQ(owner_->sink.requests, std::vector<std::string>{"y"});
}

TEST_P(Channel, NobodyToReachFailsWhatWaits) {
  Process* const owner = std::exchange(listener_, nullptr);
  Memory memory(*owner_, 8);
  auto local = pattern(8, 0);
  Tracked& failing = read(memory.reference, local);
  run();
  EXPECT_EQ(failing.code(), errc::peer_unreachable) << failing.text();
  listener_ = owner;
  Tracked& next = read(memory.reference, local);
  run();
  EXPECT_TRUE(next.succeeded()) << next.text();
}

TEST_P(Channel, ClosingThePeerEndsEverythingOnce) {
  Memory memory(*owner_, 16384);
  auto small = pattern(8, 0);
  auto bulk = pattern(16384, 0);
  Tracked& warm = read(memory.part(0, 8), small);
  run();
  ASSERT_TRUE(warm.succeeded());
  initiator_->device.is_held = true;
  pipe().hold(FakePipe::owner);
  std::vector<Tracked*> all = {&read(memory.reference, bulk), &read(memory.part(0, 8), small),
                               &write(memory.part(0, 8), small), &add(memory.part(8, 8), 1), &flush(memory.reference)};
  run();
  peer_->close(Failure(errc::shut_down, "this node is shutting down"));
  for (const Tracked* each : all) {
    EXPECT_EQ(each->ended, 1) << each->text();
  }
  EXPECT_EQ(all[0]->code(), errc::shut_down) << all[0]->text();
  EXPECT_EQ(all[2]->operation.failure.effect(), Effect::unknown) << all[2]->text();
  run();
  EXPECT_EQ(owner_->server->size(), 0U);
}

}  // namespace
}  // namespace ferry::queue_tests
