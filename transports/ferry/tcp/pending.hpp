// Pending: one operation between start and completion at its initiator; PendingPool: their memory; walk_piece: how an
// operation is cut into requests.
//
// Guarded by the connection's lock. Records are reused, so that the steady path allocates nothing; the id that travels
// on the wire holds a generation, so that a late answer never meets another operation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include <boost/intrusive/list.hpp>

#include <ferry/base/time.hpp>
#include <ferry/tcp/frames.hpp>
#include <ferry/transport/operation.hpp>
#include <ferry/transport/record_pool.hpp>

namespace ferry::tcp {

// A place in a chunk list.
struct Cursor {
  std::size_t chunk = 0;
  std::uint64_t offset = 0;  // in the chunk
};

struct Piece {
  std::size_t ranges = 0;
  std::size_t bytes = 0;  // on the wire: each range filled up to a multiple of eight
  Cursor end;
  bool is_last = false;
};

// What one request takes from `from` on; calls each(chunk, offset, count) per range. Chunks are cut at multiples of
// eight bytes from their start, so that words which are aligned stay whole.
template <class Each>
Piece walk_piece(std::span<const Chunk> chunks, Cursor from, Each&& each) {
  Piece piece;
  Cursor at = from;
  while (at.chunk < chunks.size() && piece.ranges < kRanges && piece.bytes < kPieceBytes) {
    const Chunk& chunk = chunks[at.chunk];
    const std::uint64_t count = std::min<std::uint64_t>(chunk.length - at.offset, kPieceBytes - piece.bytes);
    if (count > 0) {
      each(chunk, at.offset, static_cast<std::size_t>(count));
      piece.bytes += padded(count);
      ++piece.ranges;
      at.offset += count;
    }
    if (at.offset == chunk.length) {
      at = Cursor{at.chunk + 1, 0};
    }
  }
  while (at.chunk < chunks.size() && chunks[at.chunk].length == 0) {
    ++at.chunk;
  }
  piece.end = at;
  piece.is_last = at.chunk == chunks.size();
  return piece;
}

inline Piece next_piece(std::span<const Chunk> chunks, Cursor from) {
  return walk_piece(chunks, from, [](const Chunk&, std::uint64_t, std::size_t) {});
}

struct Pending {
  enum class Place : std::uint8_t {
    none,     // free
    waiting,  // small, to be posted in this order
    bulk,     // of more than a small request, to be posted in turns
    gated,    // behind an earlier member of its sequence
    posted,   // nothing more will be posted
    kept,     // an atomic without a channel, to be sent again with its number
    done      // ended; its completion is on the way
  };

  std::uint64_t id() const noexcept { return (std::uint64_t{generation} << 32) | index; }

  std::uint32_t index = 0;
  std::uint32_t generation = 1;
  Place place = Place::none;
  Place gate = Place::none;  // what the SequenceGate counts it as
  bool posted_any = false;
  bool sent_before = false;   // an atomic, on an earlier channel
  bool executed_any = false;  // the owner said so of a request
  bool cancelled = false;
  bool abandoned = false;
  std::uint32_t unanswered = 0;  // requests
  Operation* operation = nullptr;
  std::uint64_t order = 0;      // of start
  std::uint64_t sequence = 0;   // 0: none
  std::uint64_t number = 0;     // of an atomic, once posted
  std::uint64_t posted_at = 0;  // bytes of the channel before its first request
  std::uint64_t covers = 0;     // of a flush: transmitted requests before it
  Cursor post;                  // the next piece to ask for
  Cursor receive;               // where the next answer's bytes go
  Failure failure{};            // the first refusal
  Failure why{};                // of the cancellation
  TimePoint silent_by{};        // a cancelled one's answer is waited for until then
  boost::intrusive::list_member_hook<> hook;
};

using PendingList = boost::intrusive::list<
    Pending, boost::intrusive::member_hook<Pending, boost::intrusive::list_member_hook<>, &Pending::hook>>;

using PendingPool = RecordPool<Pending>;

}  // namespace ferry::tcp
