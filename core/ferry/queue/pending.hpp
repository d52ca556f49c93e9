// Pending: one operation between start and completion at its initiator; PendingPool: their memory; next_range: how an
// operation is cut into requests.
//
// Guarded by the connection's lock. Records are reused; the id that travels on the wire holds a generation, so that a
// late answer never meets another operation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include <boost/intrusive/list.hpp>

#include <ferry/base/time.hpp>
#include <ferry/queue/queue_limits.hpp>
#include <ferry/transport/operation.hpp>
#include <ferry/transport/record_pool.hpp>

namespace ferry::queue {

// A place in a chunk list.
struct Cursor {
  std::size_t chunk = 0;
  std::uint64_t offset = 0;  // bytes, in the chunk
};

// What one request moves: a part of one chunk.
struct Range {
  std::size_t chunk = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

// The range at `at`, of at most `most` bytes (a multiple of 8, so that aligned words stay whole), and `at` behind it.
// Length 0: nothing is left.
inline Range next_range(std::span<const Chunk> chunks, Cursor& at, std::uint64_t most) noexcept {
  while (at.chunk < chunks.size() && at.offset == chunks[at.chunk].length) {
    at = Cursor{at.chunk + 1, 0};
  }
  if (at.chunk == chunks.size()) {
    return {};
  }
  const Range range{at.chunk, at.offset, std::min(chunks[at.chunk].length - at.offset, most)};
  at.offset += range.length;
  return range;
}

// True if a further next_range() would find something.
inline bool has_more(std::span<const Chunk> chunks, Cursor at) noexcept {
  return next_range(chunks, at, 8).length > 0;
}

struct Pending {
  enum class Place : std::uint8_t {
    none,     // free
    waiting,  // at its lane or, for what goes to the owner's CPU, at the connection: more of it is to be posted
    posted,   // nothing more will be posted
    kept,     // an atomic without a channel, to be sent again with its number
    done      // ended; its completion is on the way
  };
  static constexpr std::uint8_t kNoLane = 255;

  std::uint64_t id() const noexcept { return (std::uint64_t{generation} << 32) | index; }
  bool moves_bytes() const noexcept { return kind == OperationKind::read || kind == OperationKind::write; }
  // Changes memory of the owner's.
  bool changes() const noexcept { return kind != OperationKind::read && kind != OperationKind::flush; }
  bool has_ranges() const { return !redo.empty() || has_more(operation->chunks(), next); }

  std::uint32_t index = 0;
  std::uint32_t generation = 1;
  Place place = Place::none;
  std::uint8_t lane = kNoLane;
  OperationKind kind{};
  bool is_delivered = false;  // ends only when its bytes are known to be visible
  bool is_command = false;    // the owner's CPU executes all of it, behind what its lane carried before
  bool command_due = false;   // a command is to be posted: its notification, or all of it
  bool command_out = false;   // posted, and not answered
  bool atomic_due = false;    // a NIC's atomic is to be posted
  bool posted_any = false;    // in this life of its lane or in an earlier one
  bool executed_any = false;  // a request of it is known to have been executed
  bool counted = false;       // among the members under way of its sequence
  bool sent_before = false;   // an atomic, on an earlier channel
  bool refused = false;       // by the owner's device
  bool unknown = false;       // a request that changes memory may or may not have been executed
  bool is_accepted = false;   // the owner says that its reference is good; until its lane lives again
  bool cancelled = false;
  bool is_orphan = false;          // abandoned: nobody is told; it stands for what may still reach the owner's memory
  std::uint32_t requests_out = 0;  // posted, not completed: local memory is the device's
  std::uint32_t gets_out = 0;      // of these, gets and NIC atomics
  std::uint32_t unconfirmed = 0;   // puts that the owner has not confirmed one by one (srd)
  std::uint32_t checks_out = 0;    // questions to the owner
  std::uint32_t redrives = 0;      // since a byte moved
  Operation* operation = nullptr;
  std::uint64_t order = 0;             // of start
  std::uint64_t sequence = 0;          // 0: none
  std::uint64_t number = 0;            // of an atomic, once sent
  std::uint64_t first = 0;             // number of its first put; 0: none
  std::uint64_t last = 0;              // number of its latest put; 0: none
  std::uint64_t command_at = 0;        // number of its command
  Cursor next;                         // what was never posted
  std::vector<Range> redo;             // what was posted and provably not executed
  std::vector<std::uint32_t> keys;     // of local memory, per chunk; 0: none
  std::uint64_t word = 0;              // old value of a NIC's atomic
  std::uint64_t targets[kLanes] = {};  // of a flush: the request of each lane that has to be covered
  bool has_targets = false;
  Failure verdict{};      // the owner's, on its reference
  Failure failure{};      // of a command
  Failure why{};          // of the cancellation
  TimePoint silent_by{};  // a cancelled one's end is waited for until then
  boost::intrusive::list_member_hook<> hook;
};

using PendingList = boost::intrusive::list<
    Pending, boost::intrusive::member_hook<Pending, boost::intrusive::list_member_hook<>, &Pending::hook>>;

using PendingPool = RecordPool<Pending>;

}  // namespace ferry::queue
