// Frames: what travels on an authenticated socket: kinds, fixed parts, and bounds. README.md has the format in prose.
//
// Every frame is a wire::FrameHeader and a payload, filled up with zero bytes to a multiple of eight, so that payloads
// lie aligned in memory and an aligned word of user data is never cut. Encoding appends to memory that the caller
// reserved; decoding checks each field that could mislead this process. Plain values; no allocation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <ferry/base/failure.hpp>
#include <ferry/base/limits.hpp>
#include <ferry/memory/execute.hpp>
#include <ferry/memory/region_table.hpp>
#include <ferry/wire/bytes.hpp>
#include <ferry/wire/frame.hpp>

namespace ferry::tcp {

enum class Kind : std::uint8_t {
  // Both ways.
  heartbeat = 1,
  goodbye = 2,
  message = 3,
  // Initiator to owner.
  read = 16,
  write = 17,
  atomic = 18,
  flush = 19,
  cancel = 20,
  forget_sequence = 21,
  // Owner to initiator.
  data = 32,
  done = 33,
  value = 34,
  failed = 35,
  cancelled = 36,
};

// Flags of a write.
inline constexpr std::uint8_t kNotify = 1;      // give the tag to the owner's stream behind the bytes
inline constexpr std::uint8_t kUnanswered = 2;  // success needs no answer; a failure is told by the next flush

// Bytes of user memory in one request. Smaller than limits::kPieceBytes: between two of them other frames get their
// turn, and a piece stays in the cache from the copy to the system call.
inline constexpr std::size_t kPieceBytes = std::size_t{64} << 10;
static_assert(kPieceBytes <= limits::kPieceBytes && kPieceBytes % 8 == 0);
inline constexpr std::size_t kRanges = 64;  // of one request
// Requests of at most this many bytes are answered before anything bulky.
inline constexpr std::size_t kSmallBytes = std::size_t{16} << 10;
// Bulky reads that an initiator has under way on one socket; what an owner has to remember of them.
inline constexpr std::size_t kWindowBytes = limits::kWindowPieces * (limits::kPieceBytes / 4);
inline constexpr std::size_t kWindowRequests = 128;
inline constexpr std::size_t kAtomicsInFlight = 1024;                  // unacknowledged, of one initiator
inline constexpr std::size_t kFailedSequences = std::size_t{1} << 16;  // that an owner remembers of one initiator
inline constexpr std::size_t kTextBytes = 512;                         // of a refusal

constexpr std::size_t padded(std::size_t count) noexcept {
  return (count + 7) & ~std::size_t{7};
}

struct Range {
  std::uint64_t offset = 0;  // from the region's start
  std::uint64_t length = 0;
};

// The fixed part of a read or write; `ranges` ranges follow, then, for a write, each one's bytes, each filled up to a
// multiple of eight.
struct AccessRequest {
  static constexpr std::size_t kSize = 32;

  RegionHandle region{};
  std::uint64_t sequence = 0;
  std::uint64_t tag = 0;
  std::uint32_t ranges = 0;
};
inline constexpr std::size_t kRangeSize = 16;

struct AtomicRequest {
  static constexpr std::size_t kSize = 64;

  RegionHandle region{};
  AtomicKind kind = AtomicKind::fetch_add;
  std::uint64_t sequence = 0;
  std::uint64_t offset = 0;
  std::uint64_t operand = 0;
  std::uint64_t expected = 0;
  std::uint64_t number = 0;        // of this initiator's atomics toward this owner, from 1
  std::uint64_t acknowledged = 0;  // answers up to here have arrived
};

// The longest payload that anybody may send.
inline constexpr std::size_t kPayloadBytes = AccessRequest::kSize + kRanges * kRangeSize + kPieceBytes;
// The longest part of a frame that has to be there as a whole before it is looked at.
inline constexpr std::size_t kHeadBytes = wire::kFrameHeaderSize + AccessRequest::kSize + kRanges * kRangeSize;

// Each writes its bytes at `to` and returns where they end.
std::byte* put_header(std::byte* to, Kind kind, std::uint8_t flags, std::size_t length, std::uint64_t id) noexcept;
std::byte* put_access(std::byte* to, const AccessRequest& request) noexcept;
std::byte* put_range(std::byte* to, const Range& range) noexcept;
std::byte* put_atomic(std::byte* to, const AtomicRequest& request) noexcept;
std::byte* put_word(std::byte* to, std::uint64_t word) noexcept;
// Zeroes from `to` up to the next multiple of eight bytes behind `count` bytes.
std::byte* put_padding(std::byte* to, std::size_t count) noexcept;

Result<wire::FrameHeader> get_header(wire::ByteView bytes);
AccessRequest get_access(wire::ByteView bytes) noexcept;
Range get_range(const std::byte* from) noexcept;
Result<AtomicRequest> get_atomic(wire::ByteView bytes);

// A refusal: code, effect, range and at most kTextBytes of text.
std::size_t failure_size(const Failure& failure) noexcept;
std::byte* put_failure(std::byte* to, const Failure& failure) noexcept;
// malformed: `failure` is not changed.
Result<void> get_failure(wire::ByteView bytes, Failure& failure);
inline constexpr std::size_t kFailureBytes = 32 + kTextBytes;  // at most

}  // namespace ferry::tcp
