#include <ferry/buffer/transfer.hpp>

#include <fmt/format.h>

#include <ferry/base/limits.hpp>
#include <ferry/transport/node_core.hpp>

namespace ferry::detail {
namespace {

Failure check_chunk(const Operation& operation, const Chunk& chunk) {
  const std::uint64_t length = operation.region.length;
  if (chunk.remote_offset > length || chunk.length > length - chunk.remote_offset) {
    return Failure(errc::invalid_range,
                   fmt::format("[{}, +{}) does not lie inside the {} bytes that the reference names",
                               chunk.remote_offset, chunk.length, length))
        .with_range(chunk.remote_offset, chunk.length, length);
  }
  if (chunk.local == nullptr && chunk.length > 0) {
    return Failure(errc::invalid_argument, "the local memory is a null pointer");
  }
  return {};
}

Failure check_chunks(const Operation& operation) {
  const Chunk& only = operation.single;
  if (operation.list.data() == nullptr && only.length != operation.region.length) {
    return Failure(errc::invalid_range,
                   fmt::format("the local memory has {} bytes, the referenced range {}; they must be equal (narrow the "
                               "reference with subrange)",
                               only.length, operation.region.length))
        .with_range(only.remote_offset, only.length, operation.region.length);
  }
  if (operation.list.size() > limits::kChunks) {
    return Failure(errc::too_large,
                   fmt::format("a chunk list has at most {} pieces, not {}", limits::kChunks, operation.list.size()));
  }
  for (const Chunk& chunk : operation.chunks()) {
    if (Failure refused = check_chunk(operation, chunk)) {
      return refused;
    }
  }
  return {};
}

Failure check_word(const Operation& operation) {
  const RemoteRegion& region = operation.region;
  const std::uint64_t offset = operation.single.remote_offset;
  if (offset > region.length || sizeof(std::uint64_t) > region.length - offset) {
    return Failure(errc::invalid_range, "the 8-byte word does not lie inside the referenced range")
        .with_range(offset, sizeof(std::uint64_t), region.length);
  }
  if ((region.misalignment + region.offset + offset) % sizeof(std::uint64_t) != 0) {
    return Failure(
               errc::misaligned,
               fmt::format("an atomic needs a word whose address in the owner's memory is a multiple of 8; offset {} "
                           "lies {} bytes behind one",
                           offset, (region.misalignment + region.offset + offset) % sizeof(std::uint64_t)))
        .with_range(offset, sizeof(std::uint64_t), region.length);
  }
  return {};
}

Failure check_rare(const Operation& operation, Access needed) {
  const RemoteRegion& region = operation.region;
  if (!region.owner) {
    return Failure(errc::invalid_argument, "the reference is empty (default-constructed)");
  }
  if (operation.kind == OperationKind::flush) {
    return {};
  }
  if (!permits(region.rights, needed)) {
    return Failure(errc::access_denied,
                   fmt::format("the reference permits {}, the operation needs {}; ask the owner for "
                               "a reference with that right",
                               to_string(region.rights), to_string(needed)));
  }
  if (region.kind != MemoryKind::host) {
    return Failure(errc::unsupported, "no transport of this build reaches device memory (dma_buf)");
  }
  if (operation.notify && operation.completion == Completion::transmitted) {
    return Failure(errc::invalid_argument, "a write with notify is delivered; it cannot be transmitted only");
  }
  return is_atomic(operation.kind) ? check_word(operation) : check_chunks(operation);
}

}  // namespace

Failure check_request(const Operation& operation) {
  const RemoteRegion& region = operation.region;
  const Access needed = access_needed(operation.kind);
  // The common case: one piece, rights, inside the range.
  if (operation.list.data() == nullptr && !is_atomic(operation.kind) && needed != Access::none &&
      permits(region.rights, needed) && region.kind == MemoryKind::host && !operation.notify &&
      operation.single.length == region.length && operation.single.local != nullptr) [[likely]] {
    return {};
  }
  return check_rare(operation, needed);
}

Failure explain_failure(const Operation& operation, const Peer* peer) {
  Failure failure = operation.failure.during(to_string(operation.kind));
  if (failure.peer().empty() && peer != nullptr) {
    failure = failure.with_peer(peer->describe());
  }
  if (failure.length() == 0 && failure.size() == 0 && operation.kind != OperationKind::flush) {
    const std::uint64_t length = is_atomic(operation.kind) ? sizeof(std::uint64_t) : operation.single.length;
    failure = failure.with_range(operation.single.remote_offset, length, operation.region.length);
  }
  return failure;
}

void count_notification(Peer& owner) noexcept { owner.node().traffic().count_notification(); }

Executor& TransferBase::executor() const noexcept {
  return peer_->node().executor();
}

void TransferBase::completed(Operation& operation) noexcept {
  static_cast<TransferBase*>(operation.starter)->wake();
}

bool TransferBase::should_yield() const noexcept {
  const TaskScope* scope = TaskScope::current();
  if (scope == nullptr) {
    return false;
  }
  if (!scope->strand->executor().has_ready_work()) {
    InlineBudget::current().refill();
    return false;
  }
  return true;
}

Duration TransferBase::no_progress_limit() const noexcept {
  return peer_->node().limits().no_progress;
}

void TransferBase::give_up(errc reason) noexcept {
  if (reason == errc::timed_out) {
    peer_->cancel(operation_, Failure(errc::timed_out,
                                      "it did not end, or did not move, within its limit; it was "
                                      "cancelled"));
  } else {
    peer_->cancel(operation_, Failure(errc::cancelled, "a stop was requested"));
  }
}

bool TransferBase::has_progressed() noexcept {
  const std::uint64_t now = operation_.progress.load(std::memory_order_relaxed);
  return std::exchange(progress_seen_, now) != now;
}

void TransferBase::end_early() noexcept {
  end();
  if (pending_ && !peer_->abandon(operation_)) {
    while (!is_woken()) {  // its completion is on the way, on another thread
    }
  }
}

}  // namespace ferry::detail
