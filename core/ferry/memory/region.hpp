// LocalRegion: registered memory as its owner sees it. RemoteRegion: the same, as a value that others hold.
//
// Both are dumb values. A RemoteRegion names a range of a region, the rights on it, the owner's incarnation, the
// region's generation and, per transport, the key that reaches it. Its wire form is in region_codec.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ferry/base/strong_id.hpp>
#include <ferry/memory/access.hpp>
#include <ferry/memory/process_id.hpp>

namespace ferry {

using RegionSlot = StrongId<struct RegionSlotTag, std::uint32_t>;  // index + 1 in the owner's table; reused
using Generation = StrongId<struct GenerationTag, std::uint64_t>;  // of a registration; never reused in a process

// How a piece of registered memory can be reached by other processes of the host, told by the allocator that made it.
struct SegmentPlace {
  std::uint32_t segment = 0;  // number of the owner's shared segment; 0: not in one
  std::uint64_t offset = 0;   // bytes from the segment's start
};

struct LocalRegion {
  std::byte* base = nullptr;
  std::uint64_t size = 0;  // bytes, at most limits::kMaxLength
  MemoryKind kind = MemoryKind::host;
  AtomicDomain domain = AtomicDomain::cpu;
  Access rights = Access::all;  // the most that any reference may carry
  SegmentPlace place{};
};

enum class TransportId : std::uint8_t { none = 0, local = 1, shm = 2, verbs = 3, tcp = 4, sim = 5 };

// What one transport needs to reach a region besides slot and generation; the meaning is the transport's own.
struct TransportKey {
  TransportId transport = TransportId::none;
  std::uint32_t key = 0;      // shm: segment; verbs: rkey
  std::uint64_t address = 0;  // shm: offset in the segment, or the owner's address; verbs: iova
};

struct RemoteRegion {
  static constexpr std::size_t kKeys = 3;

  ProcessId owner{};
  RegionSlot slot{};
  MemoryKind kind = MemoryKind::host;
  AtomicDomain domain = AtomicDomain::cpu;
  Access rights = Access::none;
  std::uint8_t misalignment = 0;  // the region's first address modulo 8
  Generation generation{};
  std::uint64_t size = 0;    // bytes of the whole region
  std::uint64_t offset = 0;  // where the referenced range begins in it
  std::uint64_t length = 0;  // bytes of the referenced range; offset + length <= size
  std::array<TransportKey, kKeys> keys{};

  // The key for a transport; null if the owner gave none.
  const TransportKey* key_for(TransportId transport) const noexcept {
    for (const TransportKey& key : keys) {
      if (key.transport == transport) {
        return &key;
      }
    }
    return nullptr;
  }
};
static_assert(std::is_trivially_copyable_v<RemoteRegion>);

}  // namespace ferry
