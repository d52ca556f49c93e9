// Which entry of a port's GID table queue pairs are addressed by: pure rules over a table, without a device.
//
// On Ethernet every packet carries GIDs. RoCE v2 goes before v1, as it is routed and is what switches are set up for;
// an address that can be routed before a link-local one; IPv4 before IPv6. On InfiniBand LIDs do within a subnet.
// Free functions and values; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include <ferry/base/result.hpp>

namespace ferry::verbs {

using Gid = std::array<std::uint8_t, 16>;

enum class GidType : std::uint8_t { infiniband = 0, roce_v1 = 1, roce_v2 = 2 };

struct GidEntry {
  std::uint32_t index = 0;
  GidType type = GidType::infiniband;
  Gid gid{};
};

enum class GidScope : std::uint8_t { none, loopback, link_local, ipv6, ipv4 };  // none: all zero
GidScope scope_of(const Gid& gid) noexcept;

// "10.73.0.1", "fe80::1".
std::string to_string(const Gid& gid);
std::string_view to_string(GidType type) noexcept;

// Of an Ethernet port. wanted: an index, or -1 to choose. invalid_argument where there is no such entry, or no entry at
// all, with what is there and the remedy.
Result<GidEntry> choose_gid(std::span<const GidEntry> table, int wanted);

}  // namespace ferry::verbs
