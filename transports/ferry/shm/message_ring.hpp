// MessageWriter and MessageReader: messages of any size as a stream of bytes through a ring in shared memory.
//
// Each message is a frame header (wire/frame.hpp, kind kMessage) and its payload, and begins a cache line: so a short
// one lies in a single line, which the writer fills while the reader is done with the one before. What does not fit
// waits in the writer's queue and follows when the reader has made room. The writer takes any thread, the reader one at
// a time. What the other side writes into the ring may be anything; nonsense is reported once as malformed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include <ferry/base/result.hpp>
#include <ferry/shm/channel_layout.hpp>
#include <ferry/wire/bytes.hpp>
#include <ferry/wire/frame.hpp>

namespace ferry::shm {

inline constexpr std::uint8_t kMessage = 1;  // the only frame kind

class MessageWriter {
 public:
  MessageWriter(RingWords& words, std::byte* ring) noexcept : words_(words), ring_(ring) {}

  // Queues the message or writes it. True if the ring has new bytes: the reader may have to be woken.
  bool send(wire::Bytes&& message);
  // Writes what waits, as far as there is room; true as above.
  bool flush();
  // True if messages wait and there is room for a part of them.
  bool can_flush() noexcept;
  // No message is taken any more. Gives those that waited, of which nothing is in the ring.
  std::vector<wire::Bytes> close() noexcept;

  bool is_broken() const noexcept { return broken_.load(std::memory_order_relaxed); }

 private:
  struct Pending {
    wire::FrameHeaderBytes header;
    wire::Bytes payload;
    std::size_t sent = 0;  // bytes of header and payload

    std::size_t size() const noexcept { return header.size() + payload.size(); }
  };

  std::size_t room(std::size_t enough) noexcept;
  void put(wire::ByteView bytes) noexcept;
  void end_message() noexcept;
  bool write_part(Pending& message);
  bool write_queue();
  void publish() noexcept;

  RingWords& words_;
  std::byte* const ring_;
  std::mutex mutex_;
  std::deque<Pending> queue_;
  std::uint64_t written_ = 0;
  std::uint64_t read_seen_ = 0;  // the reader has read at least so far
  bool closed_ = false;
  std::atomic<bool> has_queue_{false};
  std::atomic<bool> broken_{false};
};

class MessageReader {
 public:
  // frame_limit: bytes that a message may have, header included.
  MessageReader(RingWords& words, const std::byte* ring, std::size_t frame_limit) noexcept;

  bool has_bytes() const noexcept;  // sequentially consistent, for use before a sleep

  // The next message that is complete; false: there is none yet. malformed: the channel has to end.
  Result<bool> next(wire::Bytes& message);
  // Tells the writer which lines this side has done with; true if the writer waits for room and may have to be woken.
  bool release() noexcept;

 private:
  Result<std::size_t> available() noexcept;
  void get(std::byte* to, std::size_t count) noexcept;

  RingWords& words_;
  const std::byte* const ring_;
  const std::uint32_t payload_limit_;
  std::uint64_t read_ = 0;
  std::uint64_t released_ = 0;
  bool in_payload_ = false;
  std::uint32_t length_ = 0;  // of the payload being read
  wire::Bytes payload_;
};

}  // namespace ferry::shm
