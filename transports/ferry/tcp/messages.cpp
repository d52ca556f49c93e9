#include <ferry/tcp/messages.hpp>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace ferry::tcp {

void MessageQueue::clear() noexcept {
  messages_.clear();
  offset_ = 0;
  begins_.clear();
}

wire::ByteView MessageQueue::first_piece(wire::ByteView frame) noexcept {
  const auto header = get_header(frame);
  return header ? frame.subspan(wire::kFrameHeaderSize, header->length) : wire::ByteView();
}

bool MessageQueue::post_piece(const wire::Bytes& message, std::size_t& offset, SendBuffer& out,
                              std::size_t spare) noexcept {
  const std::size_t piece = std::min(message.size() - offset, kPieceBytes);
  const std::size_t size = wire::kFrameHeaderSize + padded(piece);
  if (out.room() < size + spare) {
    return false;
  }
  if (offset == 0) {
    while (!begins_.empty() && begins_.front() < out.sent()) {
      begins_.pop_front();
    }
    begins_.push_back(out.appended());
  }
  std::byte* to = out.append(size);
  to = put_header(to, Kind::message, 0, piece, message.size() - offset - piece);
  std::memcpy(to, message.data() + offset, piece);
  put_padding(to + piece, piece);
  offset += piece;
  return true;
}

void MessageQueue::push(wire::Bytes&& message, SendBuffer& out, std::size_t spare) {
  std::size_t offset = 0;
  if (messages_.empty() && message.size() <= kPieceBytes && post_piece(message, offset, out, spare)) {
    return;
  }
  messages_.push_back(std::move(message));
}

bool MessageQueue::post(SendBuffer& out, std::size_t spare) noexcept {
  if (messages_.empty() || !post_piece(messages_.front(), offset_, out, spare)) {
    return false;
  }
  if (offset_ == messages_.front().size()) {
    messages_.pop_front();
    offset_ = 0;
  }
  return true;
}

Result<void> MessageAssembly::begin(const wire::FrameHeader& header, std::size_t limit) {
  if (header.flags != 0 || header.length > kPieceBytes) {
    return Failure(errc::malformed, fmt::format("message: a piece of at most {} bytes without flags expected, found {} "
                                                "bytes with flags {:#x}",
                                                kPieceBytes, header.length, header.flags));
  }
  if (later_ != 0 && (header.length == 0 || header.length > later_ || header.id != later_ - header.length)) {
    return Failure(errc::malformed, fmt::format("message: {} more bytes expected, found {} and {} behind them", later_,
                                                header.length, header.id));
  }
  if (later_ == 0) {
    if (header.id > limit || header.length > limit - header.id) {
      return Failure(errc::too_large,
                     fmt::format("message: at most {} bytes expected (frame_bytes of NodeLimits), found {} and {} "
                                 "behind them; pass large data by reference, or raise frame_bytes everywhere",
                                 limit, header.length, header.id));
    }
    message_.clear();
    message_.reserve(header.length + header.id);
  }
  inside_ = true;
  left_ = header.length;
  later_ = header.id;
  return {};
}

bool MessageAssembly::take(wire::ByteView available, std::size_t& count) {
  const BodyPart part(left_, available);
  std::memcpy(wire::extend(message_, part.bytes), available.data(), part.bytes);
  left_ -= part.bytes;
  count = part.taken;
  if (left_ > 0) {
    return false;
  }
  inside_ = false;
  return later_ == 0;
}

}  // namespace ferry::tcp
