// Operations over every family of addresses, link-local ones with their zone included. The program moves into a network
// namespace of its own before it begins, where the loopback interface can be given a link-local address.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "tcp_node.hpp"

namespace ferry::tcp::test {
namespace {

using testing::StartsWith;

// As <linux/ipv6.h> has it, which cannot stand beside <netinet/in.h>.
struct InterfaceAddress {
  in6_addr address;
  std::uint32_t prefix_length;
  int interface;
};

std::string failed(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

// The kernel checks in the background whether an address is free before it can be bound. Empty: it can.
std::string wait_for(const InterfaceAddress& link_local) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = link_local.address;
  address.sin6_scope_id = static_cast<std::uint32_t>(link_local.interface);
  const int socket = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool bound =
      eventually([&] { return ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0; });
  ::close(socket);
  return bound ? "" : failed("binding fe80::1%lo");
}

// Why there is no namespace of our own with fe80::1 on its loopback interface; empty: there is.
std::string enter_network_namespace() {
  if (::unshare(CLONE_NEWNET) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
    return failed("making a network namespace");
  }
  const int any = ::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (any < 0) {
    return failed("IPv6 sockets");
  }
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  std::string why;
  if (::ioctl(any, SIOCGIFFLAGS, &request) != 0) {
    why = failed("reading the flags of lo");
  }
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  if (why.empty() && ::ioctl(any, SIOCSIFFLAGS, &request) != 0) {
    why = failed("bringing up lo");
  }
  InterfaceAddress link_local{{}, 64, static_cast<int>(::if_nametoindex("lo"))};
  ::inet_pton(AF_INET6, "fe80::1", &link_local.address);
  if (why.empty() && ::ioctl(any, SIOCSIFADDR, &link_local) != 0) {
    why = failed("giving lo the address fe80::1");
  }
  ::close(any);
  return why.empty() ? wait_for(link_local) : why;
}

std::string why_no_namespace;

class TcpFamilies : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!why_no_namespace.empty()) {
      GTEST_SKIP() << why_no_namespace;
    }
    loop.start();
  }
  TestLoop loop;
};

INSTANTIATE_TEST_SUITE_P(On, TcpFamilies,
                         testing::Values("127.0.0.1", "::1", "fe80::1%lo", "fe80::1%1", "localhost", "0.0.0.0", "::"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           for (char& letter : name) {
                             letter = std::isalnum(static_cast<unsigned char>(letter)) != 0 ? letter : '_';
                           }
                           return name;
                         });

TEST_P(TcpFamilies, ReadsWritesAddsAndSendsBothWays) {
  TestNode one(loop, {.id = 1, .options = {.host = GetParam()}});
  TestNode two(loop, {.id = 2, .options = {.host = GetParam()}});
  for (auto [owner, initiator] : {std::pair(&one, &two), std::pair(&two, &one)}) {
    ASSERT_TRUE(owner->listening) << owner->listening.error().to_text();
    std::vector<std::byte> memory = pattern(std::size_t{3} << 20, 5);
    const RegionHandle handle = owner->add(memory);
    const RemoteRegion region = owner->reference(handle);
    Peer& peer = initiator->peer(*owner);
    std::vector<std::byte> local(memory.size());
    ASSERT_TRUE(read(peer, region, local)->succeeds());
    EXPECT_EQ(local, memory);
    ASSERT_TRUE(write(peer, region, pattern(memory.size(), 6))->succeeds());
    EXPECT_EQ(memory, pattern(memory.size(), 6));
    ASSERT_TRUE(atomic(peer, region, OperationKind::fetch_add, 1)->succeeds());
    const std::string text = "echo";
    wire::Bytes message(text.size());
    std::memcpy(message.data(), text.data(), text.size());
    EXPECT_FALSE(peer.send(std::move(message)));
    EXPECT_TRUE(eventually([&] { return initiator->sink.count(&RecordingSink::replies) == 1; }));
  }
}

TEST(TcpLinkLocal, AddressIsToldWithTheNameOfItsZone) {
  if (!why_no_namespace.empty()) {
    GTEST_SKIP() << why_no_namespace;
  }
  TestLoop loop;
  loop.start();
  TestNode node(loop, {.id = 1, .options = {.host = "fe80::1%1"}});
  ASSERT_TRUE(node.listening) << node.listening.error().to_text();
  ASSERT_EQ(node.tcp->addresses().size(), 1U);
  EXPECT_THAT(node.tcp->addresses()[0].text, StartsWith("[fe80::1%lo]:"));
}

}  // namespace
}  // namespace ferry::tcp::test

int main(int argc, char** argv) {
  ferry::tcp::test::why_no_namespace = ferry::tcp::test::enter_network_namespace();
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
