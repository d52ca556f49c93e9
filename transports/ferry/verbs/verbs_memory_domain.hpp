// VerbsMemoryDomain: the keys by which peers reach this process's regions: one registration each. Internal.
//
// Revoked by deregistration: the device refuses what comes afterwards, and what it had accepted has landed when it
// returns. Regions are registered at addresses that no registration of this process had before, from a random start, so
// that a key that the device uses again fails the range check of a stale reference. Owner: the VerbsTransport.
#pragma once

#include <map>
#include <mutex>

#include <ferry/transport/memory_domain.hpp>
#include <ferry/verbs/memory_region.hpp>

namespace ferry::verbs {

// Addresses for registrations: never the same bytes twice.
class IovaSpace {
 public:
  // start: random; cut to what leaves room on both sides.
  explicit IovaSpace(std::uint64_t start) noexcept;
  // For `length` bytes at `memory`, congruent to it modulo kCongruence; 0: all are used up.
  std::uint64_t take(const std::byte* memory, std::uint64_t length) noexcept;

  static constexpr std::uint64_t kCongruence = std::uint64_t{2} << 20;  // of a huge page: devices then use few entries
  static constexpr std::uint64_t kEnd = std::uint64_t{1} << 62;

 private:
  std::uint64_t next_;
};

class VerbsMemoryDomain final : public MemoryDomain {
 public:
  explicit VerbsMemoryDomain(std::shared_ptr<ProtectionDomain> domain);

  Result<TransportKey> attach(RegionHandle handle, const LocalRegion& region) noexcept override;
  Result<void> detach(RegionHandle handle, TimePoint deadline) noexcept override;

  std::size_t registrations() const noexcept;

 private:
  struct Attached {
    Generation generation;
    MemoryRegion region;
  };

  const std::shared_ptr<ProtectionDomain> domain_;
  mutable std::mutex mutex_;
  IovaSpace addresses_;
  std::map<RegionSlot, Attached> attached_;
};

}  // namespace ferry::verbs
