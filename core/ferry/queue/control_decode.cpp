#include <ferry/queue/control_protocol.hpp>

#include <fmt/format.h>

#include <ferry/queue/queue_limits.hpp>
#include <ferry/transport/contact_codec.hpp>

namespace ferry::queue {
namespace {

std::string get_text(wire::Reader& reader) {
  const std::size_t length = reader.u16();
  return std::string(wire::as_text(reader.raw(length)));
}

wire::Bytes get_bytes(wire::Reader& reader) {
  const std::size_t length = reader.u32();
  return wire::Bytes(reader.raw(length));
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

// Hello and welcome: version, and what the sender's device promises.
template <class Greeting>
Result<void> get_beginning(wire::Reader& reader, Greeting& greeting) {
  if (auto version = check_version(reader); !version) {
    return version;
  }
  const auto order = get_order(reader);
  if (!order) {
    return order.error();
  }
  greeting.order = *order;
  greeting.has_flush = reader.u8() != 0;
  return {};
}

}  // namespace

Result<Hello> decode_hello(wire::ByteView body) {
  wire::Reader reader(body);
  Hello hello;
  if (auto begun = get_beginning(reader, hello); !begun) {
    return begun.error();
  }
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

Result<Welcome> decode_welcome(wire::ByteView body) {
  wire::Reader reader(body);
  Welcome welcome;
  if (auto begun = get_beginning(reader, welcome); !begun) {
    return begun.error();
  }
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

RegionHandle read_handle(wire::Reader& reader) {
  RegionHandle region;
  region.slot = RegionSlot(reader.u32());
  region.generation = Generation(reader.u64());
  return region;
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

Result<AtomicRequest> decode_atomic(wire::ByteView body) {
  wire::Reader reader(body);
  return read_atomic(reader);
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

Result<Discarded> decode_discarded(wire::ByteView body) {
  wire::Reader reader(body);
  Discarded discarded;
  discarded.lane = reader.u32();
  const std::uint8_t flags = reader.u8();
  const std::uint32_t progress = reader.u32();
  if (auto complete = reader.finish("discarded lane"); !complete) {
    return complete.error();
  }
  if (flags > 3) {
    return Failure(errc::malformed, fmt::format("discarded lane: flags {:#x} unknown", flags));
  }
  discarded.has_refused = (flags & 1) != 0;
  if ((flags & 2) != 0) {
    discarded.progress = progress;
  }
  return discarded;
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
