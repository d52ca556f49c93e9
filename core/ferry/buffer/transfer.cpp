#include <ferry/buffer/transfer.hpp>

#include <fmt/format.h>

#include <ferry/base/limits.hpp>
#include <ferry/transport/node_core.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry::detail {
namespace {

Failure check_chunk(const OperationRequest& operation, const Chunk& chunk) {
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

Failure check_chunks(const OperationRequest& operation) {
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

Failure check_word(const OperationRequest& operation) {
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

Failure check_all(const OperationRequest& operation, Access needed) {
  const RemoteRegion& region = operation.region;
  if (!region.owner) {
    return empty_reference();
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

Failure check_request(const OperationRequest& request) {
  return check_all(request, access_needed(request.kind));
}

Failure admit(const OperationRequest& request, const Peer* peer) {
  if (process_mark() != 0 && peer != nullptr && !peer->node().executor().is_of_this_process()) [[unlikely]] {
    return made_before_fork();
  }
  return check_request(request);
}

Failure explain_failure(const OperationRequest& request, const Failure& failure, const Peer* peer) {
  Failure explained = failure.during(to_string(request.kind));
  if (explained.peer().empty() && peer != nullptr) {
    explained = explained.with_peer(peer->describe());
  }
  if (explained.length() == 0 && explained.size() == 0 && request.kind != OperationKind::flush) {
    const std::uint64_t length = is_atomic(request.kind) ? sizeof(std::uint64_t) : request.bytes();
    explained = explained.with_range(request.single.remote_offset, length, request.region.length);
  }
  return explained;
}

void count_notification(Peer& owner) noexcept {
  owner.node().traffic().count_notification();
}

bool TransferBase::begin() noexcept {
  PendingTransfer& pending = pending_.emplace(peer_, request_);
  pending.operation.failure = Waiter::refusal(limits_);
  if (pending.operation.failure) {
    return true;
  }
  return pending.start() && !Waiter::should_yield(request_.bytes());
}

bool TransferBase::suspend(std::coroutine_handle<> handle) {
  if (!pending_) {  // it ended in place, and others shall run
    pending_.emplace(peer_, request_);
    pending_->operation.result = result_;
  }
  return pending_->suspend(handle, limits_);
}

PendingTransfer::~PendingTransfer() {
  end();
  if (in_flight_ && !peer_->abandon(operation)) {
    while (!is_woken()) {  // its completion is on the way, on another thread
    }
  }
}

bool PendingTransfer::start() noexcept {
  operation.failure = admit(operation, peer_);
  if (operation.failure) {
    return true;
  }
  if (operation.notify) {
    count_notification(*peer_);
  }
  operation.starter = this;
  operation.on_complete = &PendingTransfer::completed;
  in_flight_ = peer_->start(operation) == Started::pending;
  return !in_flight_;
}

bool PendingTransfer::suspend(std::coroutine_handle<> handle, const Limits& limits) {
  if (!in_flight_) {
    yield(handle);
    return true;
  }
  begin(handle, limits, peer_->node().limits().no_progress);
  return commit();
}

void PendingTransfer::finish() noexcept {
  end();
  in_flight_ = false;
}

void PendingTransfer::completed(Operation& operation) noexcept {
  static_cast<PendingTransfer*>(operation.starter)->wake();
}

void PendingTransfer::give_up(Waiter& waiter, errc reason) noexcept {
  auto& self = static_cast<PendingTransfer&>(waiter);
  self.peer_->cancel(self.operation,
                     given_up(reason, "it did not end, or did not move, within its limit; it was cancelled"));
}

bool PendingTransfer::has_progressed(Waiter& waiter) noexcept {
  auto& self = static_cast<PendingTransfer&>(waiter);
  const std::uint64_t now = self.operation.progress.load(std::memory_order_relaxed);
  return std::exchange(self.progress_seen_, now) != now;
}

}  // namespace ferry::detail
