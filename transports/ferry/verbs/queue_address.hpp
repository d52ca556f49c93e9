// QueueAddress: what the other end of a queue pair must know to connect to it, and its bytes in the queue layer's
// messages. Internal; a dumb value.
//
// Fixed little-endian: u8 version (1), u8 link (0: LID, 1: Ethernet), u8 GID type, u8 MTU code of ibv_mtu, u16 LID,
// u8 gets and atomics it accepts at one time, u8 0, u32 queue pair number, u32 first packet sequence number, 16 bytes
// GID (zeroes: none).
#pragma once

#include <cstdint>

#include <ferry/base/result.hpp>
#include <ferry/verbs/gid_choice.hpp>
#include <ferry/wire/bytes.hpp>

namespace ferry::verbs {

struct QueueAddress {
  static constexpr std::size_t kSize = 32;
  static constexpr std::uint32_t kNumberMask = 0xffffff;  // of queue pairs and packets

  bool is_ethernet = false;
  GidType gid_type = GidType::infiniband;
  std::uint8_t mtu = 0;
  std::uint16_t lid = 0;
  std::uint8_t reads = 0;
  std::uint32_t queue_pair = 0;
  std::uint32_t packet = 0;
  Gid gid{};

  friend bool operator==(const QueueAddress&, const QueueAddress&) = default;
};

wire::Bytes encode(const QueueAddress& address);
Result<QueueAddress> decode_queue_address(wire::ByteView bytes);  // malformed

}  // namespace ferry::verbs
