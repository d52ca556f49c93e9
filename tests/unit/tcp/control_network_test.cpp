// Control links over sockets: dialing, being taken, messages of any length both ways, and every way in which they end.
#include <ferry/tcp/control_network.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ferry/queue/control_protocol.hpp>

#include "tcp_node.hpp"

namespace ferry::tcp::test {
namespace {

using testing::HasSubstr;

// A device that nobody asks for anything.
class NoDevice final : public queue::Device {
 public:
  const queue::DeviceLimits& limits() const noexcept override { return limits_; }
  Result<std::unique_ptr<queue::QueuePair>> create_queue_pair(const queue::QueuePairOptions&,
                                                              queue::QueueEvents&) override {
    return Failure(errc::unsupported, "there is none");
  }
  Result<std::uint32_t> register_local(std::byte*, std::size_t) override { return std::uint32_t{0}; }
  void deregister_local(std::uint32_t) noexcept override {}
  Result<queue::RemoteAddress> remote_address(const RemoteRegion&, std::uint64_t) const override {
    return queue::RemoteAddress{};
  }
  queue::RemoteAddress readable_word() const override { return {}; }

 private:
  queue::DeviceLimits limits_{};
};

// A node with nothing but a control network; the owner's end is the queue layer's.
class ControlNode {
 public:
  explicit ControlNode(TestLoop& loop, std::uint64_t id, const JobSecret& secret = test_secret(),
                       std::uint64_t incarnation = 7, std::uint16_t port = 0)
      : core(loop, log, ProcessId{id, incarnation}, "node" + std::to_string(id), secret, test_limits()),
        network(core, loop, TransportId::verbs, TcpOptions{"127.0.0.1", port}),
        server(core, device, TransportId::verbs) {
    core.set_sink(sink);
    core.peers().set_events(sink);
    network.listen(server).value();
  }
  ~ControlNode() {
    network.shut_down();
    server.shut_down();
    core.shut_down();
  }
  Contact contact() const { return Contact{core.self(), network.addresses()}; }
  std::uint16_t port() const { return endpoint_from_string(network.addresses().front().text).value().port; }

  ferry::test::CollectingLog log;
  RecordingSink sink;
  NodeCore core;
  NoDevice device;
  TcpControlNetwork network;
  queue::QueueServer server;
};

// The initiator's end, as a test sees it.
class Link final : public queue::ControlEvents {
 public:
  Link(ControlNode& from, const Contact& to)
      : from_(from), dialer_(from.network.dialer(from.core.peers().find_or_add(to))), link_(dialer_->dial(*this)) {}

  void on_control_open() noexcept override { note("open"); }
  void on_control(wire::Bytes&& message) noexcept override {
    const std::lock_guard lock(mutex_);
    messages_.push_back(std::move(message));
  }
  void on_control_closed(const Failure& why, PeerState state) noexcept override {
    const std::lock_guard lock(mutex_);
    failure_ = why;
    state_ = state;
    told_.emplace_back("closed");
  }

  bool says(const std::string& what) {
    return eventually([&] {
      const std::lock_guard lock(mutex_);
      return std::find(told_.begin(), told_.end(), what) != told_.end();
    });
  }
  wire::Bytes message(std::size_t index) {
    EXPECT_TRUE(eventually([&] {
      const std::lock_guard lock(mutex_);
      return messages_.size() > index;
    }));
    const std::lock_guard lock(mutex_);
    return wire::Bytes(wire::ByteView(messages_.at(index)));
  }
  void greet(std::uint64_t channel = 1) {
    EXPECT_TRUE(says("open"));
    link_->send(queue::encode(
        queue::Hello{queue::OrderClass::strict, false, channel, from_.core.name(), Contact{from_.core.self(), {}}}));
  }
  queue::ControlLink& link() { return *link_; }
  Failure failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }
  PeerState state() const {
    const std::lock_guard lock(mutex_);
    return state_;
  }
  std::size_t events() const {
    const std::lock_guard lock(mutex_);
    return told_.size();
  }

