#include <ferry/actor/message.hpp>

#include <fmt/format.h>

#include <ferry/base/limits.hpp>
#include <ferry/wire/endian.hpp>
#include <ferry/wire/reader.hpp>
#include <ferry/wire/writer.hpp>

namespace ferry {

Result<MessageKind> message_kind(wire::ByteView message) {
  const auto kind = message.empty() ? 0U : std::to_integer<unsigned>(message.front());
  if (kind < static_cast<unsigned>(MessageKind::call) || kind > static_cast<unsigned>(MessageKind::credit)) {
    return Failure(errc::malformed, fmt::format("message kind {} is unknown", kind));
  }
  return static_cast<MessageKind>(kind);
}

void store_request(std::byte* at, const RequestHeader& header) noexcept {
  at[0] = static_cast<std::byte>(header.kind);
  at[1] = std::byte{0};
  wire::store_little(at + 2, header.endpoint);
  wire::store_little(at + 4, header.fingerprint);
  wire::store_little(at + 8, header.call.value());
  wire::store_little(at + 16, header.actor.value());
  wire::store_little(at + 24, header.time_left);
}

Result<RequestHeader> load_request(wire::ByteView message) {
  wire::Reader reader(message);
  RequestHeader header;
  header.kind = static_cast<MessageKind>(reader.u8());
  const std::uint8_t zero = reader.u8();
  header.endpoint = reader.u16();
  header.fingerprint = reader.u32();
  header.call = CallId(reader.u64());
  header.actor = ActorId(reader.u64());
  header.time_left = reader.u64();
  if (auto complete = reader.check("request header"); !complete) {
    return complete.error();
  }
  if (zero != 0 || (header.kind == MessageKind::call) != static_cast<bool>(header.call)) {
    return Failure(errc::malformed, "request header: its fields contradict each other");
  }
  return header;
}

wire::Bytes make_cancel(const CancelHeader& header) {
  wire::Bytes bytes;
  wire::Writer writer(bytes);
  writer.u64(static_cast<std::uint64_t>(MessageKind::cancel));
  writer.u64(header.call.value());
  writer.u64(header.actor.value());
  return bytes;
}

Result<CancelHeader> load_cancel(wire::ByteView message) {
  wire::Reader reader(message);
  static_cast<void>(reader.u64());
  CancelHeader header;
  header.call = CallId(reader.u64());
  header.actor = ActorId(reader.u64());
  if (auto complete = reader.finish("cancel message"); !complete) {
    return complete.error();
  }
  return header;
}

wire::Bytes make_reply(const ReplyHeader& header) {
  wire::Bytes bytes;
  wire::Writer writer(bytes);
  writer.u8(static_cast<std::uint8_t>(MessageKind::reply));
  writer.u8(header.code);
  writer.u8(static_cast<std::uint8_t>(header.effect));
  writer.u8(0);
  writer.u32(0);
  writer.u64(header.call.value());
  return bytes;
}

wire::Bytes make_failure_reply(CallId call, const Failure& failure) {
  wire::Bytes bytes = make_reply({static_cast<std::uint8_t>(failure.code()), failure.effect(), call});
  const std::string_view text = failure.detail();
  wire::Writer(bytes).raw(wire::as_bytes(text.substr(0, limits::kExceptionText)));
  return bytes;
}

Result<ReplyHeader> load_reply(wire::ByteView message) {
  wire::Reader reader(message);
  static_cast<void>(reader.u8());
  ReplyHeader header;
  header.code = reader.u8();
  const std::uint8_t effect = reader.u8();
  static_cast<void>(reader.raw(5));
  header.call = CallId(reader.u64());
  if (auto complete = reader.check("reply header"); !complete) {
    return complete.error();
  }
  if (header.code > kErrcLast || effect > 1) {
    return Failure(errc::malformed, fmt::format("reply header: code {} or effect {} is unknown", header.code, effect));
  }
  header.effect = static_cast<Effect>(effect);
  return header;
}

wire::Bytes make_credit(const CreditHeader& header) {
  wire::Bytes bytes;
  wire::Writer writer(bytes);
  writer.u32(static_cast<std::uint32_t>(MessageKind::credit));
  writer.u32(header.messages);
  writer.u64(header.actor.value());
  writer.u64(header.bytes);
  return bytes;
}

Result<CreditHeader> load_credit(wire::ByteView message) {
  wire::Reader reader(message);
  static_cast<void>(reader.u32());
  CreditHeader header;
  header.messages = reader.u32();
  header.actor = ActorId(reader.u64());
  header.bytes = reader.u64();
  if (auto complete = reader.finish("credit message"); !complete) {
    return complete.error();
  }
  return header;
}

}  // namespace ferry
