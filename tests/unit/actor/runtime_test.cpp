// Actors at run time: order, exclusion, cancelling, stopping, tokens, limits, malformed messages; virtual time.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include <ferry/base/offload.hpp>
#include <ferry/base/sleep.hpp>
#include <ferry/base/start.hpp>

#include <core_node.hpp>
#include <manual_executor.hpp>
#include <thread_executor.hpp>

namespace ferry {
namespace {

using namespace std::chrono_literals;
using Node = test::CoreNode<test::ManualExecutor>;

// What happens in a test's actors, for the test to look at.
struct Diary {
  std::vector<std::string> lines;
  void note(std::string line) { lines.push_back(std::move(line)); }
};
Diary* diary = nullptr;  // of the test that runs

class Worker final : public Actor {
 public:
  explicit Worker(ActorContext& context) : context_(context), buffer_(context.register_memory(std::span(memory_))) {}
  ~Worker() override { diary->note("destroyed"); }
  void on_stop() noexcept override {
    diary->note("stopped");
    EXPECT_THROW(static_cast<void>(buffer_.ref()), Error) << "its memory must have been revoked";
  }

  void mark(int number) { diary->note("mark " + std::to_string(number)); }
  void log(int number) { diary->note("log " + std::to_string(number)); }
  Task<int> nap(int number, std::int64_t nanoseconds) {
    diary->note("begin " + std::to_string(number));
    auto nap = sleep_for(Duration(nanoseconds));
    co_await nap;
    diary->note("end " + std::to_string(number));
    co_return number;
  }
  Task<void> until_stopped(StopToken stop) {
    diary->note("waits");
    auto nap = as_result(sleep_for(1h));
    const Result<void> result = co_await nap;
    diary->note(stop.stop_requested() && !result ? "saw the stop" : "slept");
    co_return;
  }
  Task<std::int64_t> time_left() {
    co_return (TaskScope::current()->deadline - TaskScope::current()->strand->executor().now()).count();
  }
  int throw_number() { throw 7; }
  Task<int> throw_later() {
    auto nap = sleep_for(1ms);
    co_await nap;
    throw std::runtime_error("too late");
  }
  std::string large(std::uint64_t bytes) { return std::string(bytes, 'x'); }
  Task<int> flood_myself(int count) {
    const auto self = context_.self<Worker>();
    for (int number = 0; number < count; ++number) {
      auto send = self.send<&Worker::log>(number);
      co_await send;
      EXPECT_TRUE(self.try_send<&Worker::log>(-1));
    }
    co_return count;
  }
  Task<int> call_my_concurrent() {
    auto call = context_.self<Worker>().call<&Worker::nap_beside>(1, 10);
    co_return co_await call;
  }
  Task<int> nap_beside(int number, std::int64_t nanoseconds) { return nap(number, nanoseconds); }
  BufferRef reference() { return buffer_.ref(); }

  static constexpr auto endpoints =
      ferry::endpoints<&Worker::mark, &Worker::log, &Worker::nap, &Worker::until_stopped, &Worker::time_left,
                       &Worker::throw_number, &Worker::throw_later, &Worker::large, &Worker::flood_myself,
                       &Worker::call_my_concurrent, concurrent<&Worker::nap_beside>, &Worker::reference>;

