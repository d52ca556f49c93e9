// MessageFrame: a numbered part of the stream of messages of a MessageLink, on either of the ways it can take.
// MessageAssembler: frames into messages again, each once and in order, whichever way they came.
//
// Formats in README.md. Decoding believes nothing: malformed for whatever the format does not allow. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include <ferry/base/result.hpp>
#include <ferry/wire/bytes.hpp>

namespace ferry::queue {

struct MessageFrame {
  std::uint64_t number = 0;  // of one direction of a link, from 1 on; 0: no part of a message
  bool is_first = false;     // of its message
  bool is_last = false;      // same
  wire::ByteView bytes;      // a view
};

// What a sender says of the other direction, in passing.
struct FrameReceipt {
  std::uint64_t acknowledged = 0;  // every frame up to this number has been taken
  std::uint32_t received = 0;      // receives of this queue pair used and posted again, modulo 2^32
};

inline constexpr std::size_t kFrameHeader = 24;  // bytes, of a Send

// First byte of a message on the link beneath.
enum class Beneath : std::uint8_t {
  frame = 1,     // both
  open = 2,      // initiator: its queue pair
  ready = 3,     // owner: its own
  none = 4,      // owner: it has none to give
  lost = 5,      // both: what was not acknowledged follows on the link
  received = 6,  // both: a receipt for which there was no credit
};

struct QueueOffer {  // open, ready
  std::uint32_t life = 0;
  std::uint32_t receives = 0;  // posted
  std::uint32_t sends = 0;     // that may be on their way, not acknowledged
  wire::Bytes address;
};

struct LinkReceipt {
  std::uint32_t life = 0;
  FrameReceipt receipt{};
};

// Writes the header of a Send, of kFrameHeader bytes.
void encode_header(std::byte* to, const MessageFrame& frame, const FrameReceipt& receipt) noexcept;
struct SentFrame {
  MessageFrame frame{};
  FrameReceipt receipt{};
};
Result<SentFrame> decode_sent(wire::ByteView bytes);

wire::Bytes encode_beneath(const MessageFrame& frame);
wire::Bytes encode_beneath(Beneath kind, const QueueOffer& offer);
wire::Bytes encode_beneath(Beneath kind, std::uint32_t life);  // none, lost
wire::Bytes encode_beneath(const LinkReceipt& received);

// Each of the bytes behind the first.
Result<MessageFrame> decode_frame(wire::ByteView body);
Result<QueueOffer> decode_offer(wire::ByteView body);
Result<std::uint32_t> decode_life(wire::ByteView body);
Result<LinkReceipt> decode_receipt(wire::ByteView body);

// The frame that a message on the link beneath holds, if it holds one.
std::optional<MessageFrame> frame_of(wire::ByteView beneath);

class MessageAssembler {
 public:
  // message_bytes: of a message, at most. held: frames that came before their turn, at most.
  MessageAssembler(std::size_t message_bytes, std::size_t held) noexcept
      : most_bytes_(message_bytes), most_held_(held) {}

  // A frame that was taken before is dropped. malformed, too_large.
  Result<void> take(const MessageFrame& frame);
  // The number of the latest frame all of whose predecessors have come, too.
  std::uint64_t taken() const noexcept { return next_ - 1; }

  bool has_message() const noexcept { return !messages_.empty(); }
  wire::Bytes pop();

 private:
  struct Held {
    bool is_first = false;
    bool is_last = false;
    wire::Bytes bytes;
  };
  Result<void> append(bool is_first, bool is_last, wire::ByteView bytes);

  const std::size_t most_bytes_;
  const std::size_t most_held_;
  std::uint64_t next_ = 1;
  std::map<std::uint64_t, Held> held_;
  bool is_inside_ = false;
  wire::Bytes message_;
  std::deque<wire::Bytes> messages_;
};

}  // namespace ferry::queue
