#include <ferry/shm/control_packet.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <ferry/wire/reader.hpp>
#include <ferry/wire/writer.hpp>

namespace ferry::shm {
namespace {

constexpr std::size_t kLongestText = 2000;  // bytes

enum Field : std::uint16_t { kIds = 1, kNonce = 2, kProof = 3, kRefusal = 4 };

// u16 length, text
void write_text(wire::Writer& writer, std::string_view text) {
  const std::string_view cut = text.substr(0, kLongestText);
  writer.u16(static_cast<std::uint16_t>(cut.size()));
  writer.raw(wire::as_bytes(cut));
}

std::string read_text(wire::Reader& reader) {
  const std::size_t length = reader.u16();
  return std::string(wire::as_text(reader.raw(length)));
}

// u8 code, text
void write_failure(wire::Writer& writer, const Failure& failure) {
  writer.u8(static_cast<std::uint8_t>(failure.code()));
  write_text(writer, failure.detail());
}

// To an argument: a Result<Failure> could not tell one from the other.
Result<void> read_failure(wire::Reader& reader, std::optional<Failure>& failure) {
  const std::uint8_t code = reader.u8();
  std::string text = read_text(reader);
  if (code == 0 || code > kErrcLast) {
    return Failure(errc::malformed, fmt::format("error code {} is unknown", code));
  }
  failure = Failure(static_cast<errc>(code), std::move(text));
  return {};
}

void write_id(wire::Writer& writer, ProcessId id) {
  writer.u64(id.id);
  writer.u64(id.incarnation);
}

ProcessId read_id(wire::Reader& reader) {
  ProcessId id;
  id.id = reader.u64();
  id.incarnation = reader.u64();
  return id;
}

template <class Array>
bool read_array(std::optional<wire::ByteView> from, Array& to) {
  if (!from || from->size() != to.size()) {
    return false;
  }
  std::copy(from->begin(), from->end(), to.begin());
  return true;
}

wire::HandshakeField field(Field type, wire::Bytes value) {
  return {static_cast<std::uint16_t>(type), std::move(value)};
}

}  // namespace

wire::Bytes encode_greeting(const Greeting& greeting) {
  wire::Handshake block{greeting.versions, 0, {}};
  if (greeting.refusal) {
    wire::Bytes bytes;
    wire::Writer writer(bytes);
    write_failure(writer, *greeting.refusal);
    block.fields.push_back(field(kRefusal, std::move(bytes)));
    return wire::encode_handshake(block);
  }
  wire::Bytes ids;
  wire::Writer writer(ids);
  write_id(writer, greeting.initiator);
  write_id(writer, greeting.owner);
  block.fields.push_back(field(kIds, std::move(ids)));
  block.fields.push_back(field(kNonce, wire::Bytes(greeting.nonce.begin(), greeting.nonce.end())));
  if (greeting.proof) {
    block.fields.push_back(field(kProof, wire::Bytes(greeting.proof->begin(), greeting.proof->end())));
  }
  return wire::encode_handshake(block);
}

Result<Greeting> decode_greeting(wire::ByteView bytes) {
  auto block = wire::decode_handshake(bytes);
  if (!block) {
    return block.error();
  }
  Greeting greeting;
  greeting.versions = block->versions;
  if (const auto refusal = block->field(kRefusal)) {
    wire::Reader reader(*refusal);
    if (auto failure = read_failure(reader, greeting.refusal); !failure) {
      return failure.error();
    }
    if (auto complete = reader.finish("refusal"); !complete) {
      return complete.error();
    }
    return greeting;
  }
  wire::Reader ids(block->field(kIds).value_or(wire::ByteView{}));
  greeting.initiator = read_id(ids);
  greeting.owner = read_id(ids);
  if (auto complete = ids.finish("identities in the greeting"); !complete) {
    return complete.error();
  }
  if (!read_array(block->field(kNonce), greeting.nonce)) {
    return Failure(errc::malformed, "the greeting carries no nonce of 32 bytes");
  }
  if (Proof proof{}; read_array(block->field(kProof), proof)) {
    greeting.proof = proof;
  }
  return greeting;
}

wire::Bytes encode_packet(const ControlPacket& packet) {
  wire::Bytes bytes;
  wire::Writer writer(bytes);
  writer.u8(static_cast<std::uint8_t>(packet.kind));
  switch (packet.kind) {
    case PacketKind::join:
      writer.raw(packet.proof);
      break;
    case PacketKind::welcome:
      writer.u64(packet.channel);
      writer.u32(packet.place);
      write_text(writer, packet.name);
      break;
    case PacketKind::map:
      writer.u32(packet.segment);
      writer.u8(packet.writable ? 1 : 0);
      break;
    case PacketKind::segment:
      writer.u32(packet.segment);
      writer.u8(packet.writable ? 1 : 0);
      writer.u64(packet.size);
      if (packet.size == 0) {
        write_failure(writer, packet.why.value_or(Failure(errc::revoked, "the segment is gone")));
      }
      break;
    case PacketKind::retire:
      writer.u32(packet.segment);
      break;
    case PacketKind::close:
      write_failure(writer, packet.why.value_or(Failure(errc::shut_down, "the channel was closed")));
      break;
  }
  return bytes;
}

Result<ControlPacket> decode_packet(wire::ByteView bytes) {
  wire::Reader reader(bytes);
  ControlPacket packet;
  const std::uint8_t kind = reader.u8();
  packet.kind = static_cast<PacketKind>(kind);
  Result<void> rest;
  switch (packet.kind) {
    case PacketKind::join: {
      const wire::ByteView proof = reader.raw(packet.proof.size());
      std::copy(proof.begin(), proof.end(), packet.proof.begin());
      break;
    }
    case PacketKind::welcome:
      packet.channel = reader.u64();
      packet.place = reader.u32();
      packet.name = read_text(reader);
      break;
    case PacketKind::map:
      packet.segment = reader.u32();
      packet.writable = reader.u8() != 0;
      break;
    case PacketKind::segment:
      packet.segment = reader.u32();
      packet.writable = reader.u8() != 0;
      packet.size = reader.u64();
      rest = packet.size == 0 ? read_failure(reader, packet.why) : Result<void>{};
      break;
    case PacketKind::retire:
      packet.segment = reader.u32();
      break;
    case PacketKind::close:
      rest = read_failure(reader, packet.why);
      break;
    default:
      return Failure(errc::malformed, fmt::format("control packet: kind {} is unknown", kind));
  }
  if (!rest) {
    return rest.error();
  }
  if (auto complete = reader.finish("control packet"); !complete) {
    return complete.error();
  }
  return packet;
}

}  // namespace ferry::shm
