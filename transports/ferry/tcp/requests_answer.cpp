#include <ferry/tcp/requests.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <ferry/memory/execute.hpp>
#include <ferry/tcp/messages.hpp>
#include <ferry/wire/endian.hpp>

namespace ferry::tcp {
namespace {

// The most that is copied in one go under the lock.
constexpr std::size_t kSlice = std::size_t{64} << 10;

Failure unexpected(const wire::FrameHeader& header, const char* what) {
  return Failure(errc::malformed, fmt::format("answer {:#x}: {}; found kind {} with {} bytes", header.id, what,
                                              header.kind, header.length));
}

}  // namespace

Result<void> Requests::on_answer(const wire::FrameHeader& header, wire::ByteView payload) {
  const Kind kind{header.kind};
  Pending* pending = pool_.find(header.id);
  if (pending == nullptr || pending->place == Pending::Place::done) {
    return unexpected(header, "it answers no present request");
  }
  if (kind == Kind::cancelled) {
    const auto asked = std::find(cancelled_.begin(), cancelled_.end(), pending);
    if (asked == cancelled_.end() || header.length != 0) {
      return unexpected(header, "nothing was cancelled");
    }
    cancelled_.erase(asked);
    while (pending->operation->kind == OperationKind::read && pending->unanswered > 0) {
      // A piece that the owner has dropped: it takes no room of the window any more.
      end_piece(*pending, next_piece(pending->operation->chunks(), pending->receive));
      --pending->unanswered;
    }
    end(*pending, pending->why.with_effect(effect_so_far(*pending)));
    return {};
  }
  if (pending->unanswered == 0) {
    return unexpected(header, "every request of it was answered");
  }
  Operation& operation = *pending->operation;
  switch (kind) {
    case Kind::data:
      return operation.kind == OperationKind::read ? begin_data(*pending, header)
                                                   : unexpected(header, "it was no read");
    case Kind::done:
      if (header.length != 0 || (operation.kind != OperationKind::write && operation.kind != OperationKind::flush)) {
        return unexpected(header, "it was no write or flush");
      }
      answered(*pending, {});
      return {};
    case Kind::value:
      if (payload.size() != sizeof(std::uint64_t) || !is_atomic(operation.kind)) {
        return unexpected(header, "it was no atomic");
      }
      operation.result = wire::load_little<std::uint64_t>(payload.data());
      answered(*pending, {});
      return {};
    case Kind::failed: {
      Failure failure;
      if (auto decoded = get_failure(payload, failure); !decoded) {
        return decoded;
      }
      if (operation.kind == OperationKind::read) {
        end_piece(*pending, next_piece(operation.chunks(), pending->receive));
      }
      answered(*pending, failure);
      return {};
    }
    default:
      return unexpected(header, "an owner's answer expected");
  }
}

Result<void> Requests::begin_data(Pending& pending, const wire::FrameHeader& header) {
  const Piece piece = next_piece(pending.operation->chunks(), pending.receive);
  if (header.length != piece.bytes || header.flags != 0) {
    return unexpected(header, "the bytes of the piece asked for expected");
  }
  reading_ = &pending;
  reading_left_ = piece.bytes;
  reading_piece_ = piece;
  return {};
}

Taken Requests::take_data(wire::ByteView bytes, std::size_t& count) {
  Pending& pending = *reading_;
  const auto chunks = pending.operation->chunks();
  while (reading_left_ > 0 && count < kSlice) {
    const Chunk& chunk = chunks[pending.receive.chunk];
    // A range that the piece cuts off ends where the piece does.
    const std::uint64_t left = std::min<std::uint64_t>(chunk.length - pending.receive.offset, reading_left_);
    const BodyPart part(std::min<std::uint64_t>(left, kSlice), bytes.subspan(count));
    if (part.taken == 0 && left > 0) {
      return Taken::need_more;
    }
    if (!pending.cancelled) {
      copy_words(chunk.local + pending.receive.offset, bytes.data() + count, part.bytes);
      Stats::add(stats_.data_bytes, part.bytes);
    }
    count += part.taken;
    reading_left_ -= part.taken;
    pending.receive.offset += part.bytes;
    if (pending.receive.offset == chunk.length) {
      pending.receive = Cursor{pending.receive.chunk + 1, 0};
    }
  }
  pending.operation->progress.fetch_add(1, std::memory_order_relaxed);
  if (reading_left_ == 0) {
    reading_ = nullptr;
    end_piece(pending, reading_piece_);
    answered(pending, {});
  }
  return Taken::some;
}

void Requests::end_piece(Pending& pending, const Piece& piece) noexcept {
  pending.receive = piece.end;
  if (piece.bytes > kSmallBytes) {
    window_bytes_ -= piece.bytes;
    --window_requests_;
  }
}

void Requests::answered(Pending& pending, const Failure& failure) {
  const Operation& operation = *pending.operation;
  --pending.unanswered;
  pending.operation->progress.fetch_add(1, std::memory_order_relaxed);
  if (!failure) {
    pending.executed_any = true;
  } else if (!pending.failure) {
    pending.failure = failure;
  }
  if (is_atomic(operation.kind)) {
    acknowledged_ = std::max(acknowledged_, pending.number);
  } else if (operation.kind == OperationKind::flush) {
    confirmed_ = std::max(confirmed_, pending.covers);  // a late failure is told once
  }
  if (pending.failure && pending.place == Pending::Place::bulk) {  // the rest is not asked for
    unlist(pending);
    pending.place = Pending::Place::posted;
  }
  if (!pending.cancelled && pending.place == Pending::Place::posted && pending.unanswered == 0) {
    end(pending, outcome(pending));
  }
}

Failure Requests::outcome(Pending& pending) {
  const OperationKind kind = pending.operation->kind;
  if (pending.failure) {
    return kind == OperationKind::write && pending.executed_any ? pending.failure.with_effect(Effect::unknown)
                                                                : pending.failure;
  }
  if (kind == OperationKind::flush && std::exchange(lost_some_, false)) {
    return Failure(errc::outcome_unknown,
                   "the connection broke after writes had been transmitted and before they were confirmed; they may "
                   "have been lost")
        .with_effect(Effect::unknown);
  }
  return {};
}

}  // namespace ferry::tcp
