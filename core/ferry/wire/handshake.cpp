#include <ferry/wire/handshake.hpp>

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include <ferry/base/check.hpp>
#include <ferry/wire/reader.hpp>
#include <ferry/wire/writer.hpp>

namespace ferry::wire {
namespace {

constexpr std::string_view kWhat = "handshake";

struct HandshakeHead {
  VersionRange versions;
  std::uint64_t features;
  std::uint32_t fields_size;
};

// A stranger's first bytes, fit for a log line.
std::string printable(ByteView bytes) {
  std::string text;
  for (const char c : as_text(bytes)) {
    text += c >= ' ' && c <= '~' ? c : '.';
  }
  return text;
}

Result<HandshakeHead> read_head(Reader& reader) {
  const ByteView magic = reader.raw(kHandshakeMagic.size());
  if (reader.ok() && as_text(magic) != kHandshakeMagic) {
    return Failure(errc::malformed,
                   fmt::format("handshake: the peer does not speak ferry: \"{}\" expected, found \"{}\"",
                               kHandshakeMagic, printable(magic)));
  }
  HandshakeHead head{};
  head.versions.lowest = reader.u16();
  head.versions.highest = reader.u16();
  head.features = reader.u64();
  head.fields_size = reader.u32();
  if (auto complete = reader.check(kWhat); !complete) {
    return complete.error();
  }
  if (head.versions.lowest == 0 || head.versions.lowest > head.versions.highest) {
    return Failure(errc::malformed, fmt::format("handshake: a range of versions from 1 expected, found {} to {}",
                                                head.versions.lowest, head.versions.highest));
  }
  if (head.fields_size > kHandshakeFieldsLimit) {
    return Failure(errc::malformed, fmt::format("handshake: at most {} bytes of fields expected, found {}",
                                                kHandshakeFieldsLimit, head.fields_size));
  }
  return head;
}

std::string to_text(VersionRange range) {
  return range.lowest == range.highest ? fmt::format("version {}", range.lowest)
                                       : fmt::format("versions {} to {}", range.lowest, range.highest);
}

}  // namespace

std::optional<ByteView> Handshake::field(std::uint16_t type) const noexcept {
  const auto found =
      std::find_if(fields.begin(), fields.end(), [type](const auto& field) { return field.type == type; });
  return found == fields.end() ? std::nullopt : std::optional<ByteView>(found->value);
}

Bytes encode_handshake(const Handshake& handshake) {
  std::size_t fields_size = 0;
  for (const HandshakeField& field : handshake.fields) {
    FERRY_CHECK(field.value.size() <= 0xffff);
    fields_size += 4 + field.value.size();
  }
  FERRY_CHECK(fields_size <= kHandshakeFieldsLimit);

  Bytes bytes;
  Writer writer(bytes);
  writer.raw(as_bytes(kHandshakeMagic));
  writer.u16(handshake.versions.lowest);
  writer.u16(handshake.versions.highest);
  writer.u64(handshake.features);
  writer.u32(static_cast<std::uint32_t>(fields_size));
  for (const HandshakeField& field : handshake.fields) {
    writer.u16(field.type);
    writer.u16(static_cast<std::uint16_t>(field.value.size()));
    writer.raw(field.value);
  }
  return bytes;
}

Result<std::uint32_t> handshake_fields_size(ByteView head) {
  Reader reader(head);
  const Result<HandshakeHead> decoded = read_head(reader);
  if (!decoded) {
    return decoded.error();
  }
  return decoded->fields_size;
}

Result<Handshake> decode_handshake(ByteView block) {
  Reader reader(block);
  const Result<HandshakeHead> head = read_head(reader);
  if (!head) {
    return head.error();
  }
  Handshake handshake{head->versions, head->features, {}};
  Reader fields(reader.raw(head->fields_size));
  while (reader.ok() && fields.ok() && fields.remaining() > 0) {
    const std::uint16_t type = fields.u16();
    const ByteView value = fields.raw(fields.u16());
    if (handshake.field(type)) {
      return Failure(errc::malformed, fmt::format("handshake: field {} once expected, found twice", type));
    }
    handshake.fields.push_back({type, Bytes(value)});
  }
  if (auto complete = reader.finish(kWhat); !complete) {
    return complete.error();
  }
  if (auto complete = fields.finish("handshake fields"); !complete) {
    return complete.error();
  }
  return handshake;
}

Result<std::uint16_t> negotiate(VersionRange ours, VersionRange theirs) {
  const std::uint16_t version = std::min(ours.highest, theirs.highest);
  if (version < std::max(ours.lowest, theirs.lowest)) {
    const bool we_are_older = ours.highest < theirs.lowest;
    return Failure(
        errc::version_mismatch,
        fmt::format("this process speaks {} of ferry's protocol, the peer {}: build {} with a newer ferry, or "
                    "both with the same",
                    to_text(ours), to_text(theirs), we_are_older ? "this program" : "the peer's program"));
  }
  return version;
}

}  // namespace ferry::wire
