#include <ferry/queue/control_protocol.hpp>

#include <algorithm>

#include <fmt/format.h>

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

std::string get_text(wire::Reader& reader) {
  const std::size_t length = reader.u16();
  return std::string(wire::as_text(reader.raw(length)));
}

void put_bytes(wire::Writer& writer, const wire::Bytes& bytes) {
  writer.u32(static_cast<std::uint32_t>(bytes.size()));
  writer.raw({bytes.data(), bytes.size()});
}

wire::Bytes get_bytes(wire::Reader& reader) {
  const std::size_t length = reader.u32();
  return wire::Bytes(reader.raw(length));
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

Result<void> get_failure(wire::Reader& reader, Failure& failure) {
  const std::uint8_t code = reader.u8();
  if (code == 0) {
    return {};
  }
  const std::uint8_t effect = reader.u8();
  const std::uint64_t offset = reader.u64();
  const std::uint64_t length = reader.u64();
  const std::uint64_t size = reader.u64();
  std::string text = get_text(reader);
  if (auto complete = reader.check("refusal"); !complete) {
    return complete;
  }
  if (code > kErrcLast || effect > static_cast<std::uint8_t>(Effect::unknown)) {
    return Failure(errc::malformed, fmt::format("refusal: error {} with effect {} is unknown", code, effect));
  }
  failure = Failure(static_cast<errc>(code), std::move(text)).with_effect(static_cast<Effect>(effect));
  if (length != 0 || size != 0) {
    failure = failure.with_range(offset, length, size);
  }
  return {};
}

Result<OrderClass> get_order(wire::Reader& reader) {
  const std::uint8_t order = reader.u8();
  if (order > static_cast<std::uint8_t>(OrderClass::srd)) {
    return Failure(errc::malformed, fmt::format("order class {} is unknown", order));
  }
  return static_cast<OrderClass>(order);
}

Result<void> check_version(wire::Reader& reader) {
  const std::uint32_t version = reader.u32();
  if (reader.ok() && version != kControlVersion) {
    return Failure(errc::version_mismatch,
                   fmt::format("this process speaks version {} of the queue protocol, the other one {}",
                               kControlVersion, version));
  }
  return {};
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
  writer.u64(hello.channel);
  put_text(writer, hello.name, kNameBytes);
  encode_contact(writer, hello.contact);
  return bytes;
}

Result<Hello> decode_hello(wire::ByteView body) {
  wire::Reader reader(body);
  if (auto version = check_version(reader); !version) {
    return version.error();
  }
  const auto order = get_order(reader);
  if (!order) {
    return order.error();
  }
  Hello hello;
  hello.order = *order;
  hello.channel = reader.u64();
  hello.name = get_text(reader);
  auto contact = decode_contact(reader);
  if (!contact) {
    return contact.error();
  }
  hello.contact = std::move(*contact);
  if (auto complete = reader.finish("hello"); !complete) {
    return complete.error();
  }
  return hello;
}

wire::Bytes encode(const Welcome& welcome) {
  wire::Bytes bytes = begin(Control::welcome);
  wire::Writer writer(bytes);
  writer.u32(kControlVersion);
  writer.u8(static_cast<std::uint8_t>(welcome.order));
  writer.u64(welcome.session);
  put_text(writer, welcome.name, kNameBytes);
  return bytes;
}

Result<Welcome> decode_welcome(wire::ByteView body) {
  wire::Reader reader(body);
  if (auto version = check_version(reader); !version) {
    return version.error();
  }
  const auto order = get_order(reader);
  if (!order) {
    return order.error();
  }
  Welcome welcome;
  welcome.order = *order;
  welcome.session = reader.u64();
  welcome.name = get_text(reader);
  if (auto complete = reader.finish("welcome"); !complete) {
    return complete.error();
  }
  if (welcome.session == 0) {
    return Failure(errc::malformed, "welcome: the session must not be 0");
  }
  return welcome;
}

wire::Bytes encode(const OpenLane& open) {
  wire::Bytes bytes = begin(Control::open_lane);
  wire::Writer writer(bytes);
  writer.u32(open.lane);
  put_bytes(writer, open.address);
  return bytes;
}

Result<OpenLane> decode_open_lane(wire::ByteView body) {
  wire::Reader reader(body);
  OpenLane open;
  open.lane = reader.u32();
  open.address = get_bytes(reader);
  if (auto complete = reader.finish("open lane"); !complete) {
    return complete.error();
  }
  if (open.lane == 0 || open.address.size() > kAddressBytes) {
    return Failure(errc::malformed, fmt::format("lane {} with an address of {} bytes", open.lane, open.address.size()));
  }
  return open;
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

Result<LaneReady> decode_lane_ready(wire::ByteView body) {
  wire::Reader reader(body);
  LaneReady ready;
  ready.lane = reader.u32();
  ready.receives = reader.u32();
  ready.word.key = reader.u32();
  ready.word.address = reader.u64();
  ready.address = get_bytes(reader);
  if (auto complete = reader.finish("lane"); !complete) {
    return complete.error();
  }
  if (ready.receives == 0 || ready.address.size() > kAddressBytes) {
    return Failure(errc::malformed, fmt::format("lane with {} receives and an address of {} bytes", ready.receives,
                                                ready.address.size()));
  }
  return ready;
}

void encode_handle(wire::Writer& writer, RegionHandle region) {
  writer.u32(region.slot.value());
  writer.u64(region.generation.value());
}

RegionHandle read_handle(wire::Reader& reader) {
  RegionHandle region;
  region.slot = RegionSlot(reader.u32());
  region.generation = Generation(reader.u64());
  return region;
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

Result<Check> decode_check(wire::ByteView body) {
  wire::Reader reader(body);
  Check check;
  check.id = reader.u64();
  check.region = read_handle(reader);
  const std::uint8_t access = reader.u8();
  check.offset = reader.u64();
  check.length = reader.u64();
  if (auto complete = reader.finish("check"); !complete) {
    return complete.error();
  }
  if (access > static_cast<std::uint8_t>(Access::all)) {
    return Failure(errc::malformed, fmt::format("check: rights {:#x} are unknown", access));
  }
  check.access = static_cast<Access>(access);
  return check;
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

Result<AtomicRequest> read_atomic(wire::Reader& reader) {
  AtomicRequest atomic;
  atomic.id = reader.u64();
  atomic.sequence = reader.u64();
  atomic.region = read_handle(reader);
  const std::uint8_t kind = reader.u8();
  atomic.offset = reader.u64();
  atomic.operand = reader.u64();
  atomic.expected = reader.u64();
  atomic.number = reader.u64();
  atomic.acknowledged = reader.u64();
  if (auto complete = reader.finish("atomic request"); !complete) {
    return complete.error();
  }
  if (kind > static_cast<std::uint8_t>(AtomicKind::swap) || atomic.acknowledged >= atomic.number) {
    return Failure(errc::malformed, fmt::format("atomic request: kind {}, number {}, acknowledged {}", kind,
                                                atomic.number, atomic.acknowledged));
  }
  atomic.kind = static_cast<AtomicKind>(kind);
  return atomic;
}

wire::Bytes encode(const AtomicRequest& atomic) {
  wire::Bytes bytes = begin(Control::atomic);
  wire::Writer writer(bytes);
  encode_atomic(writer, atomic);
  return bytes;
}

Result<AtomicRequest> decode_atomic(wire::ByteView body) {
  wire::Reader reader(body);
  return read_atomic(reader);
}

wire::Bytes encode(const Marked& marked) {
  wire::Bytes bytes = begin(Control::marked);
  wire::Writer writer(bytes);
  writer.u32(marked.lane);
  writer.u64(marked.received);
  writer.u32(marked.mark);
  return bytes;
}

Result<Marked> decode_marked(wire::ByteView body) {
  wire::Reader reader(body);
  Marked marked;
  marked.lane = reader.u32();
  marked.received = reader.u64();
  marked.mark = reader.u32();
  if (auto complete = reader.finish("mark"); !complete) {
    return complete.error();
  }
  return marked;
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

Result<Executed> decode_executed(wire::ByteView body) {
  wire::Reader reader(body);
  Executed executed;
  executed.lane = reader.u32();
  executed.received = reader.u64();
  executed.id = reader.u64();
  executed.value = reader.u64();
  if (auto failure = get_failure(reader, executed.failure); !failure) {
    return failure.error();
  }
  executed.data = get_bytes(reader);
  if (auto complete = reader.finish("answer"); !complete) {
    return complete.error();
  }
  return executed;
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

wire::Bytes encode_discarded(std::uint32_t lane) {
  return encode_lane(Control::discarded, lane);
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

Result<std::uint32_t> decode_lane(wire::ByteView body) {
  wire::Reader reader(body);
  const std::uint32_t lane = reader.u32();
  if (auto complete = reader.finish("lane"); !complete) {
    return complete.error();
  }
  return lane;
}

Result<std::uint64_t> decode_sequence(wire::ByteView body) {
  wire::Reader reader(body);
  const std::uint64_t sequence = reader.u64();
  if (auto complete = reader.finish("sequence"); !complete) {
    return complete.error();
  }
  return sequence;
}

Result<Verdict> decode_lane_refused(wire::ByteView body) {
  wire::Reader reader(body);
  Verdict verdict;
  verdict.number = reader.u32();
  if (auto failure = get_failure(reader, verdict.failure); !failure) {
    return failure.error();
  }
  if (auto complete = reader.finish("refused lane"); !complete) {
    return complete.error();
  }
  if (!verdict.failure) {
    return Failure(errc::malformed, "refused lane: no reason is given");
  }
  return verdict;
}

Result<Verdict> decode_checked(wire::ByteView body) {
  wire::Reader reader(body);
  Verdict verdict;
  verdict.number = reader.u64();
  if (auto failure = get_failure(reader, verdict.failure); !failure) {
    return failure.error();
  }
  if (auto complete = reader.finish("verdict"); !complete) {
    return complete.error();
  }
  return verdict;
}

}  // namespace ferry::queue