 private:
  ActorContext& context_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(8);
  RDMABuffer buffer_;
};

// A peer's channel as the runtime sees it.
class FakeInbound final : public Inbound {
 public:
  ProcessId peer() const noexcept override { return {2, 1}; }
  bool send(wire::Bytes&& message) noexcept override {
    messages.push_back(std::move(message));
    return true;
  }
  // Replies, as text: "code: text", or the size of the value.
  std::vector<std::string> replies() const {
    std::vector<std::string> texts;
    for (const wire::Bytes& message : messages) {
      const wire::ByteView bytes(message.data(), message.size());
      if (*message_kind(bytes) == MessageKind::reply) {
        const ReplyHeader header = load_reply(bytes).value();
        const auto body = bytes.subspan(ReplyHeader::kSize);
        texts.push_back(header.code == 0 ? std::to_string(body.size()) + " bytes"
                                         : std::string(to_string(static_cast<errc>(header.code))) + ": " +
                                               std::string(wire::as_text(body)));
      }
    }
    return texts;
  }
  std::size_t credited() const {
    std::size_t count = 0;
    for (const wire::Bytes& message : messages) {
      const wire::ByteView bytes(message.data(), message.size());
      if (*message_kind(bytes) == MessageKind::credit) {
        count += load_credit(bytes)->messages;
      }
    }
    return count;
  }
  std::vector<wire::Bytes> messages;
};

struct RuntimeTest : ::testing::Test {
  RuntimeTest() {
    diary = &book;
    node.emplace(actors<Worker>);
    worker = node->run(spawn(node->context(), "worker"));
  }
  ~RuntimeTest() override {
    node.reset();
    diary = nullptr;
  }
  static Task<ActorRef<Worker>> spawn(Context context, std::string name) {
    auto spawned = context.this_proc().spawn<Worker>(name);
    const auto mesh = co_await spawned;
    co_return mesh.only();
  }
  void run() { node->executor().run(); }

  // A request from another process, as its bytes.
  template <auto Function, class... A>
  wire::Bytes request(CallId call, A... arguments) {
    wire::Bytes message = detail::encode_request<Function>(arguments...);
    const auto target = detail::target_of<Worker, Function>(worker.address());
    store_request(message.data(), {call ? MessageKind::call : MessageKind::send, target.endpoint, target.fingerprint,
                                   call, target.actor, 0});
    return message;
  }
  void arrive(wire::Bytes message) { node->core().sink()->on_request(inbound, std::move(message)); }

  Diary book;
  std::optional<Node> node;
  ActorRef<Worker> worker;
  std::shared_ptr<FakeInbound> inbound = std::make_shared<FakeInbound>();
};

using Lines = std::vector<std::string>;

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
  EXPECT_EQ(node->run(called(worker, {.timeout = 5s})),
            "call of ferry::{anonymous}::Worker::until_stopped at actor 2 of process 1/00000007 (test): timed_out: no "
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

template <auto Function, class... A>
Task<std::string> failure_of_call(ActorRef<Worker> worker, A... arguments) {
  auto call = as_result(worker.call<Function>(arguments...));
  const auto result = co_await call;
  co_return result ? "no failure" : result.error().detail();
}

TEST_F(RuntimeTest, ExceptionsOfAnyTypeReachTheCaller) {
  EXPECT_EQ(node->run(failure_of_call<&Worker::throw_number>(worker)),
            "ferry::{anonymous}::Worker::throw_number of actor \"worker\" threw an exception that is not derived from "
            "std::exception");
  EXPECT_EQ(node->run(failure_of_call<&Worker::throw_later>(worker)),
            "ferry::{anonymous}::Worker::throw_later of actor \"worker\" threw std::runtime_error: too late");
}

TEST_F(RuntimeTest, ExceptionOfAMessageWithoutAReplyIsLogged) {
  arrive(request<&Worker::throw_number>(CallId()));
  run();
  EXPECT_EQ(
      node->log().lines(),
      Lines{"a message without a reply failed: ferry::{anonymous}::Worker::throw_number of actor \"worker\" threw an "
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
            "the reply of ferry::{anonymous}::Worker::large has 1001 bytes, a frame at most 1000 "
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
    EXPECT_TRUE(reply.starts_with("malformed: ferry::{anonymous}::Worker::")) << reply;
    EXPECT_NE(reply.find("was not run, its arguments cannot be decoded: "), std::string::npos) << reply;
  }
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
                   "version_mismatch: the caller's ferry::{anonymous}::Worker differs from the one that runs here "
                   "(endpoints, their order or their types); build both from the same declaration",
                   "no_such_endpoint: ferry::{anonymous}::Worker has 12 endpoints, and none of number 99"}));
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

TEST_F(RuntimeTest, StopPassesTheMailboxBy) {
  for (std::uint64_t number = 1; number <= 50; ++number) {
    arrive(request<&Worker::mark>(CallId(number), 1));
  }
  node->run(stop_worker(node->core(), worker.id()));
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
      "call of ferry::{anonymous}::Worker::mark at actor 5 of process 2/00000001: peer_lost: cut (it may have taken "
      "effect)");
}

TEST_F(RuntimeTest, CallThatWaitsForRoomEndsAtItsLimitWithoutEffectAndIsNeverSent) {
  const ActorRef<Worker> far(ActorAddress{&node->other(), ActorId(5)});
  for (std::size_t count = 0; count < limits::kWindowMessages; ++count) {
    ASSERT_TRUE(far.try_send<&Worker::mark>(1));
  }
  EXPECT_EQ(far.try_send<&Worker::mark>(1).error().to_text(),
            "try_send: overloaded: the actor has not taken what this process sent before; use send, which waits");
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
            "try_send: invalid_argument: the actor reference is empty (default-constructed)");
}

