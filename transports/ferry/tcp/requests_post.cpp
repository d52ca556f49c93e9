#include <ferry/tcp/requests.hpp>

#include <algorithm>
#include <utility>

#include <ferry/memory/execute.hpp>

namespace ferry::tcp {
namespace {

// Of small requests in one turn, before a piece of something else may go.
constexpr std::size_t kSmallTurn = std::size_t{32} << 10;

}  // namespace

bool Requests::is_bulk(const Operation& operation) noexcept {
  if (operation.kind != OperationKind::read && operation.kind != OperationKind::write) {
    return false;
  }
  const auto chunks = operation.chunks();
  if (chunks.size() > kRanges) {
    return true;
  }
  std::uint64_t bytes = 0;
  for (const Chunk& chunk : chunks) {
    if (chunk.length > kSmallBytes) {
      return true;
    }
    bytes += padded(chunk.length);
  }
  return bytes > kSmallBytes;
}

// Members of a sequence are answered, so that the first that fails is known.
bool Requests::is_unanswered(const Operation& operation) noexcept {
  return operation.kind == OperationKind::write && operation.completion == Completion::transmitted &&
         !operation.notify && operation.sequence.id == 0;
}

Pending* Requests::start(Operation& operation) {
  const std::uint64_t sequence = operation.sequence.id;
  if (is_atomic(operation.kind) && operation.region.domain == AtomicDomain::nic) {
    operation.failure =
        Failure(errc::unsupported, "the word is in a NIC's atomic domain, and tcp has no NIC that could execute it");
    return nullptr;
  }
  if (operation.kind == OperationKind::flush && confirmed_ == transmitted_ && !lost_some_ && sequence == 0) {
    operation.failure = {};
    return nullptr;
  }
  if (sequence != 0 && gate_.has_failed(sequence)) {
    operation.failure = Failure(errc::not_executed, "an earlier member of the sequence failed");
    return nullptr;
  }
  Pending& pending = pool_.take();
  pending.operation = &operation;
  pending.order = next_order_++;
  pending.sequence = sequence;
  operation.transport_id = pending.id();
  const bool bulk = is_bulk(operation);
  if (sequence != 0) {
    pending.gate = gate_.enter(sequence, bulk);
  }
  enqueue(pending, sequence != 0 ? pending.gate : bulk ? Pending::Place::bulk : Pending::Place::waiting);
  return &pending;
}

void Requests::enqueue(Pending& pending, Pending::Place place) noexcept {
  pending.place = place;
  (place == Pending::Place::waiting ? waiting_ : place == Pending::Place::bulk ? bulk_ : gated_).push_back(pending);
}

void Requests::leave_gate(Pending& pending) noexcept {
  if (pending.gate == Pending::Place::none) {
    return;
  }
  if (gate_.leave(pending.sequence, std::exchange(pending.gate, Pending::Place::none))) {
    reopen_gates();
  }
}

void Requests::reopen_gates() noexcept {
  PendingList again;
  again.swap(gated_);
  gate_.open_gates();
  while (!again.empty()) {
    Pending& pending = again.front();
    again.pop_front();
    pending.gate = gate_.enter_again(pending.sequence, is_bulk(*pending.operation));
    enqueue(pending, pending.gate);
  }
}

void Requests::fill(SendBuffer& out) noexcept {
  post_notices(out);
  for (bool more = true; more;) {
    more = post_waiting(out);
    more = post_bulk(out) || more;
  }
}

void Requests::post_notices(SendBuffer& out) noexcept {
  const auto post_all = [&out](std::vector<std::uint64_t>& ids, Kind kind) {
    std::size_t posted = 0;
    while (posted < ids.size() && out.room() >= wire::kFrameHeaderSize) {
      put_header(out.append(wire::kFrameHeaderSize), kind, 0, 0, ids[posted++]);
    }
    ids.erase(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(posted));
  };
  if (!cancel_notices_.empty()) {
    post_all(cancel_notices_, Kind::cancel);
  }
  if (!forget_notices_.empty()) {
    post_all(forget_notices_, Kind::forget_sequence);
  }
}

bool Requests::post_waiting(SendBuffer& out) noexcept {
  const std::size_t before = out.size();
  while (!waiting_.empty() && out.size() - before < kSmallTurn) {
    Pending& pending = waiting_.front();
    if (!post(pending, out)) {
      break;
    }
  }
  return out.size() != before;
}

// One piece of one of them, in turns. Reads that find the window full are passed by.
bool Requests::post_bulk(SendBuffer& out) noexcept {
  for (std::size_t tries = bulk_.size(); tries > 0; --tries) {
    Pending& pending = bulk_.front();
    const bool posted = post(pending, out);
    if (pending.hook.is_linked() && pending.place == Pending::Place::bulk) {
      bulk_.splice(bulk_.end(), bulk_, bulk_.iterator_to(pending));
    }
    if (posted) {
      return true;
    }
  }
  return false;
}

bool Requests::post(Pending& pending, SendBuffer& out) noexcept {
  if (!pending.posted_any) {
    pending.posted_at = out.appended();
  }
  switch (pending.operation->kind) {
    case OperationKind::read:
    case OperationKind::write:
      return post_access(pending, out);
    case OperationKind::flush:
      return post_flush(pending, out);
    default:
      return post_atomic(pending, out);
  }
}

bool Requests::post_access(Pending& pending, SendBuffer& out) noexcept {
  Operation& operation = *pending.operation;
  const bool is_write = operation.kind == OperationKind::write;
  const Piece piece = next_piece(operation.chunks(), pending.post);
  const std::size_t payload = AccessRequest::kSize + piece.ranges * kRangeSize + (is_write ? piece.bytes : 0);
  const bool is_bulky_read = !is_write && piece.bytes > kSmallBytes;
  if (out.room() < wire::kFrameHeaderSize + payload ||
      (is_bulky_read && (window_requests_ >= kWindowRequests || window_bytes_ + piece.bytes > kWindowBytes))) {
    return false;
  }
  std::uint8_t flags = is_write && is_unanswered(operation) ? kUnanswered : 0;
  AccessRequest request{{operation.region.slot, operation.region.generation},
                        operation.sequence.id,
                        0,
                        static_cast<std::uint32_t>(piece.ranges)};
  if (is_write && operation.notify && piece.is_last) {
    flags |= kNotify;
    request.tag = operation.tag;
  }
  std::byte* to = put_header(out.append(wire::kFrameHeaderSize + payload), is_write ? Kind::write : Kind::read, flags,
                             payload, pending.id());
  to = put_access(to, request);
  walk_piece(operation.chunks(), pending.post, [&](const Chunk& chunk, std::uint64_t offset, std::size_t count) {
    to = put_range(to, {operation.region.offset + chunk.remote_offset + offset, count});
  });
  if (is_write) {
    walk_piece(operation.chunks(), pending.post, [&](const Chunk& chunk, std::uint64_t offset, std::size_t count) {
      copy_words(to, chunk.local + offset, count);
      to = put_padding(to + count, count);
      Stats::add(stats_.data_bytes, count);
    });
  }
  if (is_bulky_read) {
    window_bytes_ += piece.bytes;
    ++window_requests_;
  }
  pending.post = piece.end;
  pending.posted_any = true;
  operation.progress.fetch_add(1, std::memory_order_relaxed);
  if ((flags & kUnanswered) != 0) {
    ++transmitted_;
  } else {
    ++pending.unanswered;
  }
  if (piece.is_last) {
    fully_posted(pending);
  }
  return true;
}

bool Requests::post_atomic(Pending& pending, SendBuffer& out) noexcept {
  const Operation& operation = *pending.operation;
  const std::uint64_t number = pending.number != 0 ? pending.number : next_number_;
  if (out.room() < wire::kFrameHeaderSize + AtomicRequest::kSize || number - acknowledged_ > kAtomicsInFlight) {
    return false;
  }
  next_number_ = std::max(next_number_, number + 1);
  pending.number = number;
  pending.posted_any = true;
  ++pending.unanswered;
  AtomicRequest request;
  request.region = {operation.region.slot, operation.region.generation};
  request.kind = atomic_kind(operation.kind);
  request.sequence = operation.sequence.id;
  request.offset = operation.region.offset + operation.single.remote_offset;
  request.operand = operation.operand;
  request.expected = operation.expected;
  request.number = number;
  request.acknowledged = acknowledged_;
  put_atomic(put_header(out.append(wire::kFrameHeaderSize + AtomicRequest::kSize), Kind::atomic, 0,
                        AtomicRequest::kSize, pending.id()),
             request);
  fully_posted(pending);
  return true;
}

bool Requests::post_flush(Pending& pending, SendBuffer& out) noexcept {
  if (out.room() < wire::kFrameHeaderSize) {
    return false;
  }
  put_header(out.append(wire::kFrameHeaderSize), Kind::flush, 0, 0, pending.id());
  pending.posted_any = true;
  pending.covers = transmitted_;
  ++pending.unanswered;
  fully_posted(pending);
  return true;
}

void Requests::fully_posted(Pending& pending) noexcept {
  unlist(pending);
  pending.place = Pending::Place::posted;
  // A bulky read keeps its gate shut until it is answered: its bytes are sampled when the owner has room for them.
  if (pending.gate == Pending::Place::waiting || pending.operation->kind == OperationKind::write) {
    leave_gate(pending);
  }
  if (pending.unanswered == 0) {  // transmitted
    end(pending, {});
  }
}

}  // namespace ferry::tcp
