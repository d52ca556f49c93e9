// SimMemoryDomain: the keys of one simulated process's regions. The fabric checks a key with every packet, as a NIC
// does.
//
// Detaching is one step: what reaches the owner afterwards fails with `revoked`. Keys are never reused.
// Owner: the SimTransport. One thread.
#pragma once

#include <cstdint>
#include <vector>

#include <ferry/sim/scheduler.hpp>
#include <ferry/transport/memory_domain.hpp>

namespace ferry::sim {

class SimMemoryDomain final : public MemoryDomain {
 public:
  SimMemoryDomain(Scheduler& scheduler, ProcessNumber process) noexcept : scheduler_(scheduler), process_(process) {}

  Result<TransportKey> attach(RegionHandle handle, const LocalRegion& region) noexcept override;
  Result<void> detach(RegionHandle handle, TimePoint deadline) noexcept override;

  // Whether the key in a reference still reaches the region: unsupported if it has none, else revoked.
  Result<void> check(const RemoteRegion& reference) const;

 private:
  struct Attached {
    Generation generation{};
    std::uint64_t key = 0;  // 0: not attached
  };

  Scheduler& scheduler_;
  const ProcessNumber process_;
  std::uint64_t last_key_ = 0;
  std::vector<Attached> attached_;  // by slot
};

}  // namespace ferry::sim
