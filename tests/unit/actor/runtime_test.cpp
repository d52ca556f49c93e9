// Actors at run time: order, exclusion, cancelling, tokens, limits, malformed messages.
#include <gmock/gmock.h>

#include "runtime_fixture.hpp"

namespace ferry::runtime_tests {
namespace {

TEST_F(RuntimeTest, MessagesOfOneSenderAreRunInTheOrderOfSending) {
  for (std::uint64_t number = 1; number <= 100; ++number) {
    if (number % 10 == 0) {
      arrive(request<&Worker::nap>(CallId(number), static_cast<int>(number), std::int64_t{1000}));
    } else {
      arrive(request<&Worker::mark>(CallId(number), static_cast<int>(number)));
    }
  }
  node->executor().advance(1s);
  Lines expected;
  for (int number = 1; number <= 100; ++number) {
    if (number % 10 == 0) {
      expected.push_back("begin " + std::to_string(number));
      expected.push_back("end " + std::to_string(number));
    } else {
      expected.push_back("mark " + std::to_string(number));
    }
  }
  EXPECT_EQ(book.lines, expected);
  EXPECT_EQ(inbound->replies().size(), 100U);
}

TEST_F(RuntimeTest, ConcurrentEndpointsInterleaveAndOthersWait) {
  arrive(request<&Worker::nap>(CallId(1), 1, std::int64_t{100}));
  arrive(request<&Worker::nap_beside>(CallId(2), 2, std::int64_t{10}));
  arrive(request<&Worker::mark>(CallId(3), 3));
  arrive(request<&Worker::nap_beside>(CallId(4), 4, std::int64_t{200}));
  node->executor().advance(1s);
  EXPECT_EQ(book.lines, (Lines{"begin 1", "begin 2", "begin 4", "end 2", "end 1", "mark 3", "end 4"}));
}

TEST_F(RuntimeTest, CancelRemovesAQueuedCallAndLeavesARunningOneAlone) {
  arrive(request<&Worker::nap>(CallId(1), 1, std::int64_t{100}));
  arrive(request<&Worker::mark>(CallId(2), 2));
  arrive(request<&Worker::mark>(CallId(3), 3));
  run();
  arrive(make_cancel({CallId(2), worker.id()}));
  arrive(make_cancel({CallId(1), worker.id()}));
  arrive(make_cancel({CallId(77), worker.id()}));  // never was
  node->executor().advance(1s);
  EXPECT_EQ(book.lines, (Lines{"begin 1", "end 1", "mark 3"}));
  EXPECT_EQ(inbound->replies().size(), 2U);
}

TEST_F(RuntimeTest, CancelPassesByWhatHasArrivedAndIsNotYetTaken) {
  arrive(request<&Worker::mark>(CallId(1), 1));
  arrive(request<&Worker::mark>(CallId(2), 2));
  arrive(make_cancel({CallId(2), worker.id()}));  // before either has run
  run();
  EXPECT_EQ(book.lines, Lines{"mark 1"});
}

TEST_F(RuntimeTest, CancelStopsTheAwaitsOfAnEndpointThatTakesATokenAlone) {
  arrive(request<&Worker::until_stopped>(CallId(1)));
  run();
  arrive(make_cancel({CallId(1), worker.id()}));
  run();
  EXPECT_EQ(book.lines, (Lines{"waits", "saw the stop"}));
}

Task<std::string> called(ActorRef<Worker> worker, Limits limits) {
  auto call = as_result(worker.call<&Worker::until_stopped>().with(limits));
  const Result<void> result = co_await call;
  co_return result.error().to_text();
}

TEST_F(RuntimeTest, LimitOfACallEndsItAtOnceAndIsPassedOn) {
  EXPECT_EQ(
      node->run(called(worker, {.timeout = 5s})),
      "call of ferry::runtime_tests::Worker::until_stopped at actor 2 of process 1/00000007 (test): timed_out: no "
      "reply came within the limit (it may have taken effect)");
  run();
  EXPECT_EQ(book.lines.at(0), "waits");
  EXPECT_EQ(node->executor().now().time_since_epoch(), 5s);
}

Task<std::int64_t> deadline_inside(ActorRef<Worker> worker, Limits limits) {
  auto call = worker.call<&Worker::time_left>().with(limits);
  co_return co_await call;
}

TEST_F(RuntimeTest, DeadlineOfACallIsThatOfTheEndpoint) {
  EXPECT_EQ(node->run(deadline_inside(worker, {.timeout = 5s})), Duration(5s).count());
  EXPECT_GT(node->run(deadline_inside(worker, {})), Duration(24h).count());
}

Task<void> drop_call(ActorRef<Worker> worker, test::ManualExecutor& executor) {
  {
    auto started = start(worker.call<&Worker::until_stopped>());
    auto nap = sleep_for(1ms);  // it runs
    co_await nap;
  }
  static_cast<void>(executor);
}

TEST_F(RuntimeTest, DroppedCallIsCancelled) {
  node->run(drop_call(worker, node->executor()));
  run();
  EXPECT_EQ(book.lines, (Lines{"waits", "saw the stop"}));
}

TEST_F(RuntimeTest, ExceptionsOfAnyTypeReachTheCaller) {
  EXPECT_EQ(
      node->run(failure_of_call<&Worker::throw_number>(worker)),
      "ferry::runtime_tests::Worker::throw_number of actor \"worker\" threw an exception that is not derived from "
      "std::exception");
  EXPECT_EQ(node->run(failure_of_call<&Worker::throw_later>(worker)),
            "ferry::runtime_tests::Worker::throw_later of actor \"worker\" threw std::runtime_error: too late");
}

TEST_F(RuntimeTest, ExceptionOfAMessageWithoutAReplyIsLogged) {
  arrive(request<&Worker::throw_number>(CallId()));
  run();
  EXPECT_EQ(
      node->log().lines(),
      Lines{"a message without a reply failed: ferry::runtime_tests::Worker::throw_number of actor \"worker\" threw an "
            "exception that is not derived from std::exception"});
}

TEST_F(RuntimeTest, MessagesAndRepliesAboveTheFrameLimitAreRefusedByTheirSender) {
  NodeLimits limits;
  limits.frame_bytes = 1000;
  node.reset();
  book.lines.clear();
  node.emplace(actors<Worker>, limits);
  worker = node->run(spawn(node->context(), "worker"));
  EXPECT_EQ(node->run(failure_of_call<&Worker::large>(worker, std::uint64_t{981})), "no failure");
  EXPECT_EQ(node->run(failure_of_call<&Worker::large>(worker, std::uint64_t{982})),
            "the reply of ferry::runtime_tests::Worker::large has 1001 bytes, a frame at most 1000 "
            "(NodeLimits::frame_bytes); return a reference to registered memory");
}

TEST_F(RuntimeTest, SendsToItselfNeverWait) {
  const int count = static_cast<int>(limits::kWindowMessages) * 2;
  struct Flood {
    static Task<int> run(ActorRef<Worker> worker, int count) {
      auto call = worker.call<&Worker::flood_myself>(count);
      co_return co_await call;
    }
  };
  EXPECT_EQ(node->run(Flood::run(worker, count)), count);
  run();
  EXPECT_EQ(book.lines.size(), static_cast<std::size_t>(count) * 2);
}

TEST_F(RuntimeTest, AnActorMayCallAConcurrentEndpointOfItsOwn) {
  struct Call {
    static Task<int> run(ActorRef<Worker> worker) {
      auto call = worker.call<&Worker::call_my_concurrent>();
      co_return co_await call;
    }
  };
  EXPECT_EQ(node->run(Call::run(worker)), 1);
}

// --- Malformed and unknown

TEST_F(RuntimeTest, ForgedRequestThatNamesNoEndpointOrAnotherClassIsRefusedByName) {
  wire::Bytes no_endpoint = request<&Worker::mark>(CallId(1), 1);
  const auto target = detail::target_of<Worker, &Worker::mark>(worker.address());
  store_request(no_endpoint.data(), {MessageKind::call, 999, target.fingerprint, CallId(1), target.actor, 0});
  arrive(std::move(no_endpoint));
  wire::Bytes other_class = request<&Worker::mark>(CallId(2), 1);
  store_request(other_class.data(), {MessageKind::call, 0, target.fingerprint + 1, CallId(2), target.actor, 0});
  arrive(std::move(other_class));
  run();
  const auto replies = inbound->replies();
  ASSERT_EQ(replies.size(), 2U);
  EXPECT_THAT(replies[0], testing::MatchesRegex("no_such_endpoint: ferry::runtime_tests::Worker has [0-9]+ endpoints, "
                                                "and none of number 999"));
  EXPECT_THAT(replies[1], testing::StartsWith("version_mismatch: the caller's ferry::runtime_tests::Worker differs"));
  EXPECT_TRUE(book.lines.empty());
}

TEST_F(RuntimeTest, ArgumentsThatCannotBeDecodedAreMalformedAndNothingRuns) {
  const wire::Bytes good = request<&Worker::mark>(CallId(1), 300);
  for (std::size_t length = RequestHeader::kSize; length < good.size(); ++length) {
    arrive(wire::Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length)));
  }
  wire::Bytes longer = good;
  longer.push_back(std::byte{1});
  arrive(longer);
  wire::Bytes text = request<&Worker::mark>(CallId(1), 1);
  text[RequestHeader::kSize] = std::byte{0xa0};  // an empty string
  arrive(text);
  wire::Bytes for_task = request<&Worker::nap>(CallId(1), 1, std::int64_t{1});
  for_task.resize(for_task.size() - 1);
  arrive(for_task);
  run();
  EXPECT_TRUE(book.lines.empty());
  const Lines replies = inbound->replies();
  ASSERT_EQ(replies.size(), good.size() - RequestHeader::kSize + 3);
  for (const std::string& reply : replies) {
    EXPECT_TRUE(reply.starts_with("malformed: ferry::runtime_tests::Worker::")) << reply;
    EXPECT_NE(reply.find(" was not run: "), std::string::npos) << reply;
  }
  const std::string mark = "malformed: ferry::runtime_tests::Worker::mark of actor \"worker\" was not run: ";
  EXPECT_EQ(replies.front(),
            mark + "argument 1 of 1 (i32) cannot be decoded: i32 expected at byte 0, found the end of the bytes");
  EXPECT_EQ(replies[replies.size() - 3],
            mark + "it takes 1 argument, and more bytes came: the end expected at byte 3, found 1 more bytes");
  EXPECT_EQ(replies[replies.size() - 2],
            mark + "argument 1 of 1 (i32) cannot be decoded: i32 expected at byte 0, found a string of 0 bytes");
  EXPECT_THAT(replies.back(),
              testing::HasSubstr("Worker::nap of actor \"worker\" was not run: argument 2 of 2 (i64) "));
}

