#include <ferry/queue/message_frame.hpp>

#include <utility>

#include <fmt/format.h>

#include <ferry/queue/queue_limits.hpp>
#include <ferry/wire/endian.hpp>
#include <ferry/wire/reader.hpp>
#include <ferry/wire/writer.hpp>

namespace ferry::queue {
namespace {

constexpr std::uint32_t kSentFrame = 0x80;  // of a Send; no command of a lane begins so
constexpr std::uint8_t kFirst = 1;
constexpr std::uint8_t kLast = 2;

std::uint8_t flags_of(const MessageFrame& frame) noexcept {
  return static_cast<std::uint8_t>((frame.is_first ? kFirst : 0) | (frame.is_last ? kLast : 0));
}

Result<void> set_flags(MessageFrame& frame, std::uint32_t flags) {
  if ((flags & ~std::uint32_t{kFirst | kLast}) != 0) {
    return Failure(errc::malformed, fmt::format("a frame of messages: flags {:#x} unknown", flags));
  }
  frame.is_first = (flags & kFirst) != 0;
  frame.is_last = (flags & kLast) != 0;
  return {};
}

wire::Bytes begin(Beneath kind) {
  wire::Bytes bytes;
  bytes.push_back(static_cast<std::byte>(kind));
  return bytes;
}

}  // namespace

void encode_header(std::byte* to, const MessageFrame& frame, const FrameReceipt& receipt) noexcept {
  wire::store_little(to, std::uint32_t{kSentFrame} | flags_of(frame));
  wire::store_little(to + 4, receipt.received);
  wire::store_little(to + 8, frame.number);
  wire::store_little(to + 16, receipt.acknowledged);
}

Result<SentFrame> decode_sent(wire::ByteView bytes) {
  wire::Reader reader(bytes);
  SentFrame sent;
  const std::uint32_t kind = reader.u32();
  sent.receipt.received = reader.u32();
  sent.frame.number = reader.u64();
  sent.receipt.acknowledged = reader.u64();
  if (auto whole = reader.check("a frame of messages"); !whole) {
    return whole.error();
  }
  if (auto set = set_flags(sent.frame, kind ^ kSentFrame); !set) {
    return set.error();
  }
  sent.frame.bytes = reader.raw(reader.remaining());
  if (sent.frame.number == 0 && (kind != kSentFrame || !sent.frame.bytes.empty())) {
    return Failure(errc::malformed, "a frame of messages without a number, with bytes");
  }
  return sent;
}

wire::Bytes encode_beneath(const MessageFrame& frame) {
  wire::Bytes bytes = begin(Beneath::frame);
  wire::Writer writer(bytes);
  writer.u64(frame.number);
  writer.u8(flags_of(frame));
  writer.raw(frame.bytes);
  return bytes;
}

wire::Bytes encode_beneath(Beneath kind, const QueueOffer& offer) {
  wire::Bytes bytes = begin(kind);
  wire::Writer writer(bytes);
  writer.u32(offer.life);
  writer.u32(offer.receives);
  writer.u32(offer.sends);
  writer.raw({offer.address.data(), offer.address.size()});
  return bytes;
}

wire::Bytes encode_beneath(Beneath kind, std::uint32_t life) {
  wire::Bytes bytes = begin(kind);
  wire::Writer(bytes).u32(life);
  return bytes;
}

wire::Bytes encode_beneath(const LinkReceipt& received) {
  wire::Bytes bytes = begin(Beneath::received);
  wire::Writer writer(bytes);
  writer.u32(received.life);
  writer.u64(received.receipt.acknowledged);
  writer.u32(received.receipt.received);
  return bytes;
}

Result<MessageFrame> decode_frame(wire::ByteView body) {
  wire::Reader reader(body);
  MessageFrame frame;
  frame.number = reader.u64();
  const std::uint8_t flags = reader.u8();
  if (auto whole = reader.check("a frame of messages"); !whole) {
    return whole.error();
  }
  if (auto set = set_flags(frame, flags); !set) {
    return set.error();
  }
  if (frame.number == 0) {
    return Failure(errc::malformed, "a frame of messages without a number");
  }
  frame.bytes = reader.raw(reader.remaining());
  return frame;
}

Result<QueueOffer> decode_offer(wire::ByteView body) {
  wire::Reader reader(body);
  QueueOffer offer;
  offer.life = reader.u32();
  offer.receives = reader.u32();
  offer.sends = reader.u32();
  if (auto whole = reader.check("a queue pair for messages"); !whole) {
    return whole.error();
  }
  offer.address = wire::Bytes(reader.raw(reader.remaining()));
  if (offer.life == 0 || offer.receives < kLeastMessageReceives || offer.sends == 0 ||
      offer.address.size() > kAddressBytes) {
    return Failure(errc::malformed,
                   fmt::format("a queue pair for messages: life {}, {} receives, {} sends, an address of {} bytes",
                               offer.life, offer.receives, offer.sends, offer.address.size()));
  }
  return offer;
}

Result<std::uint32_t> decode_life(wire::ByteView body) {
  wire::Reader reader(body);
  const std::uint32_t life = reader.u32();
  if (auto whole = reader.finish("the life of a queue pair for messages"); !whole) {
    return whole.error();
  }
  return life;
}

Result<LinkReceipt> decode_receipt(wire::ByteView body) {
  wire::Reader reader(body);
  LinkReceipt received;
  received.life = reader.u32();
  received.receipt.acknowledged = reader.u64();
  received.receipt.received = reader.u32();
  if (auto whole = reader.finish("a receipt"); !whole) {
    return whole.error();
  }
  return received;
}

std::optional<MessageFrame> frame_of(wire::ByteView beneath) {
  if (beneath.empty() || static_cast<Beneath>(beneath.front()) != Beneath::frame) {
    return std::nullopt;
  }
  auto frame = decode_frame(beneath.subspan(1));
  return frame ? std::optional(*frame) : std::nullopt;
}

Result<void> MessageAssembler::take(const MessageFrame& frame) {
  if (frame.number < next_ || held_.contains(frame.number)) {
    return {};
  }
  if (frame.number > next_) {
    if (held_.size() >= most_held_) {
      return Failure(errc::malformed, fmt::format("frame {} of messages where {} was expected, and {} wait already",
                                                  frame.number, next_, held_.size()));
    }
    held_.emplace(frame.number, Held{frame.is_first, frame.is_last, wire::Bytes(frame.bytes)});
    return {};
  }
  auto appended = append(frame.is_first, frame.is_last, frame.bytes);
  ++next_;
  while (appended && !held_.empty() && held_.begin()->first == next_) {
    const Held held = std::move(held_.begin()->second);
    held_.erase(held_.begin());
    appended = append(held.is_first, held.is_last, {held.bytes.data(), held.bytes.size()});
    ++next_;
  }
  return appended;
}

Result<void> MessageAssembler::append(bool is_first, bool is_last, wire::ByteView bytes) {
  if (is_first == is_inside_) {
    return Failure(errc::malformed, fmt::format("frame {} of messages {}", next_,
                                                is_inside_ ? "begins one inside another" : "continues none"));
  }
  if (bytes.size() > most_bytes_ - message_.size()) {
    return Failure(errc::too_large, fmt::format("a message of more than {} bytes", most_bytes_));
  }
  message_.append(bytes);
  is_inside_ = !is_last;
  if (is_last) {
    messages_.push_back(std::exchange(message_, {}));
  }
  return {};
}

wire::Bytes MessageAssembler::pop() {
  wire::Bytes message = std::move(messages_.front());
  messages_.pop_front();
  return message;
}

}  // namespace ferry::queue
