// The messages between actor runtimes: fixed little-endian headers, then a body. See README.md in this folder.
//
//   call, send   u8 kind, u8 0, u16 endpoint, u32 fingerprint, u64 call (0: send), u64 actor, u64 time left (ns, 0: no
//                deadline); body: the arguments, one MessagePack value each                                32 bytes
//   cancel       u8 kind, 7 zero, u64 call, u64 actor                                                   24 bytes
//   reply        u8 kind, u8 errc (0: success), u8 effect, 5 zero, u64 call; body: the value, or the text  16 bytes
//   credit       u8 kind, 3 zero, u32 messages, u64 actor, u64 bytes                                       24 bytes
//
// call, send and cancel go from the initiator to the owner, reply and credit the other way.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ferry/actor/actor.hpp>
#include <ferry/base/result.hpp>
#include <ferry/wire/bytes.hpp>

namespace ferry {

using CallId = StrongId<struct CallIdTag>;

enum class MessageKind : std::uint8_t { call = 1, send = 2, cancel = 3, reply = 4, credit = 5 };

struct RequestHeader {
  static constexpr std::size_t kSize = 32;
  MessageKind kind = MessageKind::call;
  std::uint16_t endpoint = 0;
  std::uint32_t fingerprint = 0;
  CallId call{};
  ActorId actor{};
  std::uint64_t time_left = 0;  // nanoseconds
};

struct ReplyHeader {
  static constexpr std::size_t kSize = 16;
  std::uint8_t code = 0;  // an errc, or 0
  Effect effect = Effect::none;
  CallId call{};
};

struct CreditHeader {
  static constexpr std::size_t kSize = 24;
  std::uint32_t messages = 0;
  ActorId actor{};
  std::uint64_t bytes = 0;
};

// The kind of a received message; malformed if it has none.
Result<MessageKind> message_kind(wire::ByteView message);

// Writes over the first kSize bytes, which are there.
void store_request(std::byte* at, const RequestHeader& header) noexcept;
Result<RequestHeader> load_request(wire::ByteView message);

struct CancelHeader {
  CallId call{};
  ActorId actor{};
};

wire::Bytes make_cancel(const CancelHeader& header);
Result<CancelHeader> load_cancel(wire::ByteView message);

// A reply without its body, to be appended.
wire::Bytes make_reply(const ReplyHeader& header);
// A reply that carries a failure: its text is the body.
wire::Bytes make_failure_reply(CallId call, const Failure& failure);
Result<ReplyHeader> load_reply(wire::ByteView message);

wire::Bytes make_credit(const CreditHeader& header);
Result<CreditHeader> load_credit(wire::ByteView message);

}  // namespace ferry
