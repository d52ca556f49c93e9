// Endpoint: a host and a TCP port as people write them; SocketAddress: the same as the system calls want it.
//
// Text forms: "127.0.0.1:4567", "[::1]:4567", "[fe80::1%eth0]:4567", "node7:4567". An IPv6 address with a port needs
// the brackets; without them it is refused as ambiguous. Dumb values; any thread. Only resolve() may ask a name server
// and so block: it is for points that a user gives, never for addresses that peers tell.
#pragma once

#include <sys/socket.h>

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ferry/base/result.hpp>

namespace ferry::tcp {

struct Endpoint {
  std::string host;  // numeric address, an IPv6 zone behind '%', or a name; never with brackets
  std::uint16_t port = 0;

  friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
};

// "[::1]:4567"; parses back to the same value.
std::string to_string(const Endpoint& endpoint);

// malformed, with what was expected and the remedy.
Result<Endpoint> endpoint_from_string(std::string_view text);

// A host alone: "127.0.0.1", "::1", "[::1]", "fe80::1%eth0", "localhost". malformed for anything else.
Result<std::string> host_from_string(std::string_view text);

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
  int family() const noexcept { return storage.ss_family; }
  bool is_wildcard() const noexcept;  // 0.0.0.0 or ::
};

Endpoint endpoint_of(const SocketAddress& address);

// Of a numeric host; never blocks. invalid_argument for a name, and for a link-local address without a zone.
Result<SocketAddress> socket_address(const Endpoint& endpoint);

// All addresses of a host, in the order in which they should be tried; asks the resolver for a name. peer_unreachable
// with the resolver's text.
Result<std::vector<SocketAddress>> resolve(const Endpoint& endpoint);

// Numeric addresses by which other hosts reach this one at `port`, loopback only where there is nothing else.
// family: AF_INET or AF_INET6, or AF_UNSPEC for both.
std::vector<Endpoint> reachable_endpoints(int family, std::uint16_t port);

}  // namespace ferry::tcp