// The reply comes from the test, and is a text in place of a number.
Task<Failure> outcome_of_forged_reply(Node& node, ActorRef<Worker> there) {
  auto call = start(as_result(there.call<&Worker::nap>(1, std::int64_t{1})));
  const std::vector<std::string> sent = node.fake().only().sent();
  const RequestHeader request = load_request(wire::as_bytes(sent.at(0))).value();
  wire::Bytes forged = make_reply({0, Effect::none, request.call});
  forged.push_back(std::byte{0xa0});
  node.fake().only().answer(std::move(forged));
  const Result<int> result = co_await call;
  co_return result ? Failure() : result.error();
}

TEST_F(RuntimeTest, ValueThatCannotBeDecodedIsToldWithItsTypeAndMayHaveTakenEffect) {
  const ActorRef<Worker> there(ActorAddress{&node->other(), ActorId(5)});
  const Failure failure = node->run(outcome_of_forged_reply(*node, there));
  EXPECT_EQ(failure.detail(),
            "the value that came back (i32) cannot be decoded: i32 expected at byte 0, found a string of 0 bytes");
  EXPECT_EQ(failure.effect(), Effect::unknown) << "the endpoint has run";
}

TEST_F(RuntimeTest, EveryAlteredByteOfARequestIsAnErrorOrAnotherRequest) {
  const wire::Bytes good = request<&Worker::mark>(CallId(1), 300);
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (unsigned value = 0; value < 256; value += 17) {
      wire::Bytes altered = good;
      altered[at] = static_cast<std::byte>(value);
      arrive(altered);
      node->executor().advance(1ms);
    }
  }
  EXPECT_EQ(node->run(failure_of_call<&Worker::mark>(worker, 1)), "no failure");
}

