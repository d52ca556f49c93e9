#include <ferry/queue/control_protocol.hpp>

#include <ferry/queue/queue_limits.hpp>
#include <ferry/transport/contact_codec.hpp>

namespace ferry::queue {
namespace {

wire::Bytes begin(Control kind) {
  wire::Bytes bytes;
  bytes.push_back(static_cast<std::byte>(kind));
  return bytes;
}

void put_text(wire::Writer& writer, std::string_view text, std::size_t limit) {
  const std::string_view cut = text.substr(0, limit);
  writer.u16(static_cast<std::uint16_t>(cut.size()));
  writer.raw(wire::as_bytes(cut));
}

void put_bytes(wire::Writer& writer, const wire::Bytes& bytes) {
  writer.u32(static_cast<std::uint32_t>(bytes.size()));
  writer.raw({bytes.data(), bytes.size()});
}

// Code 0: none.
void put_failure(wire::Writer& writer, const Failure& failure) {
  writer.u8(failure ? static_cast<std::uint8_t>(failure.code()) : 0);
  if (failure) {
    writer.u8(static_cast<std::uint8_t>(failure.effect()));
    writer.u64(failure.offset());
    writer.u64(failure.length());
    writer.u64(failure.size());
    put_text(writer, failure.detail(), kTextBytes);
  }
}

wire::Bytes encode_lane(Control kind, std::uint32_t lane) {
  wire::Bytes bytes = begin(kind);
  wire::Writer(bytes).u32(lane);
  return bytes;
}

}  // namespace

wire::Bytes encode(const Hello& hello) {
  wire::Bytes bytes = begin(Control::hello);
  wire::Writer writer(bytes);
  writer.u32(kControlVersion);
  writer.u8(static_cast<std::uint8_t>(hello.order));
  writer.u8(hello.has_flush ? 1 : 0);
  writer.u64(hello.channel);
  put_text(writer, hello.name, kNameBytes);
  encode_contact(writer, hello.contact);
  return bytes;
}

wire::Bytes encode(const Welcome& welcome) {
  wire::Bytes bytes = begin(Control::welcome);
  wire::Writer writer(bytes);
  writer.u32(kControlVersion);
  writer.u8(static_cast<std::uint8_t>(welcome.order));
  writer.u8(welcome.has_flush ? 1 : 0);
  writer.u64(welcome.session);
  put_text(writer, welcome.name, kNameBytes);
  return bytes;
}

wire::Bytes encode(const OpenLane& open) {
  wire::Bytes bytes = begin(Control::open_lane);
  wire::Writer writer(bytes);
  writer.u32(open.lane);
  put_bytes(writer, open.address);
  return bytes;
}

wire::Bytes encode(const LaneReady& ready) {
  wire::Bytes bytes = begin(Control::lane_ready);
  wire::Writer writer(bytes);
  writer.u32(ready.lane);
  writer.u32(ready.receives);
  writer.u32(ready.word.key);
  writer.u64(ready.word.address);
  put_bytes(writer, ready.address);
  return bytes;
}

void encode_handle(wire::Writer& writer, RegionHandle region) {
  writer.u32(region.slot.value());
  writer.u64(region.generation.value());
}

wire::Bytes encode(const Check& check) {
  wire::Bytes bytes = begin(Control::check);
  wire::Writer writer(bytes);
  writer.u64(check.id);
  encode_handle(writer, check.region);
  writer.u8(static_cast<std::uint8_t>(check.access));
  writer.u64(check.offset);
  writer.u64(check.length);
  return bytes;
}

void encode_atomic(wire::Writer& writer, const AtomicRequest& atomic) {
  writer.u64(atomic.id);
  writer.u64(atomic.sequence);
  encode_handle(writer, atomic.region);
  writer.u8(static_cast<std::uint8_t>(atomic.kind));
  writer.u64(atomic.offset);
  writer.u64(atomic.operand);
  writer.u64(atomic.expected);
  writer.u64(atomic.number);
  writer.u64(atomic.acknowledged);
}

wire::Bytes encode(const AtomicRequest& atomic) {
  wire::Bytes bytes = begin(Control::atomic);
  wire::Writer writer(bytes);
  encode_atomic(writer, atomic);
  return bytes;
}

wire::Bytes encode(const Marked& marked) {
  wire::Bytes bytes = begin(Control::marked);
  wire::Writer writer(bytes);
  writer.u32(marked.lane);
  writer.u64(marked.received);
  writer.u32(marked.mark);
  return bytes;
}

wire::Bytes encode(const Executed& executed) {
  wire::Bytes bytes = begin(Control::executed);
  wire::Writer writer(bytes);
  writer.u32(executed.lane);
  writer.u64(executed.received);
  writer.u64(executed.id);
  writer.u64(executed.value);
  put_failure(writer, executed.failure);
  put_bytes(writer, executed.data);
  return bytes;
}

wire::Bytes encode_message(wire::ByteView message) {
  wire::Bytes bytes;
  bytes.reserve(message.size() + 1);
  bytes.push_back(static_cast<std::byte>(Control::message));
  bytes.append(message);
  return bytes;
}

wire::Bytes encode_goodbye() {
  return begin(Control::goodbye);
}

wire::Bytes encode_discard(std::uint32_t lane) {
  return encode_lane(Control::discard, lane);
}

wire::Bytes encode(const Discarded& discarded) {
  wire::Bytes bytes = encode_lane(Control::discarded, discarded.lane);
  wire::Writer writer(bytes);
  writer.u8(static_cast<std::uint8_t>((discarded.has_refused ? 1 : 0) | (discarded.progress ? 2 : 0)));
  writer.u32(discarded.progress.value_or(0));
  return bytes;
}

wire::Bytes encode_forget(std::uint64_t sequence) {
  wire::Bytes bytes = begin(Control::forget_sequence);
  wire::Writer(bytes).u64(sequence);
  return bytes;
}

wire::Bytes encode_lane_refused(std::uint32_t lane, const Failure& why) {
  wire::Bytes bytes = encode_lane(Control::lane_refused, lane);
  wire::Writer writer(bytes);
  put_failure(writer, why);
  return bytes;
}

wire::Bytes encode_checked(std::uint64_t id, const Failure& verdict) {
  wire::Bytes bytes = begin(Control::checked);
  wire::Writer writer(bytes);
  writer.u64(id);
  put_failure(writer, verdict);
  return bytes;
}

}  // namespace ferry::queue
