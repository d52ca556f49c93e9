// Messages on a queue pair of their own: order, once each, credits, and what becomes of them when the queue pair or the
// link ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <ferry/base/random.hpp>
#include <ferry/queue/message_link.hpp>
#include <ferry/queue/queue_limits.hpp>

#include <collecting_log.hpp>
#include <fake_device.hpp>
#include <fake_pipe.hpp>
#include <manual_executor.hpp>
#include <sanitizers.hpp>

namespace ferry::queue {
namespace {

using test::FakeDevice;
using test::FakePipe;

constexpr std::size_t kFrame = kMessageSlotBytes - kFrameHeader;  // bytes of a message in one Send

struct End final : ControlEvents {
  End(test::FakeFabric& fabric, test::ManualExecutor& executor, OrderClass order, std::uint64_t id)
      : device(fabric, order), core(executor, log, ProcessId{id, id}, "process", JobSecret{}, NodeLimits{}) {}
  ~End() { core.shut_down(); }

  void on_control_open() noexcept override { ++opened; }
  void on_control(wire::Bytes&& message) noexcept override {
    messages.emplace_back(wire::as_text({message.data(), message.size()}));
    if (closes_at == messages.size()) {
      link->close(Failure(errc::shut_down, "enough"));
    }
  }
  void on_control_closed(const Failure& why, PeerState) noexcept override {
    codes.push_back(why.code());
    link->close(why);
  }
  bool send(std::string_view text) { return link->send(wire::Bytes(wire::as_bytes(text))); }

  test::CollectingLog log;
  FakeDevice device;
  NodeCore core;
  std::unique_ptr<ControlLink> link;
  std::vector<std::string> messages;
  std::vector<errc> codes;
  int opened = 0;
  std::size_t closes_at = 0;
};

class MessageLinkTest : public testing::TestWithParam<OrderClass> {
 protected:
  explicit MessageLinkTest(OrderClass order = GetParam())
      : initiator_(fabric_, executor_, order, 1), owner_(fabric_, executor_, order, 2) {}
  ~MessageLinkTest() override {
    initiator_.link = nullptr;
    owner_.link = nullptr;
    run();
    EXPECT_EQ(initiator_.device.queue_pairs, 0U);
    EXPECT_EQ(owner_.device.queue_pairs, 0U);
    EXPECT_EQ(initiator_.device.local_keys, 0U);
    EXPECT_EQ(owner_.device.local_keys, 0U);
  }

  void run() {
    while (fabric_.step()) {
    }
  }
  void connect() {
    pipe_ = std::make_shared<FakePipe>(fabric_);
    initiator_.link = MessageLink::dial(initiator_.core, initiator_.device, initiator_, [this](ControlEvents& events) {
      return pipe_->end(FakePipe::initiator, events, ProcessId{2, 2});
    });
    owner_.link = MessageLink::accept(owner_.core, owner_.device, owner_, [this](ControlEvents& events) {
      return pipe_->end(FakePipe::owner, events, ProcessId{1, 1});
    });
    pipe_->announce_open();
    run();
  }
  // Both ends have been heard on a queue pair.
  void connect_and_greet() {
    connect();
    for (std::uint64_t count = 0; count < kFewMessages; ++count) {
      initiator_.send("hello");
      run();
      owner_.send("welcome");
      run();
    }
    ASSERT_EQ(owner_.messages, std::vector<std::string>(kFewMessages, "hello"));
    ASSERT_EQ(initiator_.messages, std::vector<std::string>(kFewMessages, "welcome"));
    owner_.messages.clear();
    initiator_.messages.clear();
  }

