#include <ferry/tcp/inbound.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <ferry/wire/endian.hpp>

namespace ferry::tcp {
namespace {

// What an answer without data needs at most.
constexpr std::size_t kSpare = wire::kFrameHeaderSize + padded(kFailureBytes);
// What must be free before a request is looked at: its data, if it is small, and a refusal.
constexpr std::size_t kAnswerRoom = wire::kFrameHeaderSize + kSmallBytes + kSpare;
static_assert(SendBuffer::kCapacity >= padded(wire::kFrameHeaderSize + kPayloadBytes) + kAnswerRoom);

Failure unexpected(const wire::FrameHeader& header, const char* what) {
  return Failure(errc::malformed, fmt::format("{}: found a frame of kind {} with flags {:#x} and {} bytes", what,
                                              header.kind, header.flags, header.length));
}

Failure skipped() {
  return Failure(errc::not_executed, "an earlier member of the sequence failed");
}

}  // namespace

Taken TcpInbound::take(wire::ByteView bytes, std::size_t& count, Failure& why) noexcept {
  if (write_.active) {
    return take_write(bytes, count);
  }
  if (assembly_.is_inside_frame()) {
    return take_message(bytes, count);
  }
  return take_frame(bytes, count, why);
}

Taken TcpInbound::take_frame(wire::ByteView bytes, std::size_t& count, Failure& why) {
  Taken otherwise{};
  const auto header = whole_header(bytes, otherwise, why);
  if (!header) {
    return otherwise;
  }
  const Kind kind{header->kind};
  std::size_t head = header->length;
  if (kind == Kind::message) {
    head = 0;
  } else if (kind == Kind::write) {
    head = AccessRequest::kSize;
    if (header->length >= head && bytes.size() >= wire::kFrameHeaderSize + head) {
      const AccessRequest request = get_access(bytes.subspan(wire::kFrameHeaderSize, head));
      head += std::min<std::size_t>(request.ranges, kRanges) * kRangeSize;
    }
  }
  const std::size_t size = wire::kFrameHeaderSize + padded(head);
  if (size > kHeadBytes || head > header->length) {
    why = unexpected(*header, "a request of another size expected");
    return Taken::ended;
  }
  if (bytes.size() < size) {
    return Taken::need_more;
  }
  const std::unique_lock lock(mutex_);
  if (state_ != State::open) {
    return Taken::ended;
  }
  SendBuffer& out = channel_->out();
  if (out.room() < kAnswerRoom) {
    return Taken::no_room;
  }
  const auto done = on_frame(*header, bytes.subspan(wire::kFrameHeaderSize, head), out);
  if (!done) {
    why = done.error();
    return Taken::ended;
  }
  count = size;
  return said_goodbye_ ? Taken::ended : Taken::some;
}

Result<void> TcpInbound::on_frame(const wire::FrameHeader& header, wire::ByteView payload, SendBuffer& out) {
  const Kind kind{header.kind};
  if (kind == Kind::write) {
    return begin_write(header, payload);
  }
  if (kind == Kind::message) {
    return assembly_.begin(header, node_.limits().frame_bytes);
  }
  if (header.flags != 0) {
    return unexpected(header, "no flags expected");
  }
  if (kind == Kind::read) {
    return on_read(header, payload, out);
  }
  if (kind == Kind::atomic) {
    return on_atomic(header, payload, out);
  }
  const std::size_t expected = kind == Kind::heartbeat ? sizeof(std::uint64_t) : 0;
  if (header.length != expected) {
    return unexpected(header, "a frame of another size expected");
  }
  switch (kind) {
    case Kind::flush:
      if (late_failure_) {
        refuse(header.id, 0, std::exchange(late_failure_, {}), out);
      } else {
        answer(Kind::done, header.id, out);
      }
      return {};
    case Kind::cancel:
      on_cancel(header.id, out);
      return {};
    case Kind::forget_sequence:
      failed_sequences_.erase(header.id);
      return {};
    case Kind::heartbeat: {
      const auto session = session_->lock();
      session_->atomics().acknowledge(wire::load_little<std::uint64_t>(payload.data()));
      return {};
    }
    case Kind::goodbye:
      said_goodbye_ = true;
      channel_->fail(Failure(errc::peer_lost, fmt::format("{} closed the connection", channel_->who())),
                     PeerState::gone);
      return {};
    default:
      return unexpected(header, "an initiator's request expected");
  }
}

Result<void> TcpInbound::on_read(const wire::FrameHeader& header, wire::ByteView payload, SendBuffer& out) {
  if (payload.size() < AccessRequest::kSize) {
    return unexpected(header, "a read request expected");
  }
  Read read;
  read.id = header.id;
  read.request = get_access(payload);
  if (read.request.ranges > kRanges || payload.size() != AccessRequest::kSize + read.request.ranges * kRangeSize) {
    return unexpected(header, "a read request of its number of ranges expected");
  }
  for (std::size_t index = 0; index < read.request.ranges; ++index) {
    read.ranges[index] = get_range(payload.data() + AccessRequest::kSize + index * kRangeSize);
    const std::uint64_t length = read.ranges[index].length;
    read.bytes += length > kPieceBytes ? kPieceBytes + 8 : padded(length);
  }
  if (read.bytes > kPieceBytes) {
    return unexpected(header, "a read of at most one piece expected");
  }
  // The answers to one operation come in the order of its requests: the end of a long read waits behind its beginning.
  const bool continues = std::any_of(reads_.begin(), reads_.end(), [&](const Read& r) { return r.id == read.id; });
  if (read.bytes <= kSmallBytes && !continues) {
    serve_read(read, out);
  } else if (reads_.size() < 2 * kWindowRequests) {  // each operation may have one small one
    reads_.push_back(read);
  } else {
    return unexpected(header, "fewer bulky reads at one time expected");
  }
  return {};
}

// There is room for the data or a refusal.
void TcpInbound::serve_read(const Read& read, SendBuffer& out) noexcept {
  const std::uint64_t sequence = read.request.sequence;
  if (is_skipped(sequence)) {
    refuse(read.id, sequence, skipped(), out);
    return;
  }
  RegionTable& regions = node_.regions();
  const std::size_t size = wire::kFrameHeaderSize + read.bytes;
  std::byte* to = put_header(out.append(size), Kind::data, 0, read.bytes, read.id);
  const std::size_t count = std::max<std::size_t>(read.request.ranges, 1);  // a read of nothing needs a living region
  for (std::size_t index = 0; index < count; ++index) {
    const Range range = read.request.ranges == 0 ? Range{} : read.ranges[index];
    const auto pin = regions.pin(read.request.region, Access::read, range.offset, range.length);
    if (!pin) {
      out.retract(size);
      refuse(read.id, sequence, pin.error(), out);
      return;
    }
    copy_words(to, pin->address(), range.length);
    to = put_padding(to + range.length, range.length);
    Stats::add(stats_.data_bytes, range.length);
  }
}

Result<void> TcpInbound::on_atomic(const wire::FrameHeader& header, wire::ByteView payload, SendBuffer& out) {
  const auto request = get_atomic(payload);
  if (!request) {
    return request.error();
  }
  AtomicLog::Reply reply;
  {
    const auto session = session_->lock();
    AtomicLog& log = session_->atomics();
    const auto before = log.find(request->number, request->acknowledged);
    if (!before) {
      return before.error();
    }
    if (*before != nullptr) {
      reply = **before;
    } else {
      reply.number = request->number;
      if (is_skipped(request->sequence)) {
        reply.failure = skipped();
      } else if (auto old = atomic_on_region(node_.regions(), request->region, request->offset, request->kind,
                                             request->operand, request->expected);
                 old) {
        reply.value = *old;
        Stats::add(stats_.data_bytes, sizeof(std::uint64_t));
      } else {
        reply.failure = old.error();
      }
      log.add(reply);
    }
  }
  if (reply.failure) {
    refuse(header.id, request->sequence, reply.failure, out);
    return {};
  }
  put_word(put_header(out.append(wire::kFrameHeaderSize + 8), Kind::value, 0, 8, header.id), reply.value);
  return {};
}

// What came before was executed and answered, except for reads that still wait.
void TcpInbound::on_cancel(std::uint64_t id, SendBuffer& out) {
  reads_.erase(std::remove_if(reads_.begin(), reads_.end(), [id](const Read& read) { return read.id == id; }),
               reads_.end());
  answer(Kind::cancelled, id, out);
}

void TcpInbound::fill(SendBuffer& out) noexcept {
  for (;;) {
    bool any = messages_.post(out, kSpare);
    if (!reads_.empty() && out.room() >= wire::kFrameHeaderSize + reads_.front().bytes + kSpare) {
      serve_read(reads_.front(), out);
      reads_.pop_front();
      any = true;
    }
    if (!any) {
      return;
    }
  }
}

void TcpInbound::answer(Kind kind, std::uint64_t id, SendBuffer& out) noexcept {
  put_header(out.append(wire::kFrameHeaderSize), kind, 0, 0, id);
}

void TcpInbound::refuse(std::uint64_t id, std::uint64_t sequence, const Failure& why, SendBuffer& out) {
  if (sequence != 0 && why.code() != errc::not_executed) {
    failed_sequences_.insert(sequence);
    if (failed_sequences_.size() > kFailedSequences) {
      channel_->fail(
          Failure(errc::malformed, fmt::format("at most {} failed sequences at one time expected", kFailedSequences)),
          PeerState::unknown);
    }
  }
  const std::size_t length = failure_size(why);
  std::byte* to = put_header(out.append(wire::kFrameHeaderSize + padded(length)), Kind::failed, 0, length, id);
  put_padding(put_failure(to, why), length);
}

bool TcpInbound::is_skipped(std::uint64_t sequence) const noexcept {
  return sequence != 0 && !failed_sequences_.empty() && failed_sequences_.contains(sequence);
}

}  // namespace ferry::tcp
