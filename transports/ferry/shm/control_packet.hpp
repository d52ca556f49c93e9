// What the two ends of a channel say through their unix socket: a greeting in ferry's handshake block, then control
// packets. Everything here may come from anybody: decoding checks, and never trusts.
//
//   initiator                              owner
//   greeting {ids, nonce}             ->
//                                     <-   greeting {ids, nonce, proof}  or  greeting {refusal}
//   join {proof} + board, channel
//         memory, doorbell            ->
//                                     <-   welcome {channel, place, name} + board, doorbell  or  close
//   map {segment, writable}           ->
//                                     <-   segment {segment, writable, size | code, text} + its descriptor
//                                     <-   retire {segment}: unmap it
//   close {code, text}                <->  the channel ends; the initiator closes the socket
//
// The descriptors can only be received on the same host, and nothing else is shared before both proofs are checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ferry/base/failure.hpp>
#include <ferry/base/result.hpp>
#include <ferry/shm/job_proof.hpp>
#include <ferry/wire/bytes.hpp>
#include <ferry/wire/handshake.hpp>

namespace ferry::shm {

// Of the packets and of everything in shared memory (BoardLayout, ChannelLayout).
inline constexpr wire::VersionRange kVersions{1, 1};

struct Greeting {
  wire::VersionRange versions = kVersions;
  ProcessId initiator{};
  ProcessId owner{};
  Nonce nonce{};
  std::optional<Proof> proof{};  // the owner's
  std::optional<Failure> refusal{};
};

wire::Bytes encode_greeting(const Greeting& greeting);
// A greeting with a refusal has nothing else.
Result<Greeting> decode_greeting(wire::ByteView bytes);

enum class PacketKind : std::uint8_t { join = 1, welcome = 2, map = 3, segment = 4, retire = 5, close = 6 };

// One struct for all kinds; a kind uses the fields that its line above names.
struct ControlPacket {
  PacketKind kind = PacketKind::close;
  Proof proof{};
  std::uint64_t channel = 0;  // its number, at this owner
  std::uint32_t place = 0;    // index of the admission word
  std::string name{};         // of the owner, for people
  std::uint32_t segment = 0;
  bool writable = false;
  std::uint64_t size = 0;        // bytes of the segment; 0: refused
  std::optional<Failure> why{};  // code and text of a refusal or of a close
};

wire::Bytes encode_packet(const ControlPacket& packet);
Result<ControlPacket> decode_packet(wire::ByteView bytes);

}  // namespace ferry::shm
