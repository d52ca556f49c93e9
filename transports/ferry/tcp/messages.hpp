// MessageQueue and MessageAssembly: messages on their way into frames and out of them. A message longer than a piece
// travels as several frames, between which other frames get their turn; pieces of two messages never mix. The queue
// knows which messages a send buffer still has whole.
//
// The owner's lock guards a queue; an assembly is the poller's. BodyPart: how much of a frame's body can be taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include <ferry/base/result.hpp>
#include <ferry/tcp/buffers.hpp>
#include <ferry/tcp/frames.hpp>
#include <ferry/wire/bytes.hpp>

namespace ferry::tcp {

// The next bytes of a body of which `left` bytes are still to come, filled up to a multiple of eight behind its end.
struct BodyPart {
  std::size_t bytes = 0;  // of the body
  std::size_t taken = 0;  // with the padding; a multiple of eight

  BodyPart(std::uint64_t left, wire::ByteView available) noexcept {
    if (available.size() >= left && available.size() >= padded(left)) {
      bytes = left;
      taken = padded(left);
    } else {
      bytes = taken = available.size() & ~std::size_t{7};
    }
  }
};

class MessageQueue {
 public:
  bool empty() const noexcept { return messages_.empty(); }
  void clear() noexcept;

  // Appends the message to `out` at once if nothing waits and it fits with `spare` bytes to remain, else queues it.
  void push(wire::Bytes&& message, SendBuffer& out, std::size_t spare);

  // Appends the next piece; false if nothing waits or it does not fit.
  bool post(SendBuffer& out, std::size_t spare) noexcept;

  // Calls f with the first piece at least of each message of which nothing has left `out`, the buffer that it was all
  // appended to; oldest first.
  template <class F>
  void for_each_unsent(const SendBuffer& out, F&& f) const {
    for (const std::uint64_t at : begins_) {
      if (at >= out.sent()) {
        f(first_piece(out.pending().subspan(static_cast<std::size_t>(at - out.sent()))));
      }
    }
    for (std::size_t index = offset_ == 0 ? 0 : 1; index < messages_.size(); ++index) {
      f(wire::ByteView(messages_[index].data(), messages_[index].size()));
    }
  }

  // Of how many messages it knows where they begin in the stream.
  std::size_t remembered() const noexcept { return begins_.size(); }

 private:
  bool post_piece(const wire::Bytes& message, std::size_t& offset, SendBuffer& out, std::size_t spare) noexcept;
  static wire::ByteView first_piece(wire::ByteView frame) noexcept;

  std::deque<wire::Bytes> messages_;
  std::size_t offset_ = 0;            // of the first one's next piece
  std::deque<std::uint64_t> begins_;  // where in the stream messages begin, those that have left once left out
};

class MessageAssembly {
 public:
  // A frame's header. malformed if it does not continue what has begun; too_large above `limit`, with its remedy.
  Result<void> begin(const wire::FrameHeader& header, std::size_t limit);
  bool is_inside_frame() const noexcept { return inside_; }

  // Takes bytes of the frame; true when a message is whole, see message().
  bool take(wire::ByteView available, std::size_t& count);
  wire::Bytes& message() noexcept { return message_; }

 private:
  wire::Bytes message_;
  bool inside_ = false;
  std::size_t left_ = 0;   // of this frame
  std::size_t later_ = 0;  // in frames that follow
};

}  // namespace ferry::tcp
