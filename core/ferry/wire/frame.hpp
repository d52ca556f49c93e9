// The frame header: what stands before each message in a byte stream or a ring. README.md has the format in prose.
//
//   offset 0  u32  length of the payload that follows, in bytes
//          4  u8   kind     the transport's
//          5  u8   flags    the transport's
//          6  u16  reserved, zero
//          8  u64  id       the transport's: which request this is, or answers
//
// Little-endian, never padded. What a kind means, and what to do about an unknown one, is the transport's to decide.
// Plain values; no allocation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <ferry/base/result.hpp>
#include <ferry/wire/bytes.hpp>
#include <ferry/wire/reader.hpp>

namespace ferry::wire {

inline constexpr std::size_t kFrameHeaderSize = 16;
using FrameHeaderBytes = std::array<std::byte, kFrameHeaderSize>;

struct FrameHeader {
  std::uint32_t length = 0;  // bytes of payload, without the header
  std::uint8_t kind = 0;
  std::uint8_t flags = 0;
  std::uint64_t id = 0;

  friend bool operator==(const FrameHeader&, const FrameHeader&) = default;
};

FrameHeaderBytes encode_frame_header(const FrameHeader& header) noexcept;

// Takes a header from a peer. malformed if it is cut off, if its reserved field is not zero, or if its length is above
// `limit`: the bytes behind it then mean nothing, and the channel has to end.
Result<FrameHeader> decode_frame_header(Reader& reader, std::uint32_t limit);

}  // namespace ferry::wire