  test::FakeFabric fabric_;
  test::ManualExecutor executor_;
  End initiator_;
  End owner_;
  std::shared_ptr<FakePipe> pipe_;
};

std::vector<std::string> numbered(std::size_t count) {
  std::vector<std::string> texts;
  for (std::size_t index = 0; index < count; ++index) {
    texts.push_back(std::to_string(index));
  }
  return texts;
}

TEST_P(MessageLinkTest, MessagesNeedTheLinkBeneathOnlyAtTheBeginning) {
  connect_and_greet();
  EXPECT_EQ(initiator_.opened, 1);
  pipe_->hold(FakePipe::initiator);
  pipe_->hold(FakePipe::owner);
  const auto texts = numbered(1000);
  for (const std::string& text : texts) {
    ASSERT_TRUE(initiator_.send(text));
    ASSERT_TRUE(owner_.send(text));
  }
  run();
  EXPECT_EQ(owner_.messages, texts);
  EXPECT_EQ(initiator_.messages, texts);
  EXPECT_EQ(pipe_->waiting(FakePipe::initiator), 0U);
  EXPECT_EQ(pipe_->waiting(FakePipe::owner), 0U);
}

TEST_P(MessageLinkTest, AFewMessagesNeedNoQueuePair) {
  connect();
  for (std::uint64_t count = 1; count < kFewMessages; ++count) {
    initiator_.send("hello");
    run();
  }
  EXPECT_EQ(initiator_.device.created, 0U);
  owner_.send("one more");
  run();
  EXPECT_EQ(initiator_.device.created, 1U);
}

TEST_P(MessageLinkTest, LongMessagesTakeAsFewSendsAsTheyNeed) {
  connect_and_greet();
  for (const std::size_t size : {std::size_t{0}, kFrame, kFrame + 1, kMessageSends * kFrame}) {
    const std::size_t before = initiator_.device.executed.size();
    std::string text(size, 'x');
    for (std::size_t index = 0; index < size; ++index) {
      text[index] = static_cast<char>('a' + index % 23);
    }
    ASSERT_TRUE(initiator_.send(text));
    run();
    ASSERT_EQ(owner_.messages, std::vector<std::string>{text});
    owner_.messages.clear();
    EXPECT_EQ(initiator_.device.executed.size() - before, std::max<std::size_t>(1, (size + kFrame - 1) / kFrame));
  }
}

TEST_P(MessageLinkTest, VeryLongMessagesStayBeneathAndKeepTheirPlace) {
  connect_and_greet();
  std::vector<std::string> texts;
  for (std::size_t index = 0; index < 60; ++index) {
    texts.push_back(std::string(index % 3 == 1 ? 100 * kFrame : index, static_cast<char>('a' + index % 26)));
    ASSERT_TRUE(initiator_.send(texts.back()));
  }
  const std::size_t before = initiator_.device.executed.size();
  run();
  EXPECT_EQ(owner_.messages, texts);
  EXPECT_EQ(initiator_.device.executed.size() - before, 40U);
}

// The receiver would have to keep what comes before a Send that takes long.
TEST_P(MessageLinkTest, LongOnesDoNotRunFarAheadOfWhatIsOnTheQueuePair) {
  connect_and_greet();
  initiator_.device.is_held = true;
  std::vector<std::string> texts{"short"};
  ASSERT_TRUE(initiator_.send(texts.back()));
  for (std::size_t index = 0; index < 4 * kMessageReceives; ++index) {
    texts.push_back(std::string(100 * kFrame, 'x'));
    ASSERT_TRUE(initiator_.send(texts.back()));
  }
  run();
  EXPECT_TRUE(owner_.messages.empty());
  initiator_.device.release();
  run();
  EXPECT_EQ(owner_.messages, texts);
  EXPECT_TRUE(owner_.codes.empty());
}

TEST_P(MessageLinkTest, CountsOfRequestsAreExact) {
  connect_and_greet();
  const std::size_t sent = initiator_.device.executed.size();
  const std::size_t answered = owner_.device.executed.size();
  const std::size_t posts = initiator_.device.posts;
  for (const std::string& text : numbered(800)) {
    initiator_.send(text);
    run();
  }
  EXPECT_EQ(owner_.messages.size(), 800U);
  EXPECT_EQ(initiator_.device.executed.size() - sent, 800U);
  EXPECT_EQ(initiator_.device.posts - posts, 800U);
  EXPECT_EQ(owner_.device.executed.size() - answered, 800 / (kMessageReceives / 2)) << "receipts";
  const auto& executed = initiator_.device.executed;
  const auto signaled =
      std::count_if(executed.end() - 800, executed.end(), [](const auto& each) { return each.signaled; });
  EXPECT_EQ(signaled, GetParam() == OrderClass::srd ? 800 : 200);
}

TEST_P(MessageLinkTest, AQueuePairOfFewRequestsCarriesThem) {
  for (std::size_t requests = 1; requests <= 6; ++requests) {
    initiator_.device.set().requests = owner_.device.set().requests = requests;
    initiator_.link = nullptr;
    owner_.link = nullptr;
    run();
    owner_.messages.clear();
    initiator_.messages.clear();
    connect_and_greet();
    const auto texts = numbered(200);
    for (const std::string& text : texts) {
      initiator_.send(text);
    }
    run();
    EXPECT_EQ(owner_.messages, texts) << requests;
    for (const std::string& text : texts) {
      initiator_.send(text);
      owner_.send(text);
    }
    run();
    EXPECT_EQ(owner_.messages.size(), 2 * texts.size()) << requests;
    EXPECT_EQ(initiator_.messages, texts) << requests;
  }
}

TEST_P(MessageLinkTest, WithTooFewReceivesTheyStayBeneath) {
  initiator_.device.set().receives = kLeastMessageReceives - 1;
  connect();
  const auto texts = numbered(100);
  for (const std::string& text : texts) {
    initiator_.send(text);
    run();
  }
  EXPECT_EQ(owner_.messages, texts);
  EXPECT_EQ(initiator_.device.created, 0U);
  ASSERT_EQ(initiator_.log.lines().size(), 1U);
  EXPECT_NE(initiator_.log.lines()[0].find("4 are needed"), std::string::npos) << initiator_.log.lines()[0];
}

TEST_P(MessageLinkTest, NoSendEverLacksAReceive) {
  Random random(7);
  connect_and_greet();
  const auto texts = numbered(3000);
  for (const std::string& text : texts) {
    initiator_.send(text);
    owner_.send(text);
    for (std::uint64_t count = random.below(8); count > 0; --count) {
      fabric_.step(random.below(1000));
    }
  }
  run();
  EXPECT_EQ(owner_.messages, texts);
  EXPECT_EQ(initiator_.messages, texts);
  EXPECT_EQ(initiator_.device.waits_for_receive, 0U);
  EXPECT_EQ(owner_.device.waits_for_receive, 0U);
}

TEST_P(MessageLinkTest, LostQueuePairsLoseNothingAndAreBuiltAnew) {
  connect_and_greet();
  const auto texts = numbered(40);
  for (const std::string& text : texts) {
    initiator_.send(text);
    owner_.send(text);
    if (text == "20") {
      fabric_.step();
      owner_.device.lose_queues(Failure(errc::peer_lost, "its port went down"));
    }
  }
  run();
  EXPECT_EQ(owner_.messages, texts);
  EXPECT_EQ(initiator_.messages, texts);
  EXPECT_EQ(initiator_.device.created, 2U);
  EXPECT_EQ(owner_.device.created, 2U);
  const std::size_t before = initiator_.device.executed.size();
  initiator_.send("again");
  run();
  EXPECT_EQ(owner_.messages.back(), "again");
  EXPECT_EQ(initiator_.device.executed.size() - before, 1U) << "it took the new queue pair";
  EXPECT_TRUE(initiator_.codes.empty() && owner_.codes.empty());
}

TEST_P(MessageLinkTest, WithoutQueuePairsEverythingStaysBeneathAndSaysSoOnce) {
  owner_.device.create_failure = Failure(errc::resource_exhausted, "no queue pair is left");
  connect();
  const auto texts = numbered(100);
  for (const std::string& text : texts) {
    initiator_.send(text);
    owner_.send(text);
    run();
  }
  EXPECT_EQ(owner_.messages, texts);
  EXPECT_EQ(initiator_.messages, texts);
  EXPECT_EQ(initiator_.device.executed.size() + owner_.device.executed.size(), 0U);
  ASSERT_EQ(owner_.log.lines().size(), 1U);
  EXPECT_NE(owner_.log.lines()[0].find("no queue pair is left"), std::string::npos) << owner_.log.lines()[0];
}

TEST_P(MessageLinkTest, WhatWasSentBeforeCloseArrivesBeforeTheNewsOfIt) {
  connect_and_greet();
  const auto texts = numbered(100);
  for (const std::string& text : texts) {
    initiator_.send(text);
  }
  initiator_.link->close(Failure(errc::shut_down, "done"));
  EXPECT_FALSE(initiator_.send("late"));
  run();
  EXPECT_EQ(owner_.messages, texts);
  EXPECT_EQ(owner_.codes.size(), 1U);
  EXPECT_TRUE(initiator_.codes.empty());
}

TEST_P(MessageLinkTest, NothingComesAfterCloseWithinAnEvent) {
  connect_and_greet();
  owner_.closes_at = 3;
  for (const std::string& text : numbered(100)) {
    initiator_.send(text);
  }
  run();
  EXPECT_EQ(owner_.messages, numbered(3));
  EXPECT_TRUE(owner_.codes.empty());
  EXPECT_EQ(initiator_.codes.size(), 1U);
  EXPECT_FALSE(initiator_.send("late"));
}

TEST_P(MessageLinkTest, LossOfTheLinkIsToldBehindWhatCame) {
  connect_and_greet();
  initiator_.send("last");
  run();
  pipe_->cut(Failure(errc::peer_lost, "cut"), PeerState::gone);
  run();
  EXPECT_EQ(owner_.messages, std::vector<std::string>{"last"});
  EXPECT_EQ(owner_.codes, std::vector<errc>{errc::peer_lost});
  EXPECT_EQ(initiator_.codes, std::vector<errc>{errc::peer_lost});
}

TEST_P(MessageLinkTest, WhatNoPeerSaysEndsTheLinkAndNamesIt) {
  const wire::Bytes wrong[] = {
      wire::Bytes(),
      wire::Bytes(wire::as_bytes("\x63 unknown")),
      wire::Bytes(wire::as_bytes("\x05")),
      encode_beneath(MessageFrame{kFewMessages + 1, false, true, {}}),
      encode_beneath(Beneath::open, QueueOffer{1, 16, 20, {}}),
      encode_beneath(Beneath::ready, QueueOffer{9, 16, 20, {}}),
      encode_beneath(LinkReceipt{1, {1000, 0}}),
      encode_beneath(LinkReceipt{1, {0, 1000}}),
  };
  for (const wire::Bytes& each : wrong) {
    owner_.codes.clear();
    owner_.link = nullptr;
    initiator_.link = nullptr;
    run();
    owner_.messages.clear();
    initiator_.messages.clear();
    connect_and_greet();
    pipe_->inject(FakePipe::initiator, each);
    run();
    EXPECT_EQ(owner_.codes, std::vector<errc>{errc::malformed});
  }
}

INSTANTIATE_TEST_SUITE_P(Over, MessageLinkTest,
                         testing::Values(OrderClass::strict, OrderClass::unordered, OrderClass::iwarp,
                                         OrderClass::srd));

// Whatever order things happen in, and however often queue pairs fail, are refused or find no room.
class RandomMessages : public MessageLinkTest {
 public:
  RandomMessages(OrderClass order, std::uint64_t seed) : MessageLinkTest(order), random_(seed) {
    initiator_.device.set().needs_local_keys = random_.below(2) == 0;
  }
  void TestBody() override {}