TEST_F(RuntimeTest, ReferenceOfAnActorSurvivesItsWireForm) {
  wire::Bytes bytes;
  wire::encode(bytes, worker);
  EXPECT_EQ(wire::decode<ActorRef<Worker>>({bytes.data(), bytes.size()}, &node->core()).value(), worker);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(wire::decode<ActorRef<Worker>>({bytes.data(), length}, &node->core())) << length;
  }
}

// --- Threads

class Adder final : public Actor {
 public:
  explicit Adder(ActorContext&) {}
  std::int64_t add(std::int64_t by) { return sum_ += by; }
  Task<std::int64_t> add_later(std::int64_t by) {
    const std::int64_t before = sum_;
    auto nap = sleep_for(1us);
    co_await nap;
    EXPECT_EQ(sum_, before) << "another endpoint ran meanwhile";
    co_return sum_ = before + by;
  }
  static constexpr auto endpoints = ferry::endpoints<&Adder::add, &Adder::add_later>;

 private:
  std::int64_t sum_ = 0;
};

using ThreadNode = test::CoreNode<test::ThreadExecutor>;

Task<ActorRef<Adder>> spawn_adder(Context context) {
  auto spawned = context.this_proc().spawn<Adder>("");
  const auto mesh = co_await spawned;
  co_return mesh.only();
}
Task<int> call_often(ActorRef<Adder> adder, int rounds, int kind) {
  int ended = 0;
  for (int round = 0; round < rounds; ++round) {
    if (kind == 0) {
      auto call = as_result(adder.call<&Adder::add>(1));
      ended += (co_await call) ? 1 : 0;
    } else if (kind == 1) {
      auto call = as_result(adder.call<&Adder::add_later>(1).with({.timeout = Duration(round % 7 * 10'000)}));
      static_cast<void>(co_await call);
      ++ended;
    } else {
      auto dropped = start(adder.call<&Adder::add>(0));
      ++ended;
    }
  }
  co_return ended;
}

TEST(ActorThreads, CallsEndOnceWhateverTheirLimitsAndDrops) {
  ThreadNode node(actors<Adder>);
  const ActorRef<Adder> adder = node.run(spawn_adder(node.context()));
  constexpr int kRounds = 400;
  std::vector<std::thread> callers;
  std::array<int, 3> ended{};
  for (int kind = 0; kind < 3; ++kind) {
    callers.emplace_back(
        [&, kind] { ended[static_cast<std::size_t>(kind)] = node.run(call_often(adder, kRounds, kind)); });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  EXPECT_EQ(ended, (std::array<int, 3>{kRounds, kRounds, kRounds}));
}

TEST(ActorThreads, StopMayMeetCalls) {
  for (int round = 0; round < 50; ++round) {
    ThreadNode node(actors<Adder>);
    const ActorRef<Adder> adder = node.run(spawn_adder(node.context()));
    std::thread caller([&] { node.run(call_often(adder, 50, round % 3)); });
    node.run(stop_worker(node.core(), adder.id()));
    caller.join();
  }
}

}  // namespace
}  // namespace ferry
