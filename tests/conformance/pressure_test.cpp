#include <string>
#include <vector>

#include <resident_memory.hpp>

#include "held_actor.hpp"
#include "scenario.hpp"

namespace ferry::conformance {
namespace {

FERRY_CONFORMANCE(Pressure);

using testing::HasSubstr;

class Chatty final : public Actor {
 public:
  explicit Chatty(ActorContext& context) : context_(context) {}

  void hear(std::uint64_t number) { heard_.push_back(number); }
  // Sends itself messages, none of which can be taken before it ends.
  Task<std::uint64_t> talk_to_itself(std::uint64_t count) {
    const ActorRef<Chatty> itself = context_.self<Chatty>();
    for (std::uint64_t number = 0; number < count; ++number) {
      auto outcome = as_result(itself.send<&Chatty::hear>(number).with({.timeout = std::chrono::seconds(20)}));
      const auto sent = co_await outcome;
      if (!sent) {
        co_return number;
      }
    }
    co_return count;
  }
  std::vector<std::uint64_t> heard() const { return heard_; }
  std::string blob(std::uint64_t size) { return std::string(size, 'b'); }

  static constexpr auto endpoints =
      ferry::endpoints<&Chatty::hear, &Chatty::talk_to_itself, &Chatty::heard, &Chatty::blob>;

