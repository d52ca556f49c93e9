#include <ferry/verbs/queue_address.hpp>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include <ferry/wire/endian.hpp>

namespace ferry::verbs {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kSmallestMtu = 1;  // 256 bytes
constexpr std::uint8_t kGreatestMtu = 5;  // 4096

}  // namespace

wire::Bytes encode(const QueueAddress& address) {
  wire::Bytes bytes;
  std::byte* const to = wire::extend(bytes, QueueAddress::kSize);
  wire::store_little(to, kVersion);
  wire::store_little(to + 1, static_cast<std::uint8_t>(address.is_ethernet ? 1 : 0));
  wire::store_little(to + 2, static_cast<std::uint8_t>(address.gid_type));
  wire::store_little(to + 3, address.mtu);
  wire::store_little(to + 4, address.lid);
  wire::store_little(to + 6, address.reads);
  wire::store_little(to + 7, std::uint8_t{0});
  wire::store_little(to + 8, address.queue_pair);
  wire::store_little(to + 12, address.packet);
  std::memcpy(to + 16, address.gid.data(), address.gid.size());
  return bytes;
}

Result<QueueAddress> decode_queue_address(wire::ByteView bytes) {
  if (bytes.size() != QueueAddress::kSize) {
    return Failure(errc::malformed, fmt::format("the address of a queue pair has {} bytes, found {}",
                                                QueueAddress::kSize, bytes.size()));
  }
  const std::byte* const from = bytes.data();
  const auto version = wire::load_little<std::uint8_t>(from);
  const auto link = wire::load_little<std::uint8_t>(from + 1);
  const auto type = wire::load_little<std::uint8_t>(from + 2);
  QueueAddress address;
  address.is_ethernet = link == 1;
  address.gid_type = static_cast<GidType>(type);
  address.mtu = wire::load_little<std::uint8_t>(from + 3);
  address.lid = wire::load_little<std::uint16_t>(from + 4);
  address.reads = wire::load_little<std::uint8_t>(from + 6);
  address.queue_pair = wire::load_little<std::uint32_t>(from + 8);
  address.packet = wire::load_little<std::uint32_t>(from + 12);
  std::memcpy(address.gid.data(), from + 16, address.gid.size());
  if (version != kVersion || link > 1 || type > 2 || address.mtu < kSmallestMtu || address.mtu > kGreatestMtu ||
      address.queue_pair > QueueAddress::kNumberMask || address.packet > QueueAddress::kNumberMask) {
    return Failure(errc::malformed,
                   fmt::format("the address of a queue pair: version {}, link {}, GID type {}, MTU {}, number {:#x}, "
                               "packet {:#x} make no sense",
                               version, link, type, address.mtu, address.queue_pair, address.packet));
  }
  return address;
}

}  // namespace ferry::verbs
