// Messages and answers between simulated processes.
#include <gmock/gmock.h>

#include <ferry/transport/inbound.hpp>

#include "task_program.hpp"

namespace ferry::sim::test {
namespace {

wire::Bytes number(std::uint8_t value) {
  wire::Bytes bytes;
  *wire::extend(bytes, 1) = std::byte{value};
  return bytes;
}

// Takes what arrives at one process and answers each message with its double.
struct Doubler final : MessageSink {
  void on_request(const std::shared_ptr<Inbound>& from, wire::Bytes&& message) noexcept override {
    received.push_back(std::to_integer<int>(message[0]));
    static_cast<void>(from->send(number(static_cast<std::uint8_t>(received.back() * 2))));
    last = from;
  }
  void on_inbound_closed(const std::shared_ptr<Inbound>& from, const Failure& why) noexcept override {
    closed.push_back(why.code());
    can_answer = from->send(number(0));
  }
  std::vector<int> received;
  std::vector<errc> closed;
  bool can_answer = true;
  std::shared_ptr<Inbound> last;
};

struct Answers final : PeerEvents {
  void on_reply(Peer&, wire::Bytes&& message) noexcept override {
    received.push_back(std::to_integer<int>(message[0]));
  }
  void on_unsent(Peer&, wire::ByteView, const Failure&) noexcept override {}
  void on_peer_failed(Peer&, const Failure& why, PeerState, ChannelNumber) noexcept override {
    failures.push_back(why.code());
  }
  std::vector<int> received;
  std::vector<errc> failures;
};

struct Talk {
  Doubler doubler;
  Answers answers;
  Contact server;
  Duration server_life = 1s;
  Duration client_life = 100ms;
  int messages = 20;
};

Task<void> serve(Island& island, Talk& talk) {
  island.node().set_sink(talk.doubler);
  talk.server = island.node().contact();
  co_await sleep_for(talk.server_life);
}

Task<void> speak(Island& island, Talk& talk) {
  island.node().peers().set_events(talk.answers);
  while (!talk.server.id) {
    co_await sleep_for(10us);
  }
  Peer& server = island.node().peers().find_or_add(talk.server);
  for (int i = 0; i < talk.messages; ++i) {
    require(!server.send(number(static_cast<std::uint8_t>(i))), "the server is gone already");
    if (i % 3 == 0) {
      co_await sleep_for(1us);
    }
  }
  co_await sleep_for(talk.client_life);
}

bool is_prefix_of_counting(const std::vector<int>& values, int factor) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != static_cast<int>(i) * factor) {
      return false;
    }
  }
  return true;
}

TEST(Messages, ArriveOnceAndInOrderAndSoDoTheirAnswers) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Talk talk;
    World world({.seed = seed});
    world.start("server", run_task([&talk](Island& island) { return serve(island, talk); }));
    world.start("client", run_task([&talk](Island& island) { return speak(island, talk); }));
    const WorldResult result = world.run();
    ASSERT_EQ(result.outcome, Outcome::passed) << result.to_text();
    ASSERT_EQ(talk.doubler.received.size(), 20U) << "seed " << seed;
    ASSERT_TRUE(is_prefix_of_counting(talk.doubler.received, 1)) << "seed " << seed;
    ASSERT_EQ(talk.answers.received.size(), 20U) << "seed " << seed;
    ASSERT_TRUE(is_prefix_of_counting(talk.answers.received, 2)) << "seed " << seed;
    ASSERT_THAT(talk.doubler.closed, testing::ElementsAre(errc::peer_lost)) << "seed " << seed;
    ASSERT_FALSE(talk.doubler.can_answer);
  }
}

TEST(Messages, OfACrashedSenderAPrefixArrivesAndThenItsEnd) {
  std::set<std::size_t> counts;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Talk talk;
    talk.server_life = 10s;
    World world({.seed = seed});
    world.start("server", run_task([&talk](Island& island) { return serve(island, talk); }));
    Process& client = world.start("client", run_task([&talk](Island& island) { return speak(island, talk); }));
    world.at(20us, [&client] { client.kill(); });
    ASSERT_EQ(world.run().outcome, Outcome::passed) << "seed " << seed;
    counts.insert(talk.doubler.received.size());
    ASSERT_TRUE(is_prefix_of_counting(talk.doubler.received, 1)) << "seed " << seed;
    ASSERT_LE(talk.doubler.closed.size(), 1U) << "seed " << seed;
  }
  EXPECT_GT(counts.size(), 3U);
}

TEST(Messages, ASenderIsToldOnceThatItsPeerCrashed) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Talk talk;
    talk.client_life = 10s;
    World world({.seed = seed});
    Process& server = world.start("server", run_task([&talk](Island& island) { return serve(island, talk); }));
    world.start("client", run_task([&talk](Island& island) { return speak(island, talk); }));
    world.at(500us, [&server] { server.kill(); });
    ASSERT_EQ(world.run().outcome, Outcome::passed) << "seed " << seed;
    ASSERT_TRUE(is_prefix_of_counting(talk.answers.received, 2)) << "seed " << seed;
    ASSERT_THAT(talk.answers.failures, testing::ElementsAre(errc::peer_lost)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace ferry::sim::test