 private:
  ActorContext& context_;
  std::vector<std::uint64_t> heard_;
};

ScenarioOptions with_actors(std::size_t nodes) {
  return {.nodes = nodes, .classes = actors<Held, Chatty>.classes(), .seeds = 4};
}

// A sender meets an actor that takes nothing: how much it may send, what it is told, and that all of it arrives.
Task<void> fill_the_mailbox(Cluster& cluster, std::size_t message_bytes, std::size_t most) {
  auto held_spawned = spawn_on<Held>(cluster, 1, "held");
  const ActorRef<Held> held = co_await held_spawned;
  auto other_spawned = spawn_on<Held>(cluster, 1, "other");
  const ActorRef<Held> other = co_await other_spawned;
  const BufferRef door = co_await held.call<&Held::door>();
  auto holding = start(held.call<&Held::hold>(std::uint64_t{1}));
  auto is_held = until_held(held, 1, cluster);
  co_await is_held;

  const std::string text(message_bytes, 't');
  std::uint64_t number = 0;
  Result<void> sent;
  while (number <= most && (sent = held.try_send<&Held::take_text>(number, text))) {
    ++number;
  }
  EXPECT_LE(number, most) << "more than the bound was accepted";
  EXPECT_GE(number, most / 2) << "far less than the bound was accepted";
  EXPECT_FALSE(sent);
  if (!sent) {
    EXPECT_EQ(sent.error().code(), errc::overloaded);
    EXPECT_THAT(sent.error().to_text(), HasSubstr("send, which waits"));
  }
  std::vector<Running<void>> waiting;
  for (int extra = 0; extra < 5; ++extra) {
    waiting.push_back(start(held.send<&Held::take_text>(number++, text)));
  }
  for (int round = 0; round < 50; ++round) {
    const std::uint64_t value = co_await other.call<&Held::take>(std::uint64_t{5});
    EXPECT_EQ(value, 5U) << "another actor of the same node does not answer";
  }
  for (const Running<void>& send : waiting) {
    EXPECT_FALSE(send.is_done()) << "a send did not wait for room";
  }
  auto gone = let_go(door);
  co_await gone;
  co_await holding;
  for (Running<void>& send : waiting) {
    co_await send;
  }
  std::vector<std::uint64_t> taken;
  do {
    taken = co_await held.call<&Held::taken>();
  } while (taken.size() < number);
  EXPECT_EQ(taken.size(), number);
  EXPECT_TRUE(std::ranges::is_sorted(taken));
  const std::uint64_t bytes = co_await held.call<&Held::bytes>();
  EXPECT_EQ(bytes, number * message_bytes);
}

Task<void> many_small_messages(Cluster& cluster) {
  return fill_the_mailbox(cluster, 1'000, limits::kWindowMessages);
}
TEST_P(Pressure, SenderOfManySmallMessagesIsHeldAtTheBoundOnTheirNumber) {
  play(many_small_messages, with_actors(2));
}

Task<void> few_large_messages(Cluster& cluster) {
  return fill_the_mailbox(cluster, std::size_t{1} << 20, limits::kWindowBytes >> 20);
}
TEST_P(Pressure, SenderOfLargeMessagesIsHeldAtTheBoundOnTheirBytes) {
  play(few_large_messages, with_actors(2));
}

Task<void> self_sends(Cluster& cluster) {
  const std::uint64_t count = 2 * limits::kWindowMessages;
  auto spawned = spawn_on<Chatty>(cluster, 1, "chatty");
  const ActorRef<Chatty> chatty = co_await spawned;
  const std::uint64_t sent = co_await chatty.call<&Chatty::talk_to_itself>(count);
  EXPECT_EQ(sent, count) << "a send to oneself waited for room that only itself could give";
  const std::vector<std::uint64_t> heard = co_await chatty.call<&Chatty::heard>();
  EXPECT_EQ(heard.size(), count);
  EXPECT_TRUE(std::ranges::is_sorted(heard));
}
TEST_P(Pressure, SendToOneselfNeverWaits) {
  play(self_sends, with_actors(2));
}

Task<void> stream(ActorRef<Held> held, std::uint64_t count, std::size_t size) {
  const std::string text(size, 's');
  for (std::uint64_t number = 0; number < count; ++number) {
    co_await held.send<&Held::take_text>(number, text);
  }
}

Task<void> memory_is_bounded(Cluster& cluster) {
  // Over a device less, and a lower bound with it: it may be an emulated one.
  const bool is_device = !cluster.traits().owner_checks_generations;
  const std::uint64_t count = !cluster.traits().threads ? 100 : is_device ? 1'500 : repetitions(6'000);
  const std::size_t bound = std::size_t{is_device ? 64U : 160U} << 20;
  constexpr std::size_t kSize = 64 * 1'024;
  auto spawned = spawn_on<Held>(cluster, 1, "held");
  const ActorRef<Held> held = co_await spawned;
  const std::size_t before = test::resident_bytes();
  auto streaming = start(stream(held, count, kSize));
  std::size_t most = before;
  while (!streaming.is_done()) {
    most = std::max(most, test::resident_bytes());
    co_await between_looks(cluster);
  }
  co_await streaming;
  std::uint64_t bytes = 0;
  do {
    bytes = co_await held.call<&Held::bytes>();
  } while (bytes < count * kSize);
  EXPECT_EQ(bytes, count * kSize);
  if (!kSanitized) {  // whose own memory is not what is measured
    EXPECT_LT(most - before, bound) << "of " << (count * kSize >> 20) << " MiB sent";
  }
}
TEST_P(Pressure, MemoryOfBothSidesStaysBoundedHoweverMuchIsSent) {
  play(memory_is_bounded, with_actors(2));
}

Task<void> many_large_replies(Cluster& cluster) {
  const std::uint64_t size = cluster.traits().threads ? 200'000 : 20'000;
  auto spawned = spawn_on<Chatty>(cluster, 1, "chatty");
  const ActorRef<Chatty> chatty = co_await spawned;
  std::vector<Running<std::string>> calls;
  for (int index = 0; index < 300; ++index) {
    calls.push_back(start(chatty.call<&Chatty::blob>(size)));
  }
  for (Running<std::string>& call : calls) {
    const std::string blob = co_await call;
    EXPECT_EQ(blob.size(), size);
  }
}
TEST_P(Pressure, RepliesNeverWaitBehindRequests) {
  play(many_large_replies, with_actors(2));
}

}  // namespace
}  // namespace ferry::conformance
