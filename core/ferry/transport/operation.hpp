// Operation: one one-sided access on its way: what the buffer layer asks of a transport.
//
// Owner: the awaiting frame or Batch, until it is complete. Intrusive, so starting allocates nothing; may complete
// inside start(), and then nothing suspends. Completes exactly once, from any thread; after that the transport touches
// neither the Operation nor its local memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <boost/intrusive/list_hook.hpp>

#include <ferry/base/failure.hpp>
#include <ferry/memory/execute.hpp>
#include <ferry/memory/region.hpp>

namespace ferry {

class Connection;

enum class OperationKind : std::uint8_t { read, write, fetch_add, compare_swap, swap, flush };

constexpr bool is_atomic(OperationKind kind) noexcept {
  return kind == OperationKind::fetch_add || kind == OperationKind::compare_swap || kind == OperationKind::swap;
}
// "read_into", "write_from", "fetch_add", … as users call it.
const char* to_string(OperationKind kind) noexcept;
constexpr Access access_needed(OperationKind kind) noexcept {
  switch (kind) {
    case OperationKind::read:
      return Access::read;
    case OperationKind::write:
      return Access::write;
    case OperationKind::flush:
      return Access::none;
    default:
      return Access::atomic;
  }
}
// Of an atomic operation.
AtomicKind atomic_kind(OperationKind kind) noexcept;

// When a write completes (contract: Operations).
enum class Completion : std::uint8_t { delivered, transmitted };

// One piece of a chunk list. remote_offset counts from the start of the referenced range. For a read, ferry writes to
// `local`; for a write it only reads it.
struct Chunk {
  std::uint64_t remote_offset = 0;
  std::byte* local = nullptr;
  std::uint64_t length = 0;
};

// Runs of a Sequence share one: the owner (or the transport on its behalf) skips what follows a failed member.
struct SequenceTag {
  std::uint64_t id = 0;       // unique per initiator process; 0: independent operation
  std::uint32_t index = 0;    // of the member
  std::uint64_t channel = 0;  // for the Peer: the channel that all members must go to; 0: any
};

struct OperationRequest;
// "write_from of 256 bytes".
std::string describe(const OperationRequest& request);

// What is asked of one operation; a value.
struct OperationRequest {
  OperationKind kind = OperationKind::read;
  Completion completion = Completion::delivered;
  bool notify = false;  // write only: give `tag` to the owner's stream after the bytes
  std::uint64_t tag = 0;
  std::uint64_t operand = 0;      // fetch_add: addend; swap, compare_swap: the new value
  std::uint64_t expected = 0;     // compare_swap
  RemoteRegion region{};          // the reference, copied
  Chunk single{};                 // the only chunk, unless `list` is set
  std::span<const Chunk> list{};  // borrowed from the caller until completion

  std::span<const Chunk> chunks() const noexcept {
    return list.data() != nullptr ? list : std::span<const Chunk>(&single, 1);
  }
  // Bytes that it moves in all; at most the greatest number.
  std::uint64_t bytes() const noexcept {
    std::uint64_t sum = 0;
    for (const Chunk& chunk : chunks()) {
      sum = chunk.length > ~std::uint64_t{0} - sum ? ~std::uint64_t{0} : sum + chunk.length;
    }
    return sum;
  }
};

// The request is constant from start() to completion; it was checked: rights, ranges, alignment.
class Operation : public OperationRequest {
 public:
  using OnComplete = void (*)(Operation&) noexcept;

  Operation() noexcept = default;
  explicit Operation(const OperationRequest& request) noexcept : OperationRequest(request) {}
  // A fresh operation with the same request; only of one that was not started.
  Operation(const Operation& other) noexcept
      : OperationRequest(other), sequence(other.sequence), on_complete(other.on_complete) {}
  Operation& operator=(const Operation&) = delete;

  SequenceTag sequence{};
  OnComplete on_complete = nullptr;  // called once, by complete(), unless start() completed inline
  void* starter = nullptr;           // the starter's own; transports leave it alone

  // --- The outcome; read after completion only.
  Failure failure{};         // none: success
  std::uint64_t result = 0;  // atomics: the old value

  // --- For transports.
  std::atomic<std::uint64_t> progress{0};        // grows whenever a piece has moved; watched by the no-progress limit
  std::atomic<Connection*> connection{nullptr};  // which has it in flight; null: not started, or waiting at the Peer
  boost::intrusive::list_member_hook<> hook;     // the Peer's queue or the connection's own list
  std::uint64_t transport_id = 0;                // the transport's number for it
  std::uint64_t transport_state = 0;             // the transport's own

  // Ends a pending operation. The Operation may be gone when it returns.
  void complete() noexcept { on_complete(*this); }
  void complete(Failure why) noexcept {
    failure = std::move(why);
    on_complete(*this);
  }
};

}  // namespace ferry
