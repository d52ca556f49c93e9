// Actors at run time: stopping, and callees in a process that is lost.
#include "runtime_fixture.hpp"

namespace ferry::runtime_tests {
namespace {

// --- Stopping

Task<void> stop_worker(NodeCore& core, ActorId id) {
  auto stopping = core.actors()->stop(id, Failure(errc::actor_stopped, "it was stopped"));
  co_await stopping;
}

TEST_F(RuntimeTest, StopEndsWhatRunsAndRefusesWhatWaitsInOrder) {
  arrive(request<&Worker::nap>(CallId(1), 1, std::int64_t{1'000'000}));
  arrive(request<&Worker::nap_beside>(CallId(2), 2, std::int64_t{1'000'000}));
  arrive(request<&Worker::mark>(CallId(3), 3));
  run();
  node->run(stop_worker(node->core(), worker.id()));
  EXPECT_EQ(book.lines, (Lines{"begin 1", "begin 2", "stopped", "destroyed"}));
  EXPECT_EQ(inbound->replies(), Lines(3, "actor_stopped: it was stopped"));
  EXPECT_EQ(load_reply({inbound->messages[0].data(), inbound->messages[0].size()})->effect, Effect::unknown);
  EXPECT_EQ(load_reply({inbound->messages[2].data(), inbound->messages[2].size()})->effect, Effect::none);
  arrive(request<&Worker::mark>(CallId(4), 4));
  run();
  EXPECT_EQ(inbound->replies().back(), "actor_stopped: it was stopped");
  EXPECT_EQ(node->executor().timers(), 0U);
}

// Stops the actor in the very step in which the messages arrive.
Task<void> stop_after(NodeCore& core, ActorId id, const std::shared_ptr<FakeInbound>& inbound,
                      std::vector<wire::Bytes> messages) {
  for (wire::Bytes& message : messages) {
    core.sink()->on_request(inbound, std::move(message));
  }
  auto stopping = core.actors()->stop(id, Failure(errc::actor_stopped, "it was stopped"));
  co_await stopping;
}

TEST_F(RuntimeTest, StopPassesTheMailboxBy) {
  std::vector<wire::Bytes> messages;
  for (std::uint64_t number = 1; number <= 50; ++number) {
    messages.push_back(request<&Worker::mark>(CallId(number), 1));
  }
  node->run(stop_after(node->core(), worker.id(), inbound, std::move(messages)));
  EXPECT_EQ(book.lines, (Lines{"stopped", "destroyed"}));
  EXPECT_EQ(inbound->replies(), Lines(50, "actor_stopped: it was stopped"));
}

TEST_F(RuntimeTest, StopLetsAnEndpointThatHasEndedAnswer) {
  arrive(request<&Worker::nap>(CallId(1), 1, std::int64_t{1000}));
  run();
  node->executor().advance(999ns);
  struct Both {
    static Task<void> run(NodeCore& core, ActorId id, test::ManualExecutor& executor) {
      static_cast<void>(executor);
      auto nap = sleep_for(1ns);  // due together with the endpoint's
      co_await nap;
      auto stopping = core.actors()->stop(id, Failure(errc::actor_stopped, "it was stopped"));
      co_await stopping;
    }
  };
  node->run(Both::run(node->core(), worker.id(), node->executor()));
  ASSERT_EQ(inbound->replies().size(), 1U);
  if (book.lines.at(1) == "end 1") {
    EXPECT_EQ(inbound->replies()[0], "1 bytes");
  } else {
    EXPECT_EQ(inbound->replies()[0], "actor_stopped: it was stopped");
  }
}

TEST_F(RuntimeTest, StopTwiceOrOfNobodyEndsToo) {
  node->run(stop_worker(node->core(), worker.id()));
  node->run(stop_worker(node->core(), worker.id()));
  node->run(stop_worker(node->core(), ActorId(12345)));
  EXPECT_EQ(book.lines, (Lines{"stopped", "destroyed"}));
}

TEST_F(RuntimeTest, NameIsInUseUntilTheActorHasEnded) {
  const auto spawn_again = [&] { return node->run(spawn(node->context(), "worker")); };
  try {
    spawn_again();
    FAIL() << "the name was given twice";
  } catch (const MeshError& error) {
    EXPECT_EQ(error.ferry_code(), errc::name_in_use);
    EXPECT_EQ(error.failures()[0].failure.detail(),
              "test has an actor named \"worker\" already; choose another name, or stop that one first");
  }
  node->run(stop_worker(node->core(), worker.id()));
  EXPECT_NE(spawn_again().id(), worker.id());
}

TEST_F(RuntimeTest, ShutDownStopsAllAndTakesNoMore) {
  arrive(request<&Worker::nap>(CallId(1), 1, std::int64_t{1'000'000}));
  run();
  node->stack().shut_down();
  EXPECT_EQ(book.lines, (Lines{"begin 1", "stopped", "destroyed"}));
  EXPECT_EQ(inbound->replies(), Lines{"actor_stopped: its process is shutting down"});
}

Task<void> use_reference(ActorRef<Worker> worker, bool& revoked) {
  auto ask = worker.call<&Worker::reference>();
  const BufferRef reference = co_await ask;
  std::array<std::byte, 8> local{};
  auto read = reference.read_into(std::span(local));
  co_await read;
  auto stop = stop_worker(*NodeCore::current(), worker.id());
  co_await stop;
  auto late = as_result(reference.read_into(std::span(local)));
  const Result<void> result = co_await late;
  revoked = !result && result.error().code() == errc::revoked;
}

TEST_F(RuntimeTest, MemoryOfAStoppedActorIsRevoked) {
  bool revoked = false;
  node->run(use_reference(worker, revoked));
  EXPECT_TRUE(revoked);
}

// --- Another process as the callee

TEST_F(RuntimeTest, CallsToAProcessThatIsLostFailAndLaterOnesGoToTheNextChannel) {
  const ActorRef<Worker> far(ActorAddress{&node->other(), ActorId(5)});
  struct Calls {
    static Task<std::string> run(ActorRef<Worker> far, Node& node) {
      auto first = start(as_result(far.call<&Worker::mark>(1)));
      node.fake().only().break_channel(Failure(errc::peer_lost, "cut"));
      const Result<void> lost = co_await first;
      auto second = start(as_result(far.call<&Worker::mark>(2)));
      EXPECT_EQ(node.fake().only().sent().size(), 2U);
      wire::Bytes sent(wire::as_bytes(node.fake().only().sent().back()));
      const RequestHeader header = load_request({sent.data(), sent.size()}).value();
      node.fake().only().answer(make_reply({0, Effect::none, CallId(header.call.value() - 1)}));  // late: meets nobody
      EXPECT_FALSE(second.is_done());
      node.fake().only().answer(make_reply({0, Effect::none, header.call}));
      const Result<void> good = co_await second;
      EXPECT_TRUE(good);
      co_return lost.error().to_text();
    }
  };
  EXPECT_EQ(
      node->run(Calls::run(far, *node)),
      "call of ferry::runtime_tests::Worker::mark at actor 5 of process 2/00000001: peer_lost: cut (it may have taken "
      "effect)");
}

TEST_F(RuntimeTest, CallThatWaitsForRoomEndsAtItsLimitWithoutEffectAndIsNeverSent) {
  const ActorRef<Worker> far(ActorAddress{&node->other(), ActorId(5)});
  for (std::size_t count = 0; count < limits::kWindowMessages; ++count) {
    ASSERT_TRUE(far.try_send<&Worker::mark>(1));
  }
  EXPECT_EQ(
      far.try_send<&Worker::mark>(1).error().to_text(),
      "try_send of ferry::runtime_tests::Worker::mark at actor 5 of process 2/00000001: overloaded: the actor has "
      "not taken what this process sent before; use send, which waits");
  struct Limited {
    static Task<std::string> run(ActorRef<Worker> far) {
      auto call = as_result(far.call<&Worker::mark>(2).with({.timeout = 1s}));
      const Result<void> result = co_await call;
      EXPECT_EQ(result.error().effect(), Effect::none);
      auto send = as_result(far.send<&Worker::mark>(3).with({.timeout = 1s}));
      const Result<void> sent = co_await send;
      EXPECT_EQ(sent.error().code(), errc::timed_out);
      co_return result.error().detail();
    }
  };
  EXPECT_EQ(node->run(Limited::run(far)), "no reply came within the limit");
  EXPECT_EQ(node->fake().only().sent().size(), limits::kWindowMessages);
  node->fake().only().answer(make_credit({10, ActorId(5), 1000}));
  EXPECT_TRUE(far.try_send<&Worker::mark>(1));
}

TEST_F(RuntimeTest, CallOfAnEmptyReferenceIsRefused) {
  EXPECT_EQ(node->run(failure_of_call<&Worker::mark>(ActorRef<Worker>(), 1)),
            "the actor reference is empty (default-constructed)");
  EXPECT_EQ(ActorRef<Worker>().try_send<&Worker::mark>(1).error().to_text(),
            "try_send of ferry::runtime_tests::Worker::mark: invalid_argument: the actor reference is empty "
            "(default-constructed)");
}

TEST_F(RuntimeTest, ReferenceOfAnActorSurvivesItsWireForm) {
  wire::Bytes bytes;
  wire::encode(bytes, worker);
  EXPECT_EQ(wire::decode<ActorRef<Worker>>({bytes.data(), bytes.size()}, &node->core()).value(), worker);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(wire::decode<ActorRef<Worker>>({bytes.data(), length}, &node->core())) << length;
  }
}

}  // namespace
}  // namespace ferry::runtime_tests
