// The parts of the actor layer alone: messages, windows, the call table.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include <ferry/actor/call_table.hpp>
#include <ferry/actor/message.hpp>
#include <ferry/actor/window.hpp>
#include <ferry/base/limits.hpp>
#include <ferry/transport/node_core.hpp>
#include <ferry/transport/peer.hpp>

#include <manual_executor.hpp>

namespace ferry {
namespace {

wire::ByteView view(const wire::Bytes& bytes) {
  return {bytes.data(), bytes.size()};
}

// --- Messages

TEST(Message, RequestsHaveTheLayoutOfTheReadme) {
  wire::Bytes bytes(RequestHeader::kSize);
  store_request(bytes.data(), {MessageKind::call, 0x0203, 0x04050607, CallId(0x1122), ActorId(0x3344), 0x5566});
  const std::vector<int> expected{1,    0,    3, 2, 7, 6, 5, 4, 0x22, 0x11, 0, 0, 0, 0, 0, 0,
                                  0x44, 0x33, 0, 0, 0, 0, 0, 0, 0x66, 0x55, 0, 0, 0, 0, 0, 0};
  for (std::size_t at = 0; at < expected.size(); ++at) {
    EXPECT_EQ(std::to_integer<int>(bytes[at]), expected[at]) << at;
  }
  const RequestHeader again = load_request(view(bytes)).value();
  EXPECT_EQ(again.endpoint, 0x0203);
  EXPECT_EQ(again.fingerprint, 0x04050607U);
  EXPECT_EQ(again.call, CallId(0x1122));
  EXPECT_EQ(again.actor, ActorId(0x3344));
  EXPECT_EQ(again.time_left, 0x5566U);
}

TEST(Message, AnswersAndCancelsReadBack) {
  const CancelHeader cancel = load_cancel(view(make_cancel({CallId(7), ActorId(9)}))).value();
  EXPECT_EQ(cancel.call, CallId(7));
  EXPECT_EQ(cancel.actor, ActorId(9));
  const CreditHeader credit = load_credit(view(make_credit({3, ActorId(9), 1'000'000}))).value();
  EXPECT_EQ(credit.messages, 3U);
  EXPECT_EQ(credit.actor, ActorId(9));
  EXPECT_EQ(credit.bytes, 1'000'000U);
  const wire::Bytes reply =
      make_failure_reply(CallId(5), Failure(errc::endpoint_failed, "boom 7").with_effect(Effect::unknown));
  const ReplyHeader header = load_reply(view(reply)).value();
  EXPECT_EQ(header.call, CallId(5));
  EXPECT_EQ(static_cast<errc>(header.code), errc::endpoint_failed);
  EXPECT_EQ(header.effect, Effect::unknown);
  EXPECT_EQ(wire::as_text(view(reply).subspan(ReplyHeader::kSize)), "boom 7");
}

TEST(Message, CutsTheTextOfAFailureAtItsLimit) {
  const wire::Bytes reply = make_failure_reply(CallId(5), Failure(errc::endpoint_failed, std::string(100'000, 'x')));
  EXPECT_EQ(reply.size(), ReplyHeader::kSize + limits::kExceptionText);
}

TEST(Message, SaysWhatIsWrong) {
  EXPECT_EQ(message_kind({}).error().to_text(), "malformed: message kind 0 is unknown");
  const wire::Bytes six(1, std::byte{6});
  EXPECT_EQ(message_kind(view(six)).error().to_text(), "malformed: message kind 6 is unknown");
  wire::Bytes call(RequestHeader::kSize);
  store_request(call.data(), {MessageKind::call, 0, 0, CallId(), ActorId(1), 0});
  EXPECT_EQ(load_request(view(call)).error().to_text(), "malformed: request header: its fields contradict each other");
  store_request(call.data(), {MessageKind::send, 0, 0, CallId(1), ActorId(1), 0});
  EXPECT_EQ(load_request(view(call)).error().code(), errc::malformed);
  wire::Bytes reply = make_reply({31, Effect::none, CallId(1)});
  EXPECT_EQ(load_reply(view(reply)).error().to_text(), "malformed: reply header: code 31 or effect 0 is unknown");
}

RC_GTEST_PROP(Message, OfAnyBytesIsAnErrorOrAHeader, (const std::vector<std::uint8_t>& noise)) {
  const wire::ByteView bytes(reinterpret_cast<const std::byte*>(noise.data()), noise.size());
  const auto sound = [](const auto& result) {
    const bool is_sound = result || result.error().code() == errc::malformed;
    RC_ASSERT(is_sound);
  };
  sound(message_kind(bytes));
  sound(load_request(bytes));
  sound(load_cancel(bytes));
  sound(load_reply(bytes));
  sound(load_credit(bytes));
}

// --- Window

struct Waiting final : WindowWaiter {
  Waiting() : WindowWaiter([](WindowWaiter& waiter) noexcept { static_cast<Waiting&>(waiter).serve(); }) {}
  void serve() {
    served->push_back(number);
    if (then) {
      then();
    }
    window_served.store(true);
  }
  std::vector<int>* served = nullptr;
  int number = 0;
  std::function<void()> then;
};

TEST(Window, HasRoomForAsManyMessagesAsItsLimit) {
  Window window;
  for (std::size_t count = 0; count < limits::kWindowMessages; ++count) {
    ASSERT_TRUE(window.try_take(1));
  }
  EXPECT_FALSE(window.try_take(1));
  window.give_back(1, 1);
  EXPECT_TRUE(window.try_take(1));
  EXPECT_FALSE(window.try_take(0));
  window.reset();
  EXPECT_TRUE(window.try_take(0));
}

TEST(Window, TakesAMessageOfAnySizeWhileLittleIsUnderWay) {
  Window window;
  EXPECT_TRUE(window.try_take(limits::kCreditBytes - 1));  // the owner may keep as much to itself for ever
  EXPECT_TRUE(window.try_take(limits::kFrameBytes)) << "a large message would wait for ever";
  EXPECT_FALSE(window.try_take(1));
}

TEST(Window, ServesInTheOrderOfWaiting) {
  Window window;
  ASSERT_TRUE(window.try_take(limits::kWindowBytes));
  std::vector<int> served;
  std::deque<Waiting> waiting(4);
  for (int number = 0; number < 4; ++number) {
    waiting[static_cast<std::size_t>(number)].served = &served;
    waiting[static_cast<std::size_t>(number)].number = number;
    waiting[static_cast<std::size_t>(number)].window_bytes = number == 1 ? limits::kWindowBytes : 10;
    EXPECT_FALSE(window.take_or_wait(waiting[static_cast<std::size_t>(number)]));
  }
  EXPECT_TRUE(window.leave(waiting[2]));
  EXPECT_FALSE(window.leave(waiting[2]));
  window.give_back(1, limits::kWindowBytes);
  EXPECT_EQ(served, (std::vector<int>{0, 1}));
  EXPECT_FALSE(window.try_take(1)) << "it passed one that waits";
  window.give_back(1, limits::kWindowBytes);
  EXPECT_EQ(served, (std::vector<int>{0, 1, 3}));
}

TEST(Window, NewcomersDoNotPassWhoIsBeingServed) {
  Window window;
  ASSERT_TRUE(window.try_take(limits::kWindowBytes));
  std::vector<int> served;
  Waiting first;
  Waiting second;
  first.served = second.served = &served;
  first.number = 1;
  second.number = 2;
  first.window_bytes = second.window_bytes = 1;
  first.then = [&] {  // has room, has not sent yet
    EXPECT_FALSE(window.try_take(1));
    EXPECT_FALSE(window.take_or_wait(second));
    EXPECT_TRUE(served.size() == 1);
  };
  EXPECT_FALSE(window.take_or_wait(first));
  window.give_back(1, limits::kWindowBytes);
  EXPECT_EQ(served, (std::vector<int>{1, 2}));
}

TEST(Window, ServesTheSmallOnesBehindALargeOneThatLeaves) {
  Window window;
  ASSERT_TRUE(window.try_take(limits::kCreditBytes));
  std::vector<int> served;
  Waiting large;
  Waiting small;
  large.served = small.served = &served;
  large.window_bytes = limits::kWindowBytes;
  small.number = 1;
  EXPECT_FALSE(window.take_or_wait(large));
  EXPECT_FALSE(window.take_or_wait(small));
  EXPECT_TRUE(window.leave(large));
  EXPECT_EQ(served, std::vector<int>{1});
}

// Against a model: first come first served, never more under way than the bounds say.
RC_GTEST_PROP(Window, IsAFairBoundedQueue, ()) {
  Window window;
  std::vector<int> served;
  std::deque<Waiting> all;
  std::deque<int> waiting;
  std::deque<std::pair<int, std::size_t>> under_way;
  std::size_t bytes = 0;
  const auto has_room = [&](std::size_t size) {
    return under_way.size() < limits::kWindowMessages &&
           (bytes < limits::kCreditBytes || (bytes <= limits::kWindowBytes && size <= limits::kWindowBytes - bytes));
  };
  const auto serve = [&] {
    while (!waiting.empty() && has_room(all[static_cast<std::size_t>(waiting.front())].window_bytes)) {
      const int number = waiting.front();
      waiting.pop_front();
      bytes += all[static_cast<std::size_t>(number)].window_bytes;
      under_way.emplace_back(number, all[static_cast<std::size_t>(number)].window_bytes);
    }
  };
  const auto steps = *rc::gen::container<std::vector<std::pair<int, std::size_t>>>(
      rc::gen::pair(rc::gen::inRange(0, 6), rc::gen::inRange<std::size_t>(0, limits::kFrameBytes + 1)));
  for (const auto& [what, size] : steps) {
    if (what < 3) {
      const int number = static_cast<int>(all.size());
      all.emplace_back();
      all.back().served = &served;
      all.back().number = number;
      all.back().window_bytes = size;
      const bool expected = waiting.empty() && has_room(size);
      RC_ASSERT(window.take_or_wait(all.back()) == expected);
      if (expected) {
        bytes += size;
        under_way.emplace_back(number, size);
      } else {
        waiting.push_back(number);
      }
    } else if (what < 5 && !under_way.empty()) {
      const auto [number, taken] = under_way.front();
      under_way.pop_front();
      bytes -= taken;
      served.clear();
      const std::size_t before = under_way.size();
      serve();
      window.give_back(1, taken);
      RC_ASSERT(served.size() == under_way.size() - before);
      for (std::size_t index = 0; index < served.size(); ++index) {
        RC_ASSERT(served[index] == under_way[before + index].first);
      }
    } else if (what == 5 && !waiting.empty()) {
      const int number = waiting[size % waiting.size()];
      std::erase(waiting, number);
      serve();
      RC_ASSERT(window.leave(all[static_cast<std::size_t>(number)]));
    }
  }
  for (const int number : waiting) {
    static_cast<void>(window.leave(all[static_cast<std::size_t>(number)]));
  }
}

// --- Call table

struct Pending final : PendingCall {
  Pending()
      : PendingCall(
            [](PendingCall& call, wire::Bytes&& message) noexcept {
              static_cast<Pending&>(call).end(std::string(wire::as_text({message.data(), message.size()})));
            },
            [](PendingCall& call, const Failure& why) noexcept { static_cast<Pending&>(call).end(why.to_text()); }) {}
  void end(std::string how) {
    ++ends;
    reply = std::move(how);
  }
  int ends = 0;
  std::string reply;
};

struct CallTableTest : ::testing::Test {
  test::ManualExecutor executor;
  NullLog log;
  NodeCore node{executor, log, ProcessId{1, 1}, "n", {}, {}};
  Peer& one = node.peers().find_or_add(ProcessId{2, 1});
  Peer& two = node.peers().find_or_add(ProcessId{3, 1});
  CallTable table;
  static wire::Bytes text(std::string_view content) { return wire::Bytes(wire::as_bytes(content)); }
};

TEST_F(CallTableTest, EndsACallOnceWhoeverComesFirst) {
  Pending call;
  call.call_peer = &one;
  const CallId id = table.add(call);
  table.deliver(one, id, text("first"));
  table.deliver(one, id, text("late"));
  table.fail(id, Failure(errc::peer_lost, "later"));
  EXPECT_FALSE(table.remove(id));
  EXPECT_EQ(call.ends, 1);
  EXPECT_EQ(call.reply, "first");
}

TEST_F(CallTableTest, TakesAnAnswerFromThePeerThatWasAskedAlone) {
  Pending call;
  call.call_peer = &one;
  const CallId id = table.add(call);
  table.deliver(two, id, text("forged"));
  EXPECT_EQ(call.ends, 0);
  table.deliver(one, id, text("true"));
  EXPECT_EQ(call.reply, "true");
}

TEST_F(CallTableTest, GivesALateReplyToNobodyHoweverManyOthersWait) {
  std::deque<Pending> calls(10'000);  // the table has to grow for
  std::vector<CallId> ids;
  for (Pending& call : calls) {
    call.call_peer = &one;
    ids.push_back(table.add(call));
  }
  for (std::size_t index = 0; index < calls.size(); index += 3) {
    EXPECT_TRUE(table.remove(ids[index]));  // given up
  }
  for (std::size_t index = 0; index < calls.size(); index += 3) {
    table.deliver(one, ids[index], text("late"));
  }
  for (std::size_t index = 0; index < calls.size(); ++index) {
    EXPECT_EQ(calls[index].ends, 0) << "call " << index << " got the reply of another";
  }
  for (std::size_t index = calls.size() - 1; index > 0; --index) {
    if (index % 3 != 0) {
      table.deliver(one, ids[index], text(std::to_string(index)));
      EXPECT_EQ(calls[index].reply, std::to_string(index));
    }
  }
}

TEST_F(CallTableTest, FailsWhatWasSentByAnEndedChannelAndNothingElse) {
  std::deque<Pending> calls(5);
  std::vector<CallId> ids;
  for (Pending& call : calls) {
    call.call_peer = &one;
    ids.push_back(table.add(call));
  }
  calls[4].call_peer = &two;
  calls[0].call_sent_under = 1;
  calls[1].call_sent_under = 2;
  calls[2].call_sent_under = 3;  // of the next channel
  calls[3].call_sent_under = 0;  // not sent yet
  calls[4].call_sent_under = 1;
  table.fail_all(one, Failure(errc::peer_lost, "cut"), 2);
  EXPECT_EQ(calls[0].reply, "peer_lost: cut");
  EXPECT_EQ(calls[1].reply, "peer_lost: cut");
  EXPECT_EQ(calls[2].ends + calls[3].ends + calls[4].ends, 0);
  for (const CallId id : ids) {
    static_cast<void>(table.remove(id));
  }
}

TEST_F(CallTableTest, NeverGivesANumberTwice) {
  Pending call;
  CallId last{};
  for (int round = 0; round < 1000; ++round) {
    const CallId id = table.add(call);
    EXPECT_GT(id, last);
    EXPECT_TRUE(table.remove(id));
    last = id;
  }
}

}  // namespace
}  // namespace ferry
