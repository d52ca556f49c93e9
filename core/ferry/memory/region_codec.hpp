// The wire form of a RemoteRegion: fixed little-endian fields, then the keys that are set.
//
//   u64 owner id, u64 owner incarnation, u32 slot, u8 kind, u8 domain, u8 rights, u8 misalignment and key count
//   (low and high four bits), u64 generation, u64 size, u64 offset, u64 length,
//   then per key: u8 transport, u32 key, u64 address                               56 bytes + 13 per key
//
// Decoding checks every field that could mislead this process (ranges, enumerators, counts), not whether the region
// exists: that is for its owner to say.
#pragma once

#include <ferry/base/result.hpp>
#include <ferry/memory/region.hpp>
#include <ferry/wire/reader.hpp>
#include <ferry/wire/writer.hpp>

namespace ferry {

void encode_region(wire::Writer& writer, const RemoteRegion& region);
Result<RemoteRegion> decode_region(wire::Reader& reader);

}  // namespace ferry
