// Address: where a process can be reached over one transport, as text that people can read and type.
//
// A dumb value. Text form "tcp:127.0.0.1:4567", "tcp:[fe80::1%eth0]:4567", "shm:3f2a9c01", "sim:7"; the part behind the
// first colon is the transport's own to interpret. At most kMaxText bytes.
#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <ferry/base/result.hpp>
#include <ferry/memory/region.hpp>

namespace ferry {

// "local", "shm", "verbs", "tcp", "sim"; "none".
std::string_view to_string(TransportId transport) noexcept;
// none for any other text.
TransportId transport_from_string(std::string_view name) noexcept;

struct Address {
  static constexpr std::size_t kMaxText = 128;

  TransportId transport = TransportId::none;
  std::string text;  // without the transport's name

  friend auto operator<=>(const Address&, const Address&) = default;
};

std::string to_string(const Address& address);
// malformed, with what was expected.
Result<Address> address_from_string(std::string_view text);

// A process and where to reach it; what a reference carries.
struct Contact {
  ProcessId id{};
  std::vector<Address> addresses;
};

}  // namespace ferry
