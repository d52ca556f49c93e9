#include <ferry/memory/region_codec.hpp>

#include <fmt/format.h>

#include <ferry/base/limits.hpp>

namespace ferry {

void encode_region(wire::Writer& writer, const RemoteRegion& region) {
  writer.u64(region.owner.id);
  writer.u64(region.owner.incarnation);
  writer.u32(region.slot.value());
  writer.u8(static_cast<std::uint8_t>(region.kind));
  writer.u8(static_cast<std::uint8_t>(region.domain));
  writer.u8(static_cast<std::uint8_t>(region.rights));
  std::uint8_t keys = 0;
  for (const TransportKey& key : region.keys) {
    keys = static_cast<std::uint8_t>(keys + (key.transport != TransportId::none ? 1 : 0));
  }
  writer.u8(static_cast<std::uint8_t>((region.misalignment & 7) | (keys << 4)));
  writer.u64(region.generation.value());
  writer.u64(region.size);
  writer.u64(region.offset);
  writer.u64(region.length);
  for (const TransportKey& key : region.keys) {
    if (key.transport != TransportId::none) {
      writer.u8(static_cast<std::uint8_t>(key.transport));
      writer.u32(key.key);
      writer.u64(key.address);
    }
  }
}

Result<RemoteRegion> decode_region(wire::Reader& reader) {
  RemoteRegion region;
  region.owner.id = reader.u64();
  region.owner.incarnation = reader.u64();
  region.slot = RegionSlot(reader.u32());
  const std::uint8_t kind = reader.u8();
  const std::uint8_t domain = reader.u8();
  const std::uint8_t rights = reader.u8();
  const std::uint8_t packed = reader.u8();
  region.generation = Generation(reader.u64());
  region.size = reader.u64();
  region.offset = reader.u64();
  region.length = reader.u64();
  if (auto complete = reader.check("reference"); !complete) {
    return complete.error();
  }
  const std::size_t keys = packed >> 4;
  const auto refuse = [](std::string text) { return Failure(errc::malformed, "reference: " + std::move(text)); };
  if (!region.owner || !region.slot || !region.generation) {
    return refuse("owner, slot and generation must not be zero");
  }
  if (kind != static_cast<std::uint8_t>(MemoryKind::host) && kind != static_cast<std::uint8_t>(MemoryKind::dma_buf)) {
    return refuse(fmt::format("memory kind {} is unknown", kind));
  }
  if (domain > static_cast<std::uint8_t>(AtomicDomain::nic)) {
    return refuse(fmt::format("atomic domain {} is unknown", domain));
  }
  if (rights > static_cast<std::uint8_t>(Access::all)) {
    return refuse(fmt::format("rights {:#x} are unknown", rights));
  }
  if ((packed & 8) != 0 || keys > RemoteRegion::kKeys) {
    return refuse(fmt::format("at most {} keys, not {}", RemoteRegion::kKeys, keys));
  }
  if (region.size > limits::kMaxLength || region.offset > region.size || region.length > region.size - region.offset) {
    return refuse("its range does not lie inside its region").with_range(region.offset, region.length, region.size);
  }
  region.kind = static_cast<MemoryKind>(kind);
  region.domain = static_cast<AtomicDomain>(domain);
  region.rights = static_cast<Access>(rights);
  region.misalignment = packed & 7;
  for (std::size_t index = 0; index < keys; ++index) {
    TransportKey& key = region.keys[index];
    const std::uint8_t transport = reader.u8();
    key.key = reader.u32();
    key.address = reader.u64();
    if (transport == 0 || transport > static_cast<std::uint8_t>(TransportId::sim)) {
      return reader.ok() ? refuse(fmt::format("transport {} is unknown", transport))
                         : reader.check("reference").error();
    }
    key.transport = static_cast<TransportId>(transport);
  }
  if (auto complete = reader.check("reference"); !complete) {
    return complete.error();
  }
  return region;
}

}  // namespace ferry
