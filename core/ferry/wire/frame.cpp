#include <ferry/wire/frame.hpp>

#include <fmt/format.h>

#include <ferry/wire/endian.hpp>

namespace ferry::wire {

FrameHeaderBytes encode_frame_header(const FrameHeader& header) noexcept {
  FrameHeaderBytes bytes;
  store_little(bytes.data(), header.length);
  store_little(bytes.data() + 4, header.kind);
  store_little(bytes.data() + 5, header.flags);
  store_little(bytes.data() + 6, std::uint16_t{0});
  store_little(bytes.data() + 8, header.id);
  return bytes;
}

Result<FrameHeader> decode_frame_header(Reader& reader, std::uint32_t limit) {
  FrameHeader header;
  header.length = reader.u32();
  header.kind = reader.u8();
  header.flags = reader.u8();
  const std::uint16_t reserved = reader.u16();
  header.id = reader.u64();
  if (auto complete = reader.check("frame header"); !complete) {
    return complete.error();
  }
  if (reserved != 0) {
    return Failure(errc::malformed, fmt::format("frame header: reserved field zero expected, found {:#x}", reserved));
  }
  if (header.length > limit) {
    return Failure(errc::malformed,
                   fmt::format("frame header: payload of at most {} bytes expected, found {}", limit, header.length));
  }
  return header;
}

}  // namespace ferry::wire