 private:
  void note(const char* what) {
    const std::lock_guard lock(mutex_);
    told_.emplace_back(what);
  }

  ControlNode& from_;
  mutable std::mutex mutex_;
  std::vector<std::string> told_;
  std::vector<wire::Bytes> messages_;
  Failure failure_{};
  PeerState state_ = PeerState::unknown;
  std::unique_ptr<queue::ControlDialer> dialer_;
  std::unique_ptr<queue::ControlLink> link_;  // last: its events use all of the above
};

class ControlNetworkTest : public testing::Test {
 protected:
  ControlNetworkTest() { loop.start(); }
  ~ControlNetworkTest() override { loop.stop(); }
  TestLoop loop;
};

TEST_F(ControlNetworkTest, OwnerAnswersAndKnowsWhoDialed) {
  ControlNode owner(loop, 1);
  ControlNode user(loop, 2);
  Link link(user, owner.contact());
  link.greet();
  const wire::Bytes answer = link.message(0);
  ASSERT_EQ(static_cast<queue::Control>(answer[0]), queue::Control::welcome);
  EXPECT_EQ(queue::decode_welcome(wire::ByteView(answer).subspan(1)).value().name, "node1");
  EXPECT_EQ(link.link().peer(), owner.core.self());
  EXPECT_TRUE(eventually([&] { return owner.core.peers().find(user.core.self()) != nullptr; }));
}

TEST_F(ControlNetworkTest, MessagesOfAnyLengthArriveWholeAndInOrder) {
  ControlNode owner(loop, 1);
  ControlNode user(loop, 2);
  Link link(user, owner.contact());
  link.greet();
  link.message(0);
  const std::vector<std::size_t> sizes{1, 7, 8, 4096, kPieceBytes - 1, kPieceBytes, 3 * kPieceBytes + 5, 1 << 20};
  for (const std::size_t size : sizes) {
    const std::string text(size, static_cast<char>('a' + size % 26));
    EXPECT_TRUE(link.link().send(queue::encode_message(wire::as_bytes(text))));
  }
  ASSERT_TRUE(eventually([&] { return owner.sink.count(&RecordingSink::requests) == sizes.size(); }));
  const auto requests = owner.sink.get(&RecordingSink::requests);
  for (std::size_t index = 0; index < sizes.size(); ++index) {
    EXPECT_EQ(requests[index], std::string(sizes[index], static_cast<char>('a' + sizes[index] % 26)));
  }
  const std::string reply(2 * kPieceBytes + 1, 'r');
  EXPECT_TRUE(owner.sink.get(&RecordingSink::inbound)->send(wire::Bytes(wire::as_bytes(reply))));
  EXPECT_EQ(link.message(1).size(), reply.size() + 1);
}

TEST_F(ControlNetworkTest, NobodyThereIsToldWithTheAddress) {
  std::uint16_t free_port = 0;
  Contact gone;
  {
    ControlNode owner(loop, 1);
    free_port = owner.port();
    gone = owner.contact();
  }
  ControlNode user(loop, 2);
  Link link(user, gone);
  ASSERT_TRUE(link.says("closed"));
  EXPECT_EQ(link.failure().code(), errc::peer_unreachable);
  EXPECT_THAT(link.failure().detail(), HasSubstr(std::to_string(free_port)));
  EXPECT_FALSE(link.link().send(queue::encode_message({})));
}

TEST_F(ControlNetworkTest, UnknownAddressIsTold) {
  ControlNode user(loop, 2);
  Link link(user, Contact{ProcessId{9, 9}, {}});
  ASSERT_TRUE(link.says("closed"));
  EXPECT_EQ(link.failure().detail(), "no address of it is known");
}

TEST_F(ControlNetworkTest, AnotherJobIsRefused) {
  ControlNode owner(loop, 1, test_secret(1));
  ControlNode user(loop, 2, test_secret(2));
  Link link(user, owner.contact());
  ASSERT_TRUE(link.says("closed"));
  EXPECT_EQ(link.failure().code(), errc::not_authorised);
  EXPECT_EQ(owner.server.size(), 0U);
}

TEST_F(ControlNetworkTest, SocketOfTheOtherProtocolIsRefused) {
  TestNode owner(loop, {.id = 1});
  ControlNode user(loop, 2);
  Contact contact = owner.core.contact();
  contact.addresses.front().transport = TransportId::verbs;
  Link link(user, contact);
  ASSERT_TRUE(link.says("closed"));
  EXPECT_EQ(link.failure().code(), errc::not_authorised) << "tcp's own sockets have another secret";
}

TEST_F(ControlNetworkTest, LaterLifeAtTheAddressIsKnownAsSuch) {
  std::uint16_t port = 0;
  Contact former;
  {
    ControlNode owner(loop, 1, test_secret(), 7);
    port = owner.port();
    former = owner.contact();
  }
  ControlNode later(loop, 1, test_secret(), 8, port);
  ControlNode user(loop, 2);
  Link link(user, former);
  ASSERT_TRUE(link.says("closed"));
  EXPECT_EQ(link.failure().code(), errc::stale_incarnation);
  EXPECT_EQ(link.state(), PeerState::other_incarnation);
}

TEST_F(ControlNetworkTest, EndOfTheOwnerIsTold) {
  ControlNode user(loop, 2);
  auto owner = std::make_unique<ControlNode>(loop, 1);
  Link link(user, owner->contact());
  link.greet();
  link.message(0);
  owner = nullptr;
  EXPECT_TRUE(link.says("closed"));
  EXPECT_EQ(link.failure().code(), errc::peer_lost);
}

TEST_F(ControlNetworkTest, EndOfTheInitiatorIsTold) {
  ControlNode owner(loop, 1);
  ControlNode user(loop, 2);
  {
    Link link(user, owner.contact());
    link.greet();
    link.message(0);
    EXPECT_EQ(owner.server.size(), 1U);
  }
  EXPECT_TRUE(eventually([&] { return owner.server.size() == 0; }));
}

TEST_F(ControlNetworkTest, NothingIsToldOnceALinkWasClosedAtWhateverMoment) {
  ControlNode owner(loop, 1);
  ControlNode user(loop, 2);
  for (int round = 0; round < 100; ++round) {
    Link link(user, owner.contact());
    if (round % 3 == 1) {
      EXPECT_TRUE(link.says("open"));
    } else if (round % 3 == 2) {
      link.greet(static_cast<std::uint64_t>(round) + 1);
    }
    link.link().close(Failure(errc::cancelled, "the test"));
    const std::size_t events = link.events();
    EXPECT_FALSE(link.link().send(queue::encode_message({})));
    loop.wake();
    EXPECT_EQ(link.events(), events);
  }
  EXPECT_TRUE(eventually([&] { return owner.server.size() == 0; }));
}

// A later channel of the same process ends the one before, at the moment at which its own process closes it.
TEST_F(ControlNetworkTest, LinkMayBeClosedWhileItIsTakenFromTheOtherEnd) {
  ControlNode owner(loop, 1);
  ControlNode user(loop, 2);
  auto before = std::make_unique<Link>(user, owner.contact());
  before->greet(1);
  before->message(0);
  for (std::uint64_t channel = 2; channel < 300; ++channel) {
    auto next = std::make_unique<Link>(user, owner.contact());
    next->greet(channel);
    for (std::uint64_t spin = 0; spin < channel % 50 * 20; ++spin) {
      static_cast<void>(before->events());
    }
    before = nullptr;
    next->message(0);
    before = std::move(next);
  }
}

}  // namespace
}  // namespace ferry::tcp::test
