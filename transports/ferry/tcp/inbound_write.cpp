#include <ferry/tcp/inbound.hpp>

#include <fmt/format.h>

namespace ferry::tcp {

Result<void> TcpInbound::begin_write(const wire::FrameHeader& header, wire::ByteView head) {
  const auto refuse_frame = [&](const char* what) {
    return Failure(errc::malformed,
                   fmt::format("write request: {}; found flags {:#x} and {} bytes", what, header.flags, header.length));
  };
  const AccessRequest request = get_access(head);
  if (header.flags > kUnanswered) {
    return refuse_frame("at most one of the flags 1 and 2 expected");
  }
  if (request.ranges > kRanges) {
    return refuse_frame("fewer ranges expected");
  }
  write_.id = header.id;
  write_.flags = header.flags;
  write_.request = request;
  write_.range = 0;
  write_.done = 0;
  write_.touched = false;
  write_.failure = {};
  if (is_skipped(request.sequence)) {
    write_.failure = Failure(errc::not_executed, "an earlier member of the sequence failed");
  }
  std::uint64_t bytes = 0;
  RegionTable& regions = node_.regions();
  if (request.ranges == 0 && !write_.failure) {  // a write of nothing needs a living region
    if (const auto pin = regions.pin(request.region, Access::write, 0, 0); !pin) {
      write_.failure = pin.error();
    }
  }
  for (std::size_t index = 0; index < request.ranges; ++index) {
    const Range range = get_range(head.data() + AccessRequest::kSize + index * kRangeSize);
    if (range.length > kPieceBytes) {
      return refuse_frame("a range of at most one piece expected");
    }
    write_.ranges[index] = range;
    bytes += padded(range.length);
    // All or nothing, as far as the request itself can be wrong.
    if (!write_.failure) {
      if (const auto pin = regions.pin(request.region, Access::write, range.offset, range.length); !pin) {
        write_.failure = pin.error();
      }
    }
  }
  if (head.size() + bytes != header.length) {
    return refuse_frame("the bytes of its ranges expected");
  }
  write_.active = true;
  return {};
}

Taken TcpInbound::take_write(wire::ByteView bytes, std::size_t& count) {
  const std::size_t ranges = write_.request.ranges;
  for (;;) {
    while (write_.range < ranges && write_.done == write_.ranges[write_.range].length) {
      ++write_.range;
      write_.done = 0;
    }
    if (write_.range == ranges) {
      break;
    }
    const BodyPart part(write_.ranges[write_.range].length - write_.done, bytes.subspan(count));
    if (part.taken == 0) {
      return Taken::need_more;
    }
    write_part(bytes.data() + count, part.bytes);
    count += part.taken;
  }
  {
    const std::lock_guard lock(mutex_);
    if (state_ != State::open) {
      return Taken::ended;
    }
    if (channel_->out().room() < wire::kFrameHeaderSize + padded(kFailureBytes)) {
      return Taken::no_room;
    }
  }
  finish_write();
  return Taken::some;
}

void TcpInbound::write_part(const std::byte* from, std::size_t count) noexcept {
  const Range& range = write_.ranges[write_.range];
  if (!write_.failure) {
    const auto pin = node_.regions().pin(write_.request.region, Access::write, range.offset + write_.done, count);
    if (pin) {
      copy_words(pin->address(), from, count);
      write_.touched = true;
      Stats::add(stats_.data_bytes, count);
    } else {
      write_.failure = write_.touched ? pin.error().with_effect(Effect::unknown) : pin.error();
    }
  }
  write_.done += count;
}

void TcpInbound::finish_write() {
  write_.active = false;
  if (!write_.failure && (write_.flags & kNotify) != 0) {
    if (auto told = node_.regions().notify(write_.request.region, write_.request.tag); !told) {
      write_.failure = told.error().with_effect(Effect::unknown);
    }
  }
  const bool is_answered = (write_.flags & kUnanswered) == 0;
  if (!is_answered) {
    if (write_.failure && !late_failure_) {
      late_failure_ = write_.failure;
    }
    return;
  }
  const std::lock_guard lock(mutex_);
  SendBuffer& out = channel_->out();
  if (write_.failure) {
    refuse(write_.id, write_.request.sequence, write_.failure, out);
  } else {
    answer(Kind::done, write_.id, out);
  }
}

Taken TcpInbound::take_message(wire::ByteView bytes, std::size_t& count) {
  if (!assembly_.take(bytes, count)) {
    return assembly_.is_inside_frame() ? Taken::need_more : Taken::some;
  }
  Stats::add(stats_.messages);
  if (MessageSink* sink = node_.sink()) {
    sink->on_request(shared_from_this(), std::move(assembly_.message()));
  }
  return Taken::some;
}

}  // namespace ferry::tcp
