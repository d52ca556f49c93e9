#include <algorithm>

#include <fmt/format.h>

#include <ferry/base/limits.hpp>
#include <ferry/memory/execute.hpp>
#include <ferry/shm/shm_channel.hpp>

namespace ferry::shm {
namespace {

bool has_bytes(const Operation& operation) noexcept {
  const auto chunks = operation.chunks();
  return std::any_of(chunks.begin(), chunks.end(), [](const Chunk& chunk) { return chunk.length > 0; });
}

}  // namespace

Step ShmChannel::refuse(Operation& operation, errc code, const char* why) const noexcept {
  operation.failure = Failure(code, why);
  return Step::finished;
}

// The owner has withdrawn its admission, or its process has ended: the polling thread finds out which.
Step ShmChannel::look_again() noexcept {
  look_.store(true, std::memory_order_release);
  node_.poller->wake();
  return Step::closed;
}

// Every check is made again for every piece: a revocation or a closed channel ends a long copy at the next one.
Step ShmChannel::step_inside(Operation& operation, CopyCursor& cursor) noexcept {
  const RemoteRegion& region = operation.region;
  if (!connection_.is_current(*this)) [[unlikely]] {
    return Step::closed;
  }
  const Found found = find(operation.kind, region);
  switch (found.reach) {
    case Reach::mapped:
    case Reach::foreign:
    case Reach::unmapped:
      break;
    case Reach::unsupported:
      return refuse(operation, errc::unsupported, "the owner cannot share this memory with processes of its host");
    case Reach::not_admitted:
      return look_again();
    case Reach::revoked:
      return refuse(operation, errc::revoked, "the owner revoked or released this memory; ask it for a new reference");
    case Reach::forged:
      return refuse(operation, errc::access_denied, "the reference is not one that the owner gave out");
    case Reach::denied:
      return refuse(operation, errc::access_denied,
                    "the owner did not grant what the operation needs; ask it for a reference with that right");
    case Reach::outside:
      return refuse(operation, errc::malformed, "the owner's board names a range outside of its segment");
  }
  if (is_atomic(operation.kind) && region.domain == AtomicDomain::nic) [[unlikely]] {
    return refuse(operation, errc::unsupported, "shared memory has no path to the NIC that executes these atomics");
  }
  if (found.reach == Reach::mapped) [[likely]] {
    return copy(operation, cursor, found.base);
  }
  if (found.reach == Reach::unmapped) {
    return Step::unmapped;
  }
  return operation.kind == OperationKind::read
             ? read_foreign(operation, cursor, region.key_for(TransportId::shm)->address + region.offset)
         : has_bytes(operation) || operation.notify || is_atomic(operation.kind) ? Step::commands
                                                                                 : Step::finished;
}

Step ShmChannel::copy(Operation& operation, CopyCursor& cursor, std::byte* base) noexcept {
  if (is_atomic(operation.kind)) {
    std::byte* const word = base + operation.single.remote_offset;
    if (reinterpret_cast<std::uintptr_t>(word) % sizeof(std::uint64_t) != 0) {
      return refuse(operation, errc::misaligned,
                    "an atomic needs a word whose address in the owner's memory is a multiple of 8");
    }
    operation.result = execute_atomic(atomic_kind(operation.kind), word, operation.operand, operation.expected);
    return Step::finished;
  }
  const auto chunks = operation.chunks();
  std::uint64_t budget = limits::kPieceBytes;
  for (; cursor.chunk < chunks.size(); ++cursor.chunk, cursor.done = 0) {
    const Chunk& chunk = chunks[cursor.chunk];
    const std::uint64_t count = std::min(chunk.length - cursor.done, budget);
    std::byte* const remote = base + chunk.remote_offset + cursor.done;
    std::byte* const local = chunk.local + cursor.done;
    if (operation.kind == OperationKind::read) {
      copy_words(local, remote, count, chunk.length);
    } else {
      copy_words(remote, local, count, chunk.length);
    }
    cursor.done += count;
    budget -= count;
    if (cursor.done < chunk.length) {
      operation.progress.fetch_add(1, std::memory_order_relaxed);
      return Step::more;
    }
  }
  return operation.notify ? Step::notify : Step::finished;
}

Step ShmChannel::read_foreign(Operation& operation, CopyCursor& cursor, std::uint64_t base) noexcept {
  Shared& shared = *shared_;
  if (shared.foreign.is_denied()) {
    return Step::commands;
  }
  const auto chunks = operation.chunks();
  std::uint64_t budget = limits::kPieceBytes;
  while (cursor.chunk < chunks.size() && budget > 0) {
    const Chunk& chunk = chunks[cursor.chunk];
    const std::uint64_t count = std::min(chunk.length - cursor.done, budget);
    if (count > 0) {
      switch (shared.foreign.read(base + chunk.remote_offset + cursor.done, chunk.local + cursor.done, count,
                                  node_.counters.foreign_reads)) {
        case ForeignMemory::Outcome::done:
          break;
        case ForeignMemory::Outcome::denied:
          return Step::commands;
        case ForeignMemory::Outcome::ended:
          return look_again();
        case ForeignMemory::Outcome::unmapped:
          return refuse(operation, errc::revoked, "the owner has no memory there any more, or the local range is none");
      }
    }
    cursor.done += count;
    budget -= count;
    if (cursor.done == chunk.length) {
      ++cursor.chunk;
      cursor.done = 0;
    }
  }
  // A reader that was held up may have copied what the memory has become: detach() does not wait for ever.
  const RegionEntry* const entry = shared.board.entry(operation.region.slot);
  if (entry->generation() != operation.region.generation.value()) {
    return refuse(operation, errc::revoked, "the owner revoked this memory during the copy");
  }
  if (cursor.chunk < chunks.size()) {
    operation.progress.fetch_add(1, std::memory_order_relaxed);
    return Step::more;
  }
  return Step::finished;
}

Step ShmChannel::step(Operation& operation, CopyCursor& cursor) noexcept {
  Reader* const reader = node_.readers.mine();
  if (reader == nullptr) {
    operation.failure = node_.readers.why_none();
    return Step::finished;
  }
  const Reading reading(*reader, operation.region.generation);
  return step_inside(operation, cursor);
}

Started ShmChannel::not_open(Operation& operation, const CopyCursor& cursor) noexcept {
  if (operation.kind == OperationKind::read || !cursor.has_moved()) {
    return Started::not_open;  // what a read has copied is copied again
  }
  operation.failure = Failure(errc::outcome_unknown, "the channel ended when a part of the bytes was written")
                          .with_effect(Effect::unknown);
  return Started::complete;
}

Started ShmChannel::start_pending(Operation& operation, Step after, const CopyCursor& cursor) noexcept {
  if (after == Step::closed || !open_.load(std::memory_order_acquire) ||
      !shared_->pending.add(operation, after, cursor)) {
    return not_open(operation, cursor);
  }
  if (after == Step::unmapped) {
    node_.poller->wake();  // the polling thread asks the owner
  } else if (shared_->pending.take_submitted()) {
    node_.wake_peer(shared_->board, shared_->doorbell);
  }
  return Started::pending;
}

}  // namespace ferry::shm
