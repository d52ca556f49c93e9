#include <ferry/tcp/endpoint.hpp>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>

#include <fmt/format.h>

namespace ferry::tcp {
namespace {

constexpr std::size_t kHostLimit = 253;  // of a DNS name, RFC 1035

Failure refuse(std::string_view text, std::string why) {
  constexpr std::size_t kShown = 128;
  return Failure(errc::malformed, fmt::format("\"{}\" is no address: {}", text.substr(0, kShown), why));
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value > 65535) {
    return std::nullopt;
  }
  return static_cast<std::uint16_t>(value);
}

struct Address6 {
  in6_addr address{};
  std::string zone;
};

std::optional<Address6> parse_address6(std::string_view text) {
  const std::size_t percent = text.find('%');
  Address6 parsed;
  const std::string address(text.substr(0, percent));
  if (percent != std::string_view::npos) {
    parsed.zone = text.substr(percent + 1);
    if (parsed.zone.empty() || parsed.zone.size() >= IF_NAMESIZE) {
      return std::nullopt;
    }
  }
  if (::inet_pton(AF_INET6, address.c_str(), &parsed.address) != 1) {
    return std::nullopt;
  }
  return parsed;
}

std::optional<in_addr> parse_address4(const std::string& text) {
  in_addr address{};
  return ::inet_pton(AF_INET, text.c_str(), &address) == 1 ? std::optional(address) : std::nullopt;
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kHostLimit && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_';
  });
}

std::uint32_t zone_index(const std::string& zone) {
  if (const unsigned index = ::if_nametoindex(zone.c_str()); index != 0) {
    return index;
  }
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(zone.data(), zone.data() + zone.size(), number);
  return error == std::errc() && end == zone.data() + zone.size() ? number : 0;
}

SocketAddress make_address(const sockaddr* from, socklen_t length) {
  SocketAddress address;
  std::memcpy(&address.storage, from, length);
  address.length = length;
  return address;
}

Result<SocketAddress> socket_address6(const Endpoint& endpoint, const Address6& parsed) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = parsed.address;
  address.sin6_port = htons(endpoint.port);
  if (!parsed.zone.empty()) {
    address.sin6_scope_id = zone_index(parsed.zone);
    if (address.sin6_scope_id == 0) {
      return Failure(errc::invalid_argument, fmt::format("{} names the zone {}, but this host has no such network "
                                                         "interface (`ip link` lists them)",
                                                         to_string(endpoint), parsed.zone));
    }
  } else if (IN6_IS_ADDR_LINKLOCAL(&parsed.address)) {
    return Failure(errc::invalid_argument,
                   fmt::format("{} is a link-local address, which means nothing without the network interface: write "
                               "it with a zone, as in [{}%eth0]:{}",
                               to_string(endpoint), endpoint.host, endpoint.port));
  }
  return make_address(reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

}  // namespace

std::string to_string(const Endpoint& endpoint) {
  const bool is_ipv6 = endpoint.host.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("[{}]:{}", endpoint.host, endpoint.port)
                 : fmt::format("{}:{}", endpoint.host, endpoint.port);
}

Result<std::string> host_from_string(std::string_view text) {
  if (text.starts_with('[')) {
    const std::string_view inside = text.substr(1, text.size() - 2);
    if (!text.ends_with(']') || !parse_address6(inside)) {
      return refuse(text, "brackets hold an IPv6 address, as in [::1]");
    }
    return std::string(inside);
  }
  if (text.find(':') != std::string_view::npos) {
    if (!parse_address6(text)) {
      return refuse(text, "an IPv6 address was expected, as in ::1 or fe80::1%eth0");
    }
  } else if (!is_name(text)) {
    return refuse(text, "a host was expected: an IPv4 or IPv6 address or a name");
  }
  return std::string(text);
}

Result<Endpoint> endpoint_from_string(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const bool in_brackets = text.starts_with('[');
  if (colon == std::string_view::npos || (in_brackets && text.ends_with(']'))) {
    return refuse(text, "the port is missing; write it behind a colon, as in 127.0.0.1:4567 or [::1]:4567");
  }
  const std::string_view host_text = text.substr(0, colon);
  const std::string_view port_text = text.substr(colon + 1);
  if (!in_brackets && host_text.find(':') != std::string_view::npos) {
    return refuse(text, parse_address6(host_text)
                            ? fmt::format("where the IPv6 address ends and the port begins is ambiguous; write [{}]:{} "
                                          "if {} is the port",
                                          host_text, port_text, port_text)
                            : "where the IPv6 address ends and the port begins is ambiguous; write [ADDRESS]:PORT");
  }
  const auto port = parse_port(port_text);
  if (!port) {
    return refuse(text, fmt::format("the port must be a number from 0 to 65535, not \"{}\"", port_text.substr(0, 32)));
  }
  auto host = host_from_string(host_text);
  if (!host) {
    return host.error();
  }
  return Endpoint{std::move(*host), *port};
}

