// MemoryDomain: one transport's view of the owner's registered memory: mints keys, and silences access on revocation.
//
// Owner: the transport. Any thread. The RegionTable decides what is registered; a domain only mirrors it.
#pragma once

#include <ferry/base/result.hpp>
#include <ferry/base/time.hpp>
#include <ferry/memory/region.hpp>
#include <ferry/memory/region_table.hpp>

namespace ferry {

class MemoryDomain {
 public:
  virtual ~MemoryDomain() = default;

  // Makes the region reachable for peers of this transport. The key travels in references. `unsupported` where this
  // transport cannot reach such memory: references then carry no key of it.
  virtual Result<TransportKey> attach(RegionHandle handle, const LocalRegion& region) noexcept = 0;

  // Returns when no peer can touch the region through this transport any more: at once, or after accesses that began
  // have ended, channels in their way torn down. timed_out if a peer could not be silenced by `deadline`: the caller
  // then quarantines the memory. Called after RegionTable::revoke.
  virtual Result<void> detach(RegionHandle handle, TimePoint deadline) noexcept = 0;
};

}  // namespace ferry