  void play() {
    connect();
    std::vector<std::string> sent[2];
    End* const ends[2] = {&initiator_, &owner_};
    for (std::size_t turn = 0; turn < 400; ++turn) {
      const std::size_t from = turn == 0 ? 0 : random_.below(2);
      const std::size_t size = random_.below(8) == 0 ? random_.below(7 * kFrame) : random_.below(40);
      sent[from].push_back(fmt::format("{} {}", turn, std::string(size, 'x')));
      ASSERT_TRUE(ends[from]->send(sent[from].back()));
      disturb(*ends[random_.below(2)]);
      for (std::uint64_t count = random_.below(8); count > 0; --count) {
        fabric_.step(random_.below(1000));
      }
    }
    for (End* end : ends) {
      end->device.fault.reset();
      end->device.refuses_post = false;
      end->device.create_failure = {};
    }
    run();
    EXPECT_EQ(owner_.messages, sent[0]);
    EXPECT_EQ(initiator_.messages, sent[1]);
    EXPECT_TRUE(initiator_.codes.empty() && owner_.codes.empty());
  }

 private:
  void disturb(End& end) {
    switch (random_.below(60)) {
      case 0:
        end.device.fault = FakeDevice::Fault{random_.below(10), WorkStatus::unreachable, random_.below(2) == 0};
        break;
      case 1:
        end.device.lose_queues(Failure(errc::peer_lost, "the port went down"));
        break;
      case 2:
        end.device.refuses_post = !end.device.refuses_post;
        break;
      case 3:
        end.device.create_failure =
            end.device.create_failure ? Failure() : Failure(errc::resource_exhausted, "no queue pair is left");
        break;
      default:
        break;
    }
  }

  Random random_;
};

TEST(MessageLinkAtRandom, EveryMessageArrivesOnceAndInOrder) {
  const char* const fixed = std::getenv("FERRY_SEED");
  const std::uint64_t first = fixed == nullptr ? 1 : std::strtoull(fixed, nullptr, 10);
  const std::uint64_t last = fixed == nullptr ? (test::kSanitized ? 30 : 300) : first;
  std::printf(
      "seeds %llu to %llu; one again: FERRY_SEED=N queue_connection_test --gtest_filter=MessageLinkAtRandom.*\n",
      static_cast<unsigned long long>(first), static_cast<unsigned long long>(last));
  for (const OrderClass order : {OrderClass::strict, OrderClass::unordered, OrderClass::iwarp, OrderClass::srd}) {
    for (std::uint64_t seed = first; seed <= last; ++seed) {
      RandomMessages messages(order, seed);
      messages.play();
      if (testing::Test::HasFailure()) {
        FAIL() << "order class " << static_cast<int>(order) << ", seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace ferry::queue
