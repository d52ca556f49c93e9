#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <ferry/tcp/endpoint.hpp>

namespace ferry::tcp {
namespace {

using testing::HasSubstr;

TEST(TcpEndpoint, TextFormsParseAndPrintTheSame) {
  for (const char* text : {"127.0.0.1:4567", "0.0.0.0:0", "[::1]:4567", "[::]:65535", "[fe80::1%eth0]:4567",
                           "[fe80::1%3]:1", "localhost:80", "node-7.cluster_a.example:1234", "[2001:db8::7:8]:9"}) {
    const auto endpoint = endpoint_from_string(text);
    ASSERT_TRUE(endpoint) << endpoint.error().to_text();
    EXPECT_EQ(to_string(*endpoint), text);
    EXPECT_EQ(endpoint_from_string(to_string(*endpoint)).value(), *endpoint);
  }
  EXPECT_EQ(endpoint_from_string("[fe80::1%eth0]:4567").value(), (Endpoint{"fe80::1%eth0", 4567}));
}

TEST(TcpEndpoint, IPv6AddressWithAPortButWithoutBracketsIsAmbiguousAndTheRemedyIsTold) {
  const auto endpoint = endpoint_from_string("::1:8080");
  ASSERT_FALSE(endpoint);
  EXPECT_EQ(endpoint.error().code(), errc::malformed);
  EXPECT_THAT(endpoint.error().detail(), HasSubstr("ambiguous"));
  EXPECT_THAT(endpoint.error().detail(), HasSubstr("[::1]:8080"));
  EXPECT_THAT(endpoint_from_string("::1").error().detail(), HasSubstr("ambiguous"));
  EXPECT_THAT(endpoint_from_string("fe80::1%eth0:7").error().detail(), HasSubstr("[fe80::1%eth0]:7"));
}

TEST(TcpEndpoint, IPv6HostMayStandWithoutBracketsBesideASeparatePort) {
  EXPECT_EQ(host_from_string("::1").value(), "::1");
  EXPECT_EQ(host_from_string("[::1]").value(), "::1");
  EXPECT_EQ(host_from_string("fe80::1%eth0").value(), "fe80::1%eth0");
  EXPECT_EQ(to_string(Endpoint{host_from_string("::1").value(), 8080}), "[::1]:8080");
  EXPECT_EQ(socket_address({"::1", 8080}).value().family(), AF_INET6);
}

TEST(TcpEndpoint, WhatIsNoEndpointIsRefusedWithWhatWasExpected) {
  for (const char* text : {"",
                           ":",
                           ":1",
                           "127.0.0.1",
                           "127.0.0.1:",
                           "127.0.0.1:x",
                           "127.0.0.1:65536",
                           "127.0.0.1:-1",
                           "127.0.0.1:+1",
                           "127.0.0.1: 1",
                           "127.0.0.1:1 ",
                           "[::1]",
                           "[::1]:",
                           "[::1:7",
                           "::1]:7",
                           "[127.0.0.1]:7",
                           "[::1]x:7",
                           "[]:7",
                           "[fe80::1%]:7",
                           "[::g]:7",
                           "a b:7",
                           "a/b:7",
                           "host:1:2",
                           "[[::1]]:7",
                           "127.0.0.1:00000000000000000000001x"}) {
    const auto endpoint = endpoint_from_string(text);
    ASSERT_FALSE(endpoint) << text;
    EXPECT_EQ(endpoint.error().code(), errc::malformed) << text;
    EXPECT_THAT(endpoint.error().detail(), HasSubstr("is no address")) << text;
  }
  std::string long_name(300, 'a');
  long_name.append(":1");
  EXPECT_FALSE(endpoint_from_string(long_name));
  EXPECT_LT(endpoint_from_string(std::string(100'000, 'a')).error().detail().size(), 400u);
  for (const char* text : {"", "[::1", "::1]", "a:b", "[a]"}) {
    EXPECT_FALSE(host_from_string(text)) << text;
  }
}

TEST(TcpEndpoint, LinkLocalAddressNeedsAZone) {
  const auto missing = socket_address({"fe80::1", 4567});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), errc::invalid_argument);
  EXPECT_THAT(missing.error().detail(), HasSubstr("[fe80::1%eth0]:4567"));
  const auto unknown = socket_address({"fe80::1%nosuch9", 4567});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().detail(), HasSubstr("no such network interface"));
  const auto loopback = socket_address({"fe80::1%lo", 4567});
  ASSERT_TRUE(loopback);
  EXPECT_NE(reinterpret_cast<const sockaddr_in6&>(loopback->storage).sin6_scope_id, 0u);
  EXPECT_EQ(endpoint_of(*loopback), (Endpoint{"fe80::1%lo", 4567}));
}

TEST(TcpEndpoint, SocketAddressesPrintAsTheEndpointTheyCameFrom) {
  for (const Endpoint& endpoint : {Endpoint{"127.0.0.1", 1}, Endpoint{"::1", 65535}, Endpoint{"2001:db8::1", 7}}) {
    EXPECT_EQ(endpoint_of(socket_address(endpoint).value()), endpoint);
  }
  EXPECT_EQ(endpoint_of(socket_address({"::ffff:10.0.0.1", 5}).value()), (Endpoint{"10.0.0.1", 5}));
  EXPECT_TRUE(socket_address({"0.0.0.0", 0}).value().is_wildcard());
  EXPECT_TRUE(socket_address({"::", 0}).value().is_wildcard());
  EXPECT_FALSE(socket_address({"127.0.0.1", 0}).value().is_wildcard());
}

TEST(TcpEndpoint, NamesAreResolvedOnlyByResolve) {
  EXPECT_EQ(socket_address({"localhost", 7}).error().code(), errc::invalid_argument);
  const auto found = resolve({"localhost", 7});
  ASSERT_TRUE(found) << found.error().to_text();
  ASSERT_FALSE(found->empty());
  EXPECT_EQ(endpoint_of(found->front()).port, 7);
  const auto none = resolve({"no-such-name.invalid", 7});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().detail(), HasSubstr("no-such-name.invalid:7"));
}

TEST(TcpEndpoint, ReachableEndpointsNeverNameTheWildcard) {
  for (const Endpoint& endpoint : reachable_endpoints(AF_UNSPEC, 77)) {
    EXPECT_EQ(endpoint.port, 77);
    EXPECT_FALSE(socket_address(endpoint).value().is_wildcard());
  }
}

}  // namespace
}  // namespace ferry::tcp
