// Messages between two nodes: order, sizes, sleeping sides, a side that is slow.
#include "test_node.hpp"

namespace ferry::shm {
namespace {

using namespace testing;

wire::Bytes numbered(std::size_t size, std::uint64_t number) {
  wire::Bytes bytes(std::max(size, sizeof number), std::byte{static_cast<unsigned char>(number)});
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}
std::uint64_t number_of(const wire::Bytes& bytes) {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

// How long the loops spin before they sleep: 0, at once; many, hardly ever.
class Messages : public ::testing::TestWithParam<int> {
 protected:
  TestNode owner{{.spins = GetParam()}};
  TestNode initiator{{.spins = GetParam()}};
  Peer& to_owner() { return initiator.peer(owner); }
};
INSTANTIATE_TEST_SUITE_P(, Messages, ::testing::Values(1, 1'000'000), [](const auto& parameter) {
  return parameter.param == 1 ? "BetweenSleepers" : "BetweenSpinners";
});

TEST_P(Messages, ComeBackInOrderAndWhole) {
  constexpr std::uint64_t kMessages = 3000;
  const auto size_of = [](std::uint64_t number) { return number % 100 == 7 ? 100'000 : 8 + number % 500; };
  for (std::uint64_t number = 0; number < kMessages; ++number) {
    EXPECT_FALSE(to_owner().send(numbered(size_of(number), number)));
  }
  eventually([&] { return initiator.events.replies() == kMessages; });
  for (std::uint64_t number = 0; number < kMessages; ++number) {
    const wire::Bytes reply = initiator.events.reply(number);
    ASSERT_EQ(number_of(reply), number);
    ASSERT_EQ(reply.size(), std::max<std::size_t>(size_of(number), 8));
    ASSERT_EQ(reply[reply.size() - 1], numbered(size_of(number), number)[reply.size() - 1]);
  }
}

TEST_P(Messages, ASleepingSideIsWokenForEachOfThem) {
  for (std::uint64_t number = 0; number < 300; ++number) {
    EXPECT_FALSE(to_owner().send(numbered(64, number)));
    eventually([&] { return initiator.events.replies() == number + 1; });
  }
}

TEST_P(Messages, AMessageOfTheGreatestSizePasses) {
  const std::size_t size = limits::kFrameBytes - 16;
  EXPECT_FALSE(to_owner().send(numbered(size, 5)));
  eventually([&] { return initiator.events.replies() == 1; });
  EXPECT_EQ(initiator.events.reply(0).size(), size);
}

TEST_P(Messages, ADeafOwnerDelaysNobodyAndLosesNothing) {
  EXPECT_FALSE(to_owner().send(numbered(8, 0)));
  eventually([&] { return initiator.events.replies() == 1; });
  owner.loop.stop_polling();
  for (std::uint64_t number = 1; number < 200; ++number) {
    EXPECT_FALSE(to_owner().send(numbered(20'000, number)));  // far more than the ring holds
  }
  owner.loop.resume_polling();
  eventually([&] { return initiator.events.replies() == 200; });
  for (std::uint64_t number = 0; number < 200; ++number) {
    EXPECT_EQ(number_of(initiator.events.reply(number)), number);
  }
}

TEST_P(Messages, WhatNeverReachedTheRingIsGivenBackAtTheEnd) {
  EXPECT_FALSE(to_owner().send(numbered(8, 0)));
  eventually([&] { return initiator.events.replies() == 1; });
  owner.loop.stop_polling();
  constexpr std::uint64_t kSent = 200;
  for (std::uint64_t number = 1; number < kSent; ++number) {
    EXPECT_FALSE(to_owner().send(numbered(20'000, number)));  // far more than the ring holds
  }
  to_owner().declare_gone(Failure(errc::peer_lost, "it is given up"));
  owner.loop.resume_polling();
  const std::vector<std::string> unsent = initiator.events.unsent();
  ASSERT_GT(unsent.size(), kSent / 2);
  ASSERT_LT(unsent.size(), kSent - 1) << "some are in the ring";
  for (std::size_t index = 0; index < unsent.size(); ++index) {
    EXPECT_EQ(number_of(wire::Bytes(wire::as_bytes(unsent[index]))), kSent - unsent.size() + index);
  }
}

TEST_P(Messages, AnswersCanBeSentByAnyThreadLater) {
  owner.sink.echo = false;
  EXPECT_FALSE(to_owner().send(numbered(8, 0)));
  eventually([&] { return owner.sink.requests() == 1; });
  const std::shared_ptr<Inbound> inbound = owner.sink.last();
  EXPECT_EQ(inbound->peer(), initiator.core.self());
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint64_t number = 0; number < 200; ++number) {
        EXPECT_TRUE(inbound->send(numbered(300, thread << 32 | number)));
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  eventually([&] { return initiator.events.replies() == 800; });
  std::array<std::uint64_t, 4> next{};
  for (std::size_t index = 0; index < 800; ++index) {
    const std::uint64_t number = number_of(initiator.events.reply(index));
    EXPECT_EQ(number & 0xffffffff, next[number >> 32]++) << "out of order within one thread";
  }
}

TEST_P(Messages, AFrameAboveTheReceiversLimitEndsTheChannelWithOneLine) {
  NodeLimits small;
  small.frame_bytes = 1000;
  TestNode strict({.limits = small});
  Peer& peer = initiator.peer(strict);
  EXPECT_FALSE(peer.send(numbered(900, 1)));
  eventually([&] { return initiator.events.replies() == 1; });
  EXPECT_FALSE(peer.send(numbered(2000, 2)));
  eventually([&] { return initiator.events.failures().size() == 1; });
  EXPECT_EQ(initiator.events.failures()[0].why.code(), errc::malformed);
  ASSERT_EQ(strict.log.lines().size(), 1U);
  EXPECT_NE(strict.log.lines()[0].find("malformed"), std::string::npos) << strict.log.lines()[0];
  EXPECT_FALSE(peer.send(numbered(900, 3)));  // the next one makes a new channel
  eventually([&] { return initiator.events.replies() == 2; });
}

}  // namespace
}  // namespace ferry::shm
