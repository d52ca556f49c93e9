#include <dirent.h>
#include <gmock/gmock.h>

#include <thread>

#include "raw_client.hpp"
#include "tcp_node.hpp"

namespace ferry::tcp::test {
namespace {

using testing::HasSubstr;

std::size_t open_descriptors() {
  std::size_t count = 0;
  DIR* directory = ::opendir("/proc/self/fd");
  while (::readdir(directory) != nullptr) {
    ++count;
  }
  ::closedir(directory);
  return count;
}

class TcpLifecycle : public testing::Test {
 protected:
  void SetUp() override { loop.start(); }

  static TcpOptions at(const TestNode& node) {
    const Endpoint endpoint = endpoint_from_string(node.core.contact().addresses.front().text).value();
    return {endpoint.host, endpoint.port};
  }

  TestLoop loop;
};

TEST_F(TcpLifecycle, ListensOnLoopbackOnlyUnlessAsked) {
  TestNode node(loop);
  ASSERT_TRUE(node.listening);
  ASSERT_EQ(node.tcp->addresses().size(), 1u);
  EXPECT_THAT(node.tcp->addresses().front().text, testing::StartsWith("127.0.0.1:"));
}

TEST_F(TcpLifecycle, WildcardTellsAddressesThatOthersCanUse) {
  for (const char* host : {"0.0.0.0", "::"}) {
    TestNode node(loop, {.id = 2, .options = {.host = host}});
    ASSERT_TRUE(node.listening) << node.listening.error().to_text();
    ASSERT_FALSE(node.tcp->addresses().empty());
    std::vector<std::byte> memory(8);
    const RemoteRegion region = node.reference(node.add(memory));
    TestNode other(loop, {.id = 3});
    std::vector<std::byte> local(8);
    EXPECT_TRUE(read(other.peer(node), region, local)->succeeds());
    for (const Address& address : node.tcp->addresses()) {
      EXPECT_FALSE(socket_address(endpoint_from_string(address.text).value()).value().is_wildcard()) << address.text;
    }
  }
}

TEST_F(TcpLifecycle, NamesAndAddressesWithoutBracketsAreHostsToListenOn) {
  for (const char* host : {"localhost", "::1", "[::1]", "127.0.0.2"}) {
    TestNode node(loop, {.options = {.host = host}});
    EXPECT_TRUE(node.listening) << host << ": " << node.listening.error().to_text();
  }
  TestNode missing(loop, {.options = {.host = "fe80::1"}});
  ASSERT_FALSE(missing.listening);
  EXPECT_THAT(missing.listening.error().to_text(), HasSubstr("zone"));
}

TEST_F(TcpLifecycle, PortInUseIsNamedWithTheRemedyAndTheFirstIsUndisturbed) {
  TestNode first(loop, {.id = 1});
  TestNode second(loop, {.id = 2, .options = at(first)});
  ASSERT_FALSE(second.listening);
  EXPECT_EQ(second.listening.error().code(), errc::address_in_use);
  EXPECT_THAT(second.listening.error().to_text(), HasSubstr(first.tcp->addresses().front().text));
  EXPECT_THAT(second.listening.error().to_text(), HasSubstr("in use"));
  EXPECT_THAT(second.listening.error().to_text(), HasSubstr("choose another one, or port 0"));
  EXPECT_TRUE(second.tcp->addresses().empty());
  std::vector<std::byte> memory(8);
  std::vector<std::byte> local(8);
  const RemoteRegion region = first.reference(first.add(memory));
  EXPECT_TRUE(read(second.peer(first), region, local)->succeeds());
}

TEST_F(TcpLifecycle, RestartOnTheSamePortIsAnotherLifeAndOldReferencesAreStale) {
  std::vector<std::byte> memory(64, std::byte{1});
  std::vector<std::byte> local(64);
  TestNode initiator(loop, {.id = 1});
  auto owner = std::make_unique<TestNode>(loop, NodeSettings{.id = 2, .incarnation = 100});
  const TcpOptions place = at(*owner);
  RemoteRegion old = owner->reference(owner->add(memory));
  EXPECT_TRUE(read(initiator.peer(*owner), old, local)->succeeds());
  for (std::uint64_t life = 101; life < 111; ++life) {
    Peer& before = *initiator.core.peers().find(old.owner);
    owner.reset();
    owner = std::make_unique<TestNode>(loop, NodeSettings{.id = 2, .incarnation = life, .options = place});
    ASSERT_TRUE(owner->listening) << owner->listening.error().to_text();
    const RemoteRegion now = owner->reference(owner->add(memory));
    const auto stale = read(before, old, local);
    ASSERT_TRUE(stale->outcome());
    EXPECT_THAT(stale->failure.code(), testing::AnyOf(errc::peer_lost, errc::stale_incarnation));
    ASSERT_TRUE(read(initiator.peer(*owner), now, local)->succeeds());
    old = now;
  }
}

TEST_F(TcpLifecycle, AnotherLifeAtTheAddressIsToldWithoutHavingMetTheFirst) {
  TestNode initiator(loop, {.id = 1});
  TestNode owner(loop, {.id = 2, .incarnation = 100});
  std::vector<std::byte> memory(64, std::byte{1});
  std::vector<std::byte> local(64);
  RemoteRegion region = owner.reference(owner.add(memory));
  region.owner.incarnation = 99;
  Peer& peer = initiator.core.peers().find_or_add(Contact{region.owner, owner.core.contact().addresses});
  const auto call = read(peer, region, local);
  EXPECT_TRUE(call->fails_with(errc::stale_incarnation));
  ASSERT_TRUE(eventually([&] { return initiator.sink.count(&RecordingSink::states) == 1; }));
  EXPECT_EQ(initiator.sink.get(&RecordingSink::states).back(), PeerState::other_incarnation);
  EXPECT_EQ(local, std::vector<std::byte>(64));
  EXPECT_TRUE(owner.log.lines().empty()) << owner.log.lines().front();
}

TEST_F(TcpLifecycle, AnotherProcessAtTheAddressIsNotTakenForTheOneThatWasWanted) {
  TestNode initiator(loop, {.id = 1});
  TestNode owner(loop, {.id = 2});
  TestNode other(loop, {.id = 3});
  std::vector<std::byte> memory(64);
  const RemoteRegion region = owner.reference(owner.add(memory));
  // The first address leads to another process, the second to the right one.
  Peer& peer = initiator.core.peers().find_or_add(
      Contact{owner.core.self(), {other.tcp->addresses().front(), owner.tcp->addresses().front()}});
  std::vector<std::byte> local(64);
  EXPECT_TRUE(read(peer, region, local)->succeeds());
}

TEST_F(TcpLifecycle, AddressesThatCannotBeUsedAreNamedEach) {
  TestNode initiator(loop, {.id = 1});
  RemoteRegion region;
  region.owner = {9, 9};
  region.rights = Access::all;
  Peer& peer = initiator.core.peers().find_or_add(Contact{region.owner,
                                                          {{TransportId::tcp, "127.0.0.1:1"},
                                                           {TransportId::tcp, "nonsense"},
                                                           {TransportId::tcp, "[fe80::1]:77"},
                                                           {TransportId::tcp, "localhost:77"}}});
  std::vector<std::byte> local(8);
  const auto call = read(peer, region, local);
  EXPECT_TRUE(call->fails_with(errc::peer_unreachable));
  for (const char* part : {"127.0.0.1:1: no process listens there", "nonsense", "zone", "localhost:77 is a name"}) {
    EXPECT_THAT(call->failure.to_text(), HasSubstr(part));
  }
  Peer& nowhere = initiator.core.peers().find_or_add(Contact{{10, 10}, {}});
  region.owner = {10, 10};
  const auto none = read(nowhere, region, local);
  EXPECT_TRUE(none->fails_with(errc::peer_unreachable));
  EXPECT_THAT(none->failure.to_text(), HasSubstr("no tcp address of it is known"));
}

TEST_F(TcpLifecycle, ShutDownOfTheOwnerIsKnownAtOnceAndEndsWhatWasUnderWay) {
  TestNode initiator(loop, {.id = 1});
  auto owner = std::make_unique<TestNode>(loop, NodeSettings{.id = 2});
  std::vector<std::byte> memory(64 << 20);
  std::vector<std::byte> local(64 << 20);
  const RemoteRegion region = owner->reference(owner->add(memory));
  Peer& peer = initiator.peer(*owner);
  ASSERT_TRUE(read(peer, region, std::span(local).first(8))->succeeds());
  auto call = read(peer, region, local);
  owner.reset();
  EXPECT_TRUE(call->fails_with(errc::peer_lost));
  EXPECT_TRUE(eventually([&] { return bool(peer.fate()); }));
  EXPECT_TRUE(eventually([&] {
    const auto states = initiator.sink.get(&RecordingSink::states);
    return !states.empty() && states.back() == PeerState::gone;
  }));
}

TEST_F(TcpLifecycle, ShutDownOfTheInitiatorEndsItsOperationsAndItsChannel) {
  TestNode owner(loop, {.id = 2});
  auto initiator = std::make_unique<TestNode>(loop, NodeSettings{.id = 1});
  std::vector<std::byte> memory(64 << 20);
  std::vector<std::byte> local(64 << 20);
  const RemoteRegion region = owner.reference(owner.add(memory));
  Peer& peer = initiator->peer(owner);
  ASSERT_TRUE(read(peer, region, std::span(local).first(8))->succeeds());
  auto reading = read(peer, region, local);
  auto writing = write(peer, region, std::span<const std::byte>(local));
  initiator->core.shut_down();
  EXPECT_EQ(reading->completions(), 1);
  EXPECT_EQ(writing->completions(), 1);
  EXPECT_TRUE(reading->fails_with(errc::shut_down));
  EXPECT_EQ(writing->failure.effect(), Effect::unknown);
  EXPECT_TRUE(eventually([&] { return owner.tcp->inbounds() == 0; }));
  EXPECT_TRUE(read(peer, region, std::span(local).first(8))->fails_with(errc::shut_down));
}

TEST_F(TcpLifecycle, ManyInitiatorsThatComeAndGoLeaveNothingBehind) {
  TestNode owner(loop, {.id = 2});
  std::vector<std::byte> memory(4096);
  std::vector<std::byte> local(4096);
  const RemoteRegion region = owner.reference(owner.add(memory));
  {
    TestNode warm(loop, {.id = 3});
    ASSERT_TRUE(read(warm.peer(owner), region, local)->succeeds());
  }
  ASSERT_TRUE(eventually([&] { return owner.tcp->inbounds() == 0; }));
  const std::size_t before = open_descriptors();
  for (std::uint64_t round = 0; round < 300; ++round) {
    TestNode initiator(loop, {.id = 1000 + round});
    ASSERT_TRUE(read(initiator.peer(owner), region, local)->succeeds());
  }
  ASSERT_TRUE(eventually([&] { return owner.tcp->inbounds() == 0 && owner.tcp->strangers() == 0; }));
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(loop.source_count(), 1u) << "the listener";
}

TEST_F(TcpLifecycle, ManyThatAreCutOffAtOnceLeaveTheOwnerAsItWas) {
  TestNode owner(loop, {.id = 2});
  std::vector<std::byte> memory(1 << 20);
  const RemoteRegion region = owner.reference(owner.add(memory));
  for (int round = 0; round < 5; ++round) {
    std::vector<std::unique_ptr<TestNode>> initiators;
    std::vector<std::vector<std::byte>> locals(20, std::vector<std::byte>(1 << 20));
    std::vector<std::unique_ptr<Call>> calls;
    for (std::uint64_t index = 0; index < 20; ++index) {
      initiators.push_back(
          std::make_unique<TestNode>(loop, NodeSettings{.id = 1000 + index, .incarnation = 1u + round}));
      Peer& peer = initiators.back()->peer(owner);
      calls.push_back(read(peer, region, locals[index]));
      calls.push_back(write(peer, region, std::span<const std::byte>(locals[index]).first(5000)));
      static_cast<void>(peer.send(message("e")));
    }
    std::vector<std::thread> threads;
    for (auto& initiator : initiators) {
      threads.emplace_back([&initiator] { initiator->core.shut_down(); });
    }
    for (auto& thread : threads) {
      thread.join();
    }
    for (const auto& call : calls) {
      EXPECT_EQ(call->completions(), 1);
    }
    initiators.clear();
    ASSERT_TRUE(eventually([&] { return owner.tcp->inbounds() == 0; }));
  }
}

TEST_F(TcpLifecycle, ConnectionSurvivesThatNobodyIsThereYet) {
  TestNode initiator(loop, {.id = 1});
  std::vector<std::byte> memory(8);
  std::vector<std::byte> local(8);
  TcpOptions place;
  {
    TestNode probe(loop, {.id = 5});
    place = at(probe);
  }
  RemoteRegion region;
  region.owner = {2, 0x1111222233334444};
  Peer& peer = initiator.core.peers().find_or_add(
      Contact{region.owner, {Address{TransportId::tcp, to_string(Endpoint{place.host, place.port})}}});
  EXPECT_TRUE(read(peer, region, local)->fails_with(errc::peer_unreachable));
  TestNode owner(loop, {.id = 2, .options = place});
  ASSERT_TRUE(owner.listening);
  EXPECT_TRUE(read(peer, owner.reference(owner.add(memory)), local)->succeeds());
}

}  // namespace
}  // namespace ferry::tcp::test
