// SharedMemory: memory of this process that other processes of the host can map: what `ferry::allocate` hands out.
//
// An interface of core; the shm transport implements it. Owner: shared by the transport and by whoever allocates from
// it, so that memory may outlive the transport. Any thread may call anything. Guarantee: what was granted is charged to
// this process already, so touching it cannot fail; memory that a peer may still touch (MemoryDomain::detach timed out)
// is not handed out again, also after its deallocate().
#pragma once

#include <cstddef>
#include <cstdint>

#include <ferry/base/result.hpp>
#include <ferry/memory/region.hpp>

namespace ferry {

struct SharedBlock {
  std::byte* memory = nullptr;
  SegmentPlace place{};
};

class SharedMemory {
 public:
  virtual ~SharedMemory() = default;

  // At least `bytes` bytes (zero counts as one) at a multiple of `alignment`, a power of two. The contents are
  // unspecified. resource_exhausted names the bytes needed, those free, the limit that says so and the remedy.
  virtual Result<SharedBlock> allocate(std::size_t bytes, std::size_t alignment) noexcept = 0;

  // Takes back what allocate() gave, with the same numbers. Regions in it were revoked before.
  virtual void deallocate(std::byte* memory, std::size_t bytes, std::size_t alignment) noexcept = 0;

  // Where [memory, memory + size) lies; place.segment is 0 unless all of it is in one segment of this process. Cheap:
  // asked at every registration.
  virtual SegmentPlace place_of(const std::byte* memory, std::uint64_t size) const noexcept = 0;
};

}  // namespace ferry
