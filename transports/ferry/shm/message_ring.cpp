#include <ferry/shm/message_ring.hpp>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <ferry/shm/mapped_order.hpp>

namespace ferry::shm {
namespace {

constexpr std::size_t kMask = kRingBytes - 1;
constexpr std::size_t kLineBytes = 64;  // of a cache

// The first position at `position` or behind it where a line begins. What the writer is given to fill ends at the end
// of a line, so there is room up to here wherever there is room for the byte before.
constexpr std::uint64_t line_behind(std::uint64_t position) noexcept {
  return (position + kLineBytes - 1) / kLineBytes * kLineBytes;
}

}  // namespace

// What is free, looked up again only if what the reader said last is not `enough`: that word is in the reader's cache.
std::size_t MessageWriter::room(std::size_t enough) noexcept {
  if (kRingBytes - (written_ - read_seen_) < enough) {
    const std::uint64_t read = words_.read.value.load(std::memory_order_seq_cst);
    if (written_ - read > kRingBytes) {
      broken_.store(true, std::memory_order_relaxed);
      return 0;
    }
    read_seen_ = read;
  }
  return kRingBytes - (written_ - read_seen_);
}

void MessageWriter::put(wire::ByteView bytes) noexcept {
  const std::size_t at = written_ & kMask;
  const std::size_t first = std::min(bytes.size(), kRingBytes - at);
  std::memcpy(ring_ + at, bytes.data(), first);
  std::memcpy(ring_, bytes.data() + first, bytes.size() - first);
  written_ += bytes.size();
}

void MessageWriter::end_message() noexcept {
  written_ = line_behind(written_);
}

// Puts what fits of one message; true if that is all of it. Publishes nothing yet.
bool MessageWriter::write_part(Pending& message) {
  std::size_t free = room(message.size() - message.sent);
  if (message.sent < message.header.size()) {
    const std::size_t count = std::min(free, message.header.size() - message.sent);
    put(wire::ByteView(message.header).subspan(message.sent, count));
    message.sent += count;
    free -= count;
  }
  if (message.sent >= message.header.size()) {
    const std::size_t done = message.sent - message.header.size();
    const std::size_t count = std::min(free, message.payload.size() - done);
    put(wire::ByteView(message.payload.data() + done, count));
    message.sent += count;
  }
  if (message.sent < message.size()) {
    return false;
  }
  end_message();
  return true;
}

// Under the lock. True if the ring has new bytes.
bool MessageWriter::write_queue() {
  const std::uint64_t before = written_;
  for (int attempt = 0; attempt < 2 && !queue_.empty(); ++attempt) {
    while (!queue_.empty() && write_part(queue_.front())) {
      queue_.pop_front();
    }
    if (!queue_.empty()) {
      // Announce, then look again: either this sees the room that the reader made, or the reader sees the word.
      words_.waiting.value.store(1, std::memory_order_seq_cst);
    }
  }
  has_queue_.store(!queue_.empty(), std::memory_order_relaxed);
  if (written_ == before) {
    return false;
  }
  publish();
  return true;
}

// A store and a fence rather than an exchange, which would begin to fetch the word's cache line only when the message's
// own lines, which the reader holds too, have come back. The fence is for who looks next whether the reader sleeps.
void MessageWriter::publish() noexcept {
  order_before();
  words_.written.value.store(written_, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

bool MessageWriter::send(wire::Bytes&& message) {
  const std::lock_guard lock(mutex_);
  if (closed_) {
    return false;
  }
  const wire::FrameHeader header{static_cast<std::uint32_t>(message.size()), kMessage, 0, 0};
  Pending pending{wire::encode_frame_header(header), {}, 0};
  const std::size_t size = pending.header.size() + message.size();
  if (queue_.empty() && room(size) >= size) {
    put(pending.header);
    put(message);
    end_message();
    publish();
    return true;
  }
  pending.payload = std::move(message);
  queue_.push_back(std::move(pending));
  return write_queue();
}

bool MessageWriter::flush() {
  if (!has_queue_.load(std::memory_order_relaxed)) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  return write_queue();
}

bool MessageWriter::can_flush() noexcept {
  if (!has_queue_.load(std::memory_order_relaxed)) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  return !queue_.empty() && room(1) > 0;
}

std::vector<wire::Bytes> MessageWriter::close() noexcept {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  std::vector<wire::Bytes> unsent;
  for (Pending& message : queue_) {
    if (message.sent == 0) {
      unsent.push_back(std::move(message.payload));
    }
  }
  queue_.clear();
  has_queue_.store(false, std::memory_order_relaxed);
  return unsent;
}

MessageReader::MessageReader(RingWords& words, const std::byte* ring, std::size_t frame_limit) noexcept
    : words_(words),
      ring_(ring),
      payload_limit_(static_cast<std::uint32_t>(std::min<std::size_t>(frame_limit, UINT32_MAX))) {}

bool MessageReader::has_bytes() const noexcept {
  return words_.written.value.load(std::memory_order_seq_cst) != read_;
}

Result<std::size_t> MessageReader::available() noexcept {
  // The writer fills this line before it counts it: fetched together with the count, it comes when that does.
  __builtin_prefetch(ring_ + (read_ & kMask));
  const std::uint64_t count = words_.written.value.load(std::memory_order_acquire) - read_;
  if (count > kRingBytes) {
    return Failure(errc::malformed,
                   fmt::format("message ring: it says that it holds {} bytes and has {}", count, kRingBytes));
  }
  return static_cast<std::size_t>(count);
}

void MessageReader::get(std::byte* to, std::size_t count) noexcept {
  const std::size_t at = read_ & kMask;
  const std::size_t first = std::min(count, kRingBytes - at);
  std::memcpy(to, ring_ + at, first);
  std::memcpy(to + first, ring_, count - first);
  read_ += count;
}

Result<bool> MessageReader::next(wire::Bytes& message) {
  auto count = available();
  if (!count) {
    return count.error();
  }
  if (!in_payload_) {
    if (*count < wire::kFrameHeaderSize) {
      return false;
    }
    wire::FrameHeaderBytes bytes;
    get(bytes.data(), bytes.size());
    *count -= bytes.size();
    wire::Reader reader(bytes);
    auto header = wire::decode_frame_header(reader, payload_limit_);
    if (!header) {
      return header.error();
    }
    if (header->kind != kMessage) {
      return Failure(errc::malformed, fmt::format("message ring: frame kind {} is unknown", header->kind));
    }
    in_payload_ = true;
    length_ = header->length;
    payload_.clear();
  }
  // Room is made for what has arrived, not for what was announced.
  const std::size_t part = std::min<std::size_t>(*count, length_ - payload_.size());
  get(wire::extend(payload_, part), part);
  if (payload_.size() < length_) {
    return false;
  }
  in_payload_ = false;
  read_ = line_behind(read_);
  order_after();
  message = std::exchange(payload_, {});
  return true;
}

bool MessageReader::release() noexcept {
  const std::uint64_t done = read_ / kLineBytes * kLineBytes;
  if (released_ == done) {
    return false;
  }
  released_ = done;
  words_.read.value.store(done, std::memory_order_seq_cst);
  return words_.waiting.value.load(std::memory_order_seq_cst) != 0 &&
         words_.waiting.value.exchange(0, std::memory_order_seq_cst) != 0;
}

}  // namespace ferry::shm
