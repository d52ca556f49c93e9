// SendBuffer and ReceiveBuffer: the bytes between frames and a socket; what user data is copied through, so that the
// kernel never touches user memory and an aligned word is never cut.
//
// Fixed memory, made once per socket; pages that were never used cost nothing. Contents stay aligned: a frame begins at
// a multiple of eight bytes of the stream and of the memory. Not thread-safe, except where stated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>

#include <ferry/base/result.hpp>
#include <ferry/tcp/frames.hpp>
#include <ferry/wire/bytes.hpp>

namespace ferry::tcp {

namespace detail {
struct PageDelete {
  void operator()(std::byte* memory) const noexcept { ::operator delete(memory, std::align_val_t(4096)); }
};
using Pages = std::unique_ptr<std::byte[], PageDelete>;
inline Pages make_pages(std::size_t size) {
  return Pages(static_cast<std::byte*>(::operator new(size, std::align_val_t(4096))));
}
}  // namespace detail

class SendBuffer {
 public:
  // Pieces that share a system call: what a send costs besides the copy, not the bytes, is what limits bulk. More would
  // lie longer in front of what is urgent, and of a cancellation; see also kUnsentBytes in socket.cpp.
  static constexpr std::size_t kPieces = 4;
  static constexpr std::size_t kCapacity = kPieces * padded(wire::kFrameHeaderSize + kPayloadBytes);

  std::size_t room() const noexcept { return kCapacity - end_; }
  bool empty() const noexcept { return begin_ == end_; }
  std::size_t size() const noexcept { return end_ - begin_; }

  // `count` more bytes, a multiple of eight, at most room(). They may be written while another thread sends earlier
  // ones; they count at once.
  std::byte* append(std::size_t count) noexcept {
    std::byte* at = memory_.get() + end_;
    end_ += count;
    appended_ += count;
    return at;
  }
  // Takes back the last `count` bytes, which nobody has sent.
  void retract(std::size_t count) noexcept {
    end_ -= count;
    appended_ -= count;
  }

  // Bytes ever appended, and of these how many are no longer here.
  std::uint64_t appended() const noexcept { return appended_; }
  std::uint64_t sent() const noexcept { return appended_ - size(); }

  wire::ByteView pending() const noexcept { return {memory_.get() + begin_, end_ - begin_}; }

  // The first `count` bytes are gone. Moves the rest to the front where little room is left; not while others send.
  void sent(std::size_t count) noexcept {
    begin_ += count;
    if (begin_ == end_) {
      begin_ = end_ = 0;
    } else if (begin_ >= kCapacity / 2) {
      const std::size_t aligned = begin_ & ~std::size_t{7};
      std::memmove(memory_.get(), memory_.get() + aligned, end_ - aligned);
      begin_ -= aligned;
      end_ -= aligned;
    }
  }

 private:
  detail::Pages memory_ = detail::make_pages(kCapacity);
  std::size_t begin_ = 0;
  std::size_t end_ = 0;  // a multiple of eight
  std::uint64_t appended_ = 0;
};

class ReceiveBuffer {
 public:
  static constexpr std::size_t kCapacity = std::size_t{256} << 10;
  static_assert(kCapacity >= 2 * kHeadBytes);

  // Where the next bytes go; never empty, as what is left unread is shorter than a head.
  std::span<std::byte> space() noexcept {
    if (begin_ == end_) {
      begin_ = end_ = 0;
    } else if (begin_ > 0 && kCapacity - end_ < kCapacity / 2) {
      std::memmove(memory_.get(), memory_.get() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    return {memory_.get() + end_, kCapacity - end_};
  }
  void received(std::size_t count) noexcept { end_ += count; }

  wire::ByteView unread() const noexcept { return {memory_.get() + begin_, end_ - begin_}; }
  // `count` is a multiple of eight.
  void taken(std::size_t count) noexcept { begin_ += count; }

 private:
  detail::Pages memory_ = detail::make_pages(kCapacity);
  std::size_t begin_ = 0;  // a multiple of eight
  std::size_t end_ = 0;
};

// Both of one socket.
struct ChannelBuffers {
  ReceiveBuffer in;
  SendBuffer out;

  // resource_exhausted if there is no memory for them.
  static Result<ChannelBuffers> create();
};

}  // namespace ferry::tcp
