#include <ferry/verbs/gid_choice.hpp>

#include <arpa/inet.h>

#include <algorithm>

#include <fmt/format.h>

namespace ferry::verbs {
namespace {

bool is_mapped_ipv4(const Gid& gid) noexcept {
  return std::all_of(gid.begin(), gid.begin() + 10, [](std::uint8_t byte) { return byte == 0; }) && gid[10] == 0xff &&
         gid[11] == 0xff;
}

// Greater is better; 0: of no use.
int rank(const GidEntry& entry) noexcept {
  const GidScope scope = scope_of(entry.gid);
  return scope == GidScope::none ? 0 : static_cast<int>(scope) + 8 * (entry.type == GidType::roce_v2 ? 1 : 0);
}

std::string list(std::span<const GidEntry> table) {
  std::string text;
  for (const GidEntry& entry : table) {
    text +=
        fmt::format("{}{}: {} {}", text.empty() ? "" : ", ", entry.index, to_string(entry.type), to_string(entry.gid));
  }
  return text.empty() ? "none" : text;
}

}  // namespace

GidScope scope_of(const Gid& gid) noexcept {
  if (std::all_of(gid.begin(), gid.end(), [](std::uint8_t byte) { return byte == 0; })) {
    return GidScope::none;
  }
  if (is_mapped_ipv4(gid)) {
    return gid[12] == 127                     ? GidScope::loopback
           : gid[12] == 169 && gid[13] == 254 ? GidScope::link_local
                                              : GidScope::ipv4;
  }
  if (gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80) {
    return GidScope::link_local;
  }
  const bool is_loopback = std::all_of(gid.begin(), gid.end() - 1, [](std::uint8_t byte) { return byte == 0; });
  return is_loopback && gid[15] == 1 ? GidScope::loopback : GidScope::ipv6;
}

std::string to_string(const Gid& gid) {
  char text[INET6_ADDRSTRLEN] = {};
  const bool is_ipv4 = is_mapped_ipv4(gid);
  ::inet_ntop(is_ipv4 ? AF_INET : AF_INET6, gid.data() + (is_ipv4 ? 12 : 0), text, sizeof text);
  return text;
}

std::string_view to_string(GidType type) noexcept {
  switch (type) {
    case GidType::infiniband:
      return "InfiniBand";
    case GidType::roce_v1:
      return "RoCE v1";
    case GidType::roce_v2:
      return "RoCE v2";
  }
  return "unknown";
}

Result<GidEntry> choose_gid(std::span<const GidEntry> table, int wanted) {
  if (wanted >= 0) {
    const auto found = std::find_if(table.begin(), table.end(), [wanted](const GidEntry& entry) {
      return entry.index == static_cast<std::uint32_t>(wanted);
    });
    if (found == table.end() || rank(*found) == 0) {
      return Failure(errc::invalid_argument,
                     fmt::format("gid_index {} names no entry; there are {}", wanted, list(table)));
    }
    return *found;
  }
  const auto best = std::max_element(table.begin(), table.end(),
                                     [](const GidEntry& a, const GidEntry& b) { return rank(a) < rank(b); });
  if (best == table.end() || rank(*best) == 0) {
    return Failure(errc::invalid_argument,
                   "its GID table is empty: give the network interface an address (ip address add …) and bring it up");
  }
  return *best;
}

}  // namespace ferry::verbs