TEST_F(RuntimeTest, RequestsThatNobodyCanServeAreAnsweredWithTheReason) {
  const auto patched = [&](auto change) {
    wire::Bytes message = request<&Worker::mark>(CallId(1), 1);
    RequestHeader header = load_request({message.data(), message.size()}).value();
    change(header);
    store_request(message.data(), header);
    return message;
  };
  arrive(patched([](RequestHeader& header) { header.actor = ActorId(99); }));
  arrive(patched([](RequestHeader& header) { header.actor = ActorId(); }));
  arrive(patched([](RequestHeader& header) { header.fingerprint ^= 1; }));
  arrive(patched([](RequestHeader& header) { header.endpoint = 99; }));
  run();
  EXPECT_EQ(inbound->replies(),
            (Lines{"no_such_actor: test never had an actor 99", "no_such_actor: test never had an actor 0",
                   "version_mismatch: the caller's ferry::runtime_tests::Worker differs from the one that runs here "
                   "(endpoints, their order or their types); build both from the same declaration",
                   "no_such_endpoint: ferry::runtime_tests::Worker has 12 endpoints, and none of number 99"}));
}

TEST_F(RuntimeTest, MessagesAgainstTheDirectionAreDroppedWithALine) {
  arrive(make_reply({0, Effect::none, CallId(1)}));
  arrive(wire::Bytes());
  arrive(wire::Bytes(5, std::byte{3}));
  run();
  EXPECT_EQ(node->log().lines(),
            (Lines{"dropped a message of process 2/00000001: a message that an initiator does not send",
                   "dropped a message of process 2/00000001: message kind 0 is unknown",
                   "dropped a message of process 2/00000001: a message that an initiator does not send"}));
}

TEST_F(RuntimeTest, CreditsWhatItHasTakenSoThatNobodyWaitsForEver) {
  for (std::size_t count = 0; count < limits::kWindowMessages; ++count) {
    arrive(request<&Worker::mark>(CallId(), 1));
  }
  run();
  EXPECT_EQ(inbound->credited(), limits::kWindowMessages);
  std::weak_ptr<FakeInbound> weak = inbound;
  arrive(request<&Worker::mark>(CallId(), 1));  // taken, not credited
  run();
  inbound.reset();
  EXPECT_TRUE(weak.expired()) << "an ended channel is kept by the actor";
  inbound = std::make_shared<FakeInbound>();
}

}  // namespace
}  // namespace ferry::runtime_tests
