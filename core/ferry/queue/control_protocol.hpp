// The messages on a ControlLink, and the Sends on a lane: constants and codec of the format that README.md describes.
//
// Decoding believes nothing: malformed for whatever the format does not allow. Values only; no state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ferry/base/result.hpp>
#include <ferry/memory/execute.hpp>
#include <ferry/queue/device.hpp>
#include <ferry/transport/address.hpp>
#include <ferry/wire/bytes.hpp>
#include <ferry/wire/reader.hpp>
#include <ferry/wire/writer.hpp>

namespace ferry::queue {

inline constexpr std::uint32_t kControlVersion = 1;

// First byte of a message on the link.
enum class Control : std::uint8_t {
  message = 1,  // both
  goodbye = 2,  // both
  // Initiator.
  hello = 16,
  open_lane = 17,
  discard = 18,
  check = 19,
  atomic = 20,
  forget_sequence = 21,
  // Owner.
  welcome = 32,
  lane_ready = 33,
  lane_refused = 34,
  discarded = 35,
  marked = 36,
  executed = 37,
  checked = 38,
};

struct Hello {
  OrderClass order{};
  bool has_flush = false;     // the device has Verb::flush
  std::uint64_t channel = 0;  // greater than that of every earlier link of this initiator
  std::string name;           // of the initiator, for people
  Contact contact;
};

struct Welcome {
  OrderClass order{};
  bool has_flush = false;
  std::uint64_t session = 0;  // the same as before if the owner still knows what it had executed; never 0
  std::string name;
};

struct OpenLane {
  std::uint32_t lane = 0;  // never used before on this link
  wire::Bytes address;
};

struct LaneReady {
  std::uint32_t lane = 0;
  std::uint32_t receives = 0;  // posted
  RemoteAddress word{};        // that can always be read
  wire::Bytes address;
};

struct Check {
  std::uint64_t id = 0;
  RegionHandle region{};
  Access access = Access::none;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

// An atomic in the cpu domain.
struct AtomicRequest {
  std::uint64_t id = 0;
  std::uint64_t sequence = 0;
  RegionHandle region{};
  AtomicKind kind{};
  std::uint64_t offset = 0;
  std::uint64_t operand = 0;
  std::uint64_t expected = 0;
  std::uint64_t number = 0;        // of this initiator's; never used twice
  std::uint64_t acknowledged = 0;  // every number up to here has been answered
};

struct Discarded {
  std::uint32_t lane = 0;
  bool has_refused = false;                 // see QueuePair
  std::optional<std::uint32_t> progress{};  // same
};

// received: how many receives of the lane have been used and posted again, ever.
struct Marked {
  std::uint32_t lane = 0;
  std::uint64_t received = 0;
  std::uint32_t mark = 0;  // the immediate
};

// Answer to a command or atomic.
struct Executed {
  std::uint32_t lane = 0;  // 0: it came on the link
  std::uint64_t received = 0;
  std::uint64_t id = 0;
  Failure failure{};
  std::uint64_t value = 0;  // of an atomic: the old one
  wire::Bytes data;         // of a read
};

wire::Bytes encode(const Hello& hello);
wire::Bytes encode(const Welcome& welcome);
wire::Bytes encode(const OpenLane& open);
wire::Bytes encode(const LaneReady& ready);
wire::Bytes encode(const Check& check);
wire::Bytes encode(const AtomicRequest& atomic);
wire::Bytes encode(const Marked& marked);
wire::Bytes encode(const Executed& executed);
wire::Bytes encode_message(wire::ByteView message);
wire::Bytes encode_goodbye();
wire::Bytes encode_discard(std::uint32_t lane);
wire::Bytes encode(const Discarded& discarded);
wire::Bytes encode_forget(std::uint64_t sequence);
wire::Bytes encode_lane_refused(std::uint32_t lane, const Failure& why);
wire::Bytes encode_checked(std::uint64_t id, const Failure& verdict);  // none: it may be accessed

// Each of the bytes behind the first.
Result<Hello> decode_hello(wire::ByteView body);
Result<Welcome> decode_welcome(wire::ByteView body);
Result<OpenLane> decode_open_lane(wire::ByteView body);
Result<LaneReady> decode_lane_ready(wire::ByteView body);
Result<Check> decode_check(wire::ByteView body);
Result<AtomicRequest> decode_atomic(wire::ByteView body);
Result<Marked> decode_marked(wire::ByteView body);
Result<Executed> decode_executed(wire::ByteView body);
Result<Discarded> decode_discarded(wire::ByteView body);
Result<std::uint32_t> decode_lane(wire::ByteView body);      // discard
Result<std::uint64_t> decode_sequence(wire::ByteView body);  // forget_sequence
struct Verdict {
  std::uint64_t number = 0;  // the lane (lane_refused) or operation (checked)
  Failure failure{};
};
Result<Verdict> decode_lane_refused(wire::ByteView body);
Result<Verdict> decode_checked(wire::ByteView body);

void encode_atomic(wire::Writer& writer, const AtomicRequest& atomic);
Result<AtomicRequest> read_atomic(wire::Reader& reader);
void encode_handle(wire::Writer& writer, RegionHandle region);
RegionHandle read_handle(wire::Reader& reader);

}  // namespace ferry::queue
