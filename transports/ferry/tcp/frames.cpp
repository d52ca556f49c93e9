#include <ferry/tcp/frames.hpp>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include <ferry/wire/endian.hpp>
#include <ferry/wire/reader.hpp>

namespace ferry::tcp {
namespace {

template <class T>
std::byte* put(std::byte* to, T value) noexcept {
  wire::store_little(to, value);
  return to + sizeof value;
}

}  // namespace

std::byte* put_header(std::byte* to, Kind kind, std::uint8_t flags, std::size_t length, std::uint64_t id) noexcept {
  const wire::FrameHeaderBytes bytes =
      wire::encode_frame_header({static_cast<std::uint32_t>(length), static_cast<std::uint8_t>(kind), flags, id});
  std::memcpy(to, bytes.data(), bytes.size());
  return to + bytes.size();
}

std::byte* put_access(std::byte* to, const AccessRequest& request) noexcept {
  to = put(to, request.region.generation.value());
  to = put(to, request.sequence);
  to = put(to, request.tag);
  to = put(to, request.region.slot.value());
  return put(to, request.ranges);
}

std::byte* put_range(std::byte* to, const Range& range) noexcept {
  return put(put(to, range.offset), range.length);
}

std::byte* put_atomic(std::byte* to, const AtomicRequest& request) noexcept {
  to = put(to, request.region.generation.value());
  to = put(to, request.sequence);
  to = put(to, request.region.slot.value());
  to = put(to, static_cast<std::uint32_t>(request.kind));
  to = put(to, request.offset);
  to = put(to, request.operand);
  to = put(to, request.expected);
  to = put(to, request.number);
  return put(to, request.acknowledged);
}

std::byte* put_word(std::byte* to, std::uint64_t word) noexcept {
  return put(to, word);
}

std::byte* put_padding(std::byte* to, std::size_t count) noexcept {
  const std::size_t missing = padded(count) - count;
  std::memset(to, 0, missing);
  return to + missing;
}

Result<wire::FrameHeader> get_header(wire::ByteView bytes) {
  wire::Reader reader(bytes.first(wire::kFrameHeaderSize));
  return wire::decode_frame_header(reader, static_cast<std::uint32_t>(kPayloadBytes));
}

AccessRequest get_access(wire::ByteView bytes) noexcept {
  AccessRequest request;
  wire::Reader reader(bytes);
  request.region.generation = Generation(reader.u64());
  request.sequence = reader.u64();
  request.tag = reader.u64();
  request.region.slot = RegionSlot(reader.u32());
  request.ranges = reader.u32();
  return request;
}

Range get_range(const std::byte* from) noexcept {
  return {wire::load_little<std::uint64_t>(from), wire::load_little<std::uint64_t>(from + 8)};
}

Result<AtomicRequest> get_atomic(wire::ByteView bytes) {
  AtomicRequest request;
  wire::Reader reader(bytes);
  request.region.generation = Generation(reader.u64());
  request.sequence = reader.u64();
  request.region.slot = RegionSlot(reader.u32());
  const std::uint32_t kind = reader.u32();
  request.offset = reader.u64();
  request.operand = reader.u64();
  request.expected = reader.u64();
  request.number = reader.u64();
  request.acknowledged = reader.u64();
  if (auto complete = reader.finish("atomic request"); !complete) {
    return complete.error();
  }
  if (kind > static_cast<std::uint32_t>(AtomicKind::swap) || request.number == 0 ||
      request.acknowledged >= request.number) {
    return Failure(errc::malformed, fmt::format("atomic request: kind {}, number {}, acknowledged {}", kind,
                                                request.number, request.acknowledged));
  }
  request.kind = static_cast<AtomicKind>(kind);
  return request;
}

std::size_t failure_size(const Failure& failure) noexcept {
  return 32 + std::min(failure.detail().size(), kTextBytes);
}

std::byte* put_failure(std::byte* to, const Failure& failure) noexcept {
  const std::size_t length = std::min(failure.detail().size(), kTextBytes);
  to = put(to, static_cast<std::uint8_t>(failure.code()));
  to = put(to, static_cast<std::uint8_t>(failure.effect()));
  to = put(to, std::uint16_t{0});
  to = put(to, static_cast<std::uint32_t>(length));
  to = put(to, failure.offset());
  to = put(to, failure.length());
  to = put(to, failure.size());
  std::memcpy(to, failure.detail().data(), length);
  return to + length;
}

Result<void> get_failure(wire::ByteView bytes, Failure& failure) {
  wire::Reader reader(bytes);
  const std::uint8_t code = reader.u8();
  const std::uint8_t effect = reader.u8();
  reader.raw(2);
  const std::size_t text_length = reader.u32();
  const std::uint64_t offset = reader.u64();
  const std::uint64_t length = reader.u64();
  const std::uint64_t size = reader.u64();
  const wire::ByteView text = reader.raw(text_length);
  if (auto complete = reader.finish("refusal"); !complete) {
    return complete.error();
  }
  if (code == 0 || code > kErrcLast || effect > static_cast<std::uint8_t>(Effect::unknown)) {
    return Failure(errc::malformed, fmt::format("refusal: error {} with effect {} is unknown", code, effect));
  }
  failure = Failure(static_cast<errc>(code), std::string(wire::as_text(text)));
  if (length != 0 || size != 0) {
    failure = failure.with_range(offset, length, size);
  }
  if (effect != 0) {
    failure = failure.with_effect(Effect::unknown);
  }
  return {};
}

}  // namespace ferry::tcp
