#include <ferry/buffer/buffer_ref.hpp>

#include <fmt/format.h>

#include <ferry/base/limits.hpp>
#include <ferry/memory/region_codec.hpp>
#include <ferry/transport/contact_codec.hpp>
#include <ferry/transport/node_core.hpp>
#include <ferry/transport/peer.hpp>
#include <ferry/wire/fingerprint.hpp>

namespace ferry {
namespace {

// A list of no pieces is a list too: it must not look like a single piece.
constexpr Chunk kNoPiece{};
std::span<const Chunk> as_list(std::span<const Chunk> chunks) noexcept {
  return chunks.empty() ? std::span<const Chunk>(&kNoPiece, 0) : chunks;
}

constexpr std::string_view kTextPrefix = "ferry1:";
constexpr std::string_view kHexDigits = "0123456789abcdef";

std::uint32_t checksum(wire::ByteView bytes) {
  return static_cast<std::uint32_t>(wire::fingerprint(wire::as_text(bytes)));
}

int hex_value(char digit) noexcept {
  const std::size_t value = kHexDigits.find(digit);
  return value == std::string_view::npos ? -1 : static_cast<int>(value);
}

[[noreturn]] void refuse_text(std::string why) {
  throw Error(Failure(errc::malformed, "the text is no ferry reference: " + std::move(why)).during("from_text"));
}

}  // namespace

BufferRef BufferRef::subrange(std::uint64_t offset, std::uint64_t length) const {
  if (offset > region_.length || length > region_.length - offset) {
    throw Error(
        Failure(errc::invalid_range, fmt::format("[{}, +{}) does not lie inside the {} bytes that the reference "
                                                 "names",
                                                 offset, length, region_.length))
            .during("subrange")
            .with_range(offset, length, region_.length));
  }
  BufferRef part = *this;
  part.region_.offset += offset;
  part.region_.length = length;
  return part;
}

BufferRef BufferRef::with_rights(Access rights) const noexcept {
  BufferRef narrowed = *this;
  narrowed.region_.rights = region_.rights & rights;
  return narrowed;
}

Transfer BufferRef::read_into(std::span<const Chunk> chunks, const Limits& limits) const {
  Transfer transfer(peer_, OperationKind::read, region_, Chunk{}, limits);
  transfer.request().list = as_list(chunks);
  return transfer;
}

Transfer BufferRef::write_from(std::span<const Chunk> chunks, const WriteOptions& options) const {
  Transfer transfer(peer_, OperationKind::write, region_, Chunk{}, Limits{options.timeout, options.stop});
  transfer.request().list = as_list(chunks);
  set_write(transfer.request(), options);
  return transfer;
}

AtomicTransfer BufferRef::atomic(OperationKind kind, std::uint64_t operand, std::uint64_t expected,
                                 const AtomicOptions& options) const noexcept {
  const Chunk word{options.offset, nullptr, sizeof(std::uint64_t)};
  AtomicTransfer transfer(peer_, kind, region_, word, Limits{options.timeout, options.stop});
  transfer.request().operand = operand;
  transfer.request().expected = expected;
  return transfer;
}

AtomicTransfer BufferRef::fetch_add(std::uint64_t value, const AtomicOptions& options) const {
  return atomic(OperationKind::fetch_add, value, 0, options);
}

AtomicTransfer BufferRef::compare_swap(std::uint64_t expected, std::uint64_t desired,
                                       const AtomicOptions& options) const {
  return atomic(OperationKind::compare_swap, desired, expected, options);
}

AtomicTransfer BufferRef::swap(std::uint64_t value, const AtomicOptions& options) const {
  return atomic(OperationKind::swap, value, 0, options);
}

Transfer BufferRef::flush(const Limits& limits) const {
  return Transfer(peer_, OperationKind::flush, region_, Chunk{}, limits);
}

std::string BufferRef::to_text() const {
  if (peer_ == nullptr) {
    throw Error(Failure(errc::invalid_argument, "an empty reference has no text").during("to_text"));
  }
  wire::Bytes bytes = encode_reference(*this);
  wire::Writer writer(bytes);
  writer.u32(checksum({bytes.data(), bytes.size()}));
  std::string text(kTextPrefix);
  text.reserve(text.size() + bytes.size() * 2);
  for (const std::byte byte : bytes) {
    text += kHexDigits[std::to_integer<std::size_t>(byte >> 4)];
    text += kHexDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return text;
}

BufferRef BufferRef::from_text(NodeCore& node, std::string_view text) {
  if (!text.starts_with(kTextPrefix)) {
    refuse_text(fmt::format("it must begin with \"{}\"", kTextPrefix));
  }
  text.remove_prefix(kTextPrefix.size());
  if (text.size() % 2 != 0 || text.size() < 2 * sizeof(std::uint32_t) ||
      text.size() > 2 * limits::kReferenceBytes + 8) {
    refuse_text(fmt::format("{} hexadecimal digits cannot be a reference; was it cut?", text.size()));
  }
  wire::Bytes bytes;
  for (std::size_t at = 0; at < text.size(); at += 2) {
    const int high = hex_value(text[at]);
    const int low = hex_value(text[at + 1]);
    if (high < 0 || low < 0) {
      refuse_text(fmt::format("\"{}\" at digit {} is not hexadecimal", text.substr(at, 2), at));
    }
    bytes.push_back(static_cast<std::byte>(high * 16 + low));
  }
  const wire::ByteView body(bytes.data(), bytes.size() - sizeof(std::uint32_t));
  wire::Reader tail(wire::ByteView(bytes.data(), bytes.size()).subspan(body.size()));
  if (tail.u32() != checksum(body)) {
    refuse_text("its checksum is wrong; it was altered");
  }
  auto reference = decode_reference(node, body);
  if (!reference) {
    throw Error(reference.error().during("from_text"));
  }
  return *reference;
}

wire::Bytes encode_reference(const BufferRef& reference) {
  wire::Bytes bytes;
  wire::Writer writer(bytes);
  encode_region(writer, reference.region());
  encode_addresses(writer, reference.peer()->contact().addresses, limits::kReferenceBytes - bytes.size());
  return bytes;
}

Result<BufferRef> decode_reference(NodeCore& node, wire::ByteView bytes) {
  if (bytes.size() > limits::kReferenceBytes) {
    return Failure(errc::malformed,
                   fmt::format("a reference has at most {} bytes, not {}", limits::kReferenceBytes, bytes.size()));
  }
  wire::Reader reader(bytes);
  auto region = decode_region(reader);
  if (!region) {
    return region.error();
  }
  const Contact contact{region->owner, decode_addresses(reader)};
  if (auto complete = reader.finish("reference"); !complete) {
    return complete.error();
  }
  return BufferRef(node.peers().find_or_add(contact), *region);
}

void wire::Codec<BufferRef>::encode(Encoder& encoder, const BufferRef& reference) {
  if (!reference) {
    encoder.nil();
    return;
  }
  const Bytes bytes = encode_reference(reference);
  encoder.ext(kExt, {bytes.data(), bytes.size()});
}

Result<BufferRef> wire::Codec<BufferRef>::decode(Decoder& decoder) {
  if (decoder.next_is_nil()) {
    static_cast<void>(decoder.read_nil());
    return BufferRef();
  }
  ByteView bytes;
  if (!decoder.read_ext(kExt, bytes)) {
    return decoder.failure();
  }
  NodeCore* node = static_cast<NodeCore*>(decoder.context());
  node = node == nullptr ? NodeCore::current() : node;
  if (node == nullptr) {
    return Failure(errc::invalid_argument, "a reference can only be decoded by a Node");
  }
  return decode_reference(*node, bytes);
}

}  // namespace ferry