bool SocketAddress::is_wildcard() const noexcept {
  if (family() == AF_INET) {
    return reinterpret_cast<const sockaddr_in&>(storage).sin_addr.s_addr == htonl(INADDR_ANY);
  }
  return family() == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr);
}

Endpoint endpoint_of(const SocketAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.family() == AF_INET) {
    const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(address.storage);
    ::inet_ntop(AF_INET, &ipv4.sin_addr, text.data(), text.size());
    return {text.data(), ntohs(ipv4.sin_port)};
  }
  if (address.family() != AF_INET6) {
    return {"unknown", 0};
  }
  const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(address.storage);
  if (IN6_IS_ADDR_V4MAPPED(&ipv6.sin6_addr)) {  // an IPv4 peer of a socket that listens on both
    ::inet_ntop(AF_INET, &ipv6.sin6_addr.s6_addr[12], text.data(), text.size());
    return {text.data(), ntohs(ipv6.sin6_port)};
  }
  ::inet_ntop(AF_INET6, &ipv6.sin6_addr, text.data(), text.size());
  std::string host(text.data());
  if (ipv6.sin6_scope_id != 0) {
    std::array<char, IF_NAMESIZE> name{};
    host += '%';
    host += ::if_indextoname(ipv6.sin6_scope_id, name.data()) != nullptr ? std::string(name.data())
                                                                         : std::to_string(ipv6.sin6_scope_id);
  }
  return {std::move(host), ntohs(ipv6.sin6_port)};
}

Result<SocketAddress> socket_address(const Endpoint& endpoint) {
  if (const auto ipv4 = parse_address4(endpoint.host)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr = *ipv4;
    address.sin_port = htons(endpoint.port);
    return make_address(reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }
  if (const auto ipv6 = parse_address6(endpoint.host)) {
    return socket_address6(endpoint, *ipv6);
  }
  return Failure(errc::invalid_argument,
                 fmt::format("{} is a name; it must be resolved where the user gives it", to_string(endpoint)));
}

Result<std::vector<SocketAddress>> resolve(const Endpoint& endpoint) {
  if (parse_address4(endpoint.host) || parse_address6(endpoint.host)) {
    auto address = socket_address(endpoint);
    if (!address) {
      return address.error();
    }
    return std::vector<SocketAddress>{*address};
  }
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found);
  if (error != 0) {
    return Failure(errc::peer_unreachable,
                   fmt::format("the name of {} cannot be resolved: {}", to_string(endpoint), ::gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  std::vector<SocketAddress> addresses;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    if (at->ai_family == AF_INET || at->ai_family == AF_INET6) {
      addresses.push_back(make_address(at->ai_addr, at->ai_addrlen));
    }
  }
  return addresses;
}

std::vector<Endpoint> reachable_endpoints(int family, std::uint16_t port) {
  ifaddrs* found = nullptr;
  std::vector<Endpoint> outside;
  std::vector<Endpoint> loopback;
  if (::getifaddrs(&found) == 0) {
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(found, &::freeifaddrs);
    for (const ifaddrs* at = found; at != nullptr; at = at->ifa_next) {
      const bool is_ipv4 = at->ifa_addr != nullptr && at->ifa_addr->sa_family == AF_INET;
      const bool is_ipv6 = at->ifa_addr != nullptr && at->ifa_addr->sa_family == AF_INET6;
      if ((at->ifa_flags & IFF_UP) == 0 || !(is_ipv4 || is_ipv6) ||
          (family != AF_UNSPEC && family != at->ifa_addr->sa_family)) {
        continue;
      }
      // A zone is a name of this host's own, so others can do nothing with a link-local address.
      if (is_ipv6 && IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(at->ifa_addr)->sin6_addr)) {
        continue;
      }
      Endpoint endpoint = endpoint_of(make_address(at->ifa_addr, is_ipv4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6)));
      endpoint.port = port;
      ((at->ifa_flags & IFF_LOOPBACK) != 0 ? loopback : outside).push_back(std::move(endpoint));
    }
  }
  return outside.empty() ? loopback : outside;
}

}  // namespace ferry::tcp
