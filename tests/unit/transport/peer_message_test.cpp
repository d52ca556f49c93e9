// Peer: messages: which channel they went by, which never left, and what is told of both.
#include "peer_fixture.hpp"

namespace ferry::peer_tests {
namespace {

TEST_F(PeerTest, TellsWhichMessagesNeverLeft) {
  shm->prepare = [](FakeConnection& connection) { connection.opens_at_once = false; };
  tcp->why_not = "another host";
  EXPECT_TRUE(send("a"));
  EXPECT_TRUE(send("b"));
  shm->only().refuse(kBroken);
  EXPECT_EQ(events.unsent, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(send("c"));
  shm->only().accept();
  EXPECT_TRUE(send("d"));
  shm->only().break_channel(kBroken);
  EXPECT_EQ(events.unsent, (std::vector<std::string>{"a", "b"})) << "c and d may have arrived";
  EXPECT_TRUE(send("e"));
  peer->declare_gone(kBroken);
  EXPECT_EQ(events.unsent, (std::vector<std::string>{"a", "b", "e"}));
}

TEST_F(PeerTest, GivesBackAMessageThatStillWaitsForAChannel) {
  shm->prepare = [](FakeConnection& connection) { connection.opens_at_once = false; };
  const auto has_size = [](wire::ByteView bytes, std::uint64_t size) { return bytes.size() == size; };
  EXPECT_TRUE(send("a"));
  EXPECT_TRUE(send("bb"));
  EXPECT_TRUE(send("ccc"));
  EXPECT_TRUE(peer->take_back(has_size, 2));
  EXPECT_FALSE(peer->take_back(has_size, 2));
  shm->only().accept();
  EXPECT_FALSE(peer->take_back(has_size, 1)) << "it has been handed over";
  EXPECT_EQ(shm->only().sent(), (std::vector<std::string>{"a", "ccc"}));
}

TEST_F(PeerTest, WhatWaitedForAChannelHasDoneNothingWhateverEndedIt) {
  shm->prepare = [](FakeConnection& connection) { connection.opens_at_once = false; };
  Tracked one;
  one.start(*peer);
  peer->declare_gone(kBroken.with_effect(Effect::unknown));
  EXPECT_EQ(one.operation.failure.effect(), Effect::none);
  EXPECT_EQ(peer->fate().effect(), Effect::none);
}

TEST_F(PeerTest, TellsUnderWhichChannelAMessageWasSentBeforeItCanFail) {
  shm->prepare = [](FakeConnection& connection) { connection.open_failure = Failure(errc::timed_out, "no"); };
  tcp->prepare = shm->prepare;
  std::atomic<ChannelNumber> sent_under{0};
  ChannelNumber seen = 0;
  events.then = [&] { seen = sent_under.load(); };
  EXPECT_FALSE(peer->send(message("x"), &sent_under));
  EXPECT_EQ(seen, events.channels.at(0));
  EXPECT_EQ(sent_under.load(), events.channels.at(0));
}

TEST_F(PeerTest, CountsWhatIsSentWhileAFailureIsToldToTheNextChannel) {
  EXPECT_TRUE(send("first"));
  std::atomic<ChannelNumber> second{0};
  events.then = [&] { static_cast<void>(peer->send(message("second"), &second)); };
  shm->only().break_channel(kBroken);
  EXPECT_EQ(events.channels, std::vector<ChannelNumber>{1});
  EXPECT_EQ(second.load(), 2U);
  EXPECT_EQ(shm->only().sent(), (std::vector<std::string>{"first", "second"}));
}

}  // namespace
}  // namespace ferry::peer_tests
