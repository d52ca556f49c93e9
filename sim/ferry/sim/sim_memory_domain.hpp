// SimMemoryDomain: the keys of one simulated process's regions, and the memory behind them. The NIC checks a key with
// every packet.
//
// Detaching is one step: what arrives afterwards is refused, and what had been accepted takes effect before it returns.
// Keys are never reused, not even by a later life. Owner: the SimTransport. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include <ferry/memory/region_table.hpp>
#include <ferry/sim/nic/nic.hpp>
#include <ferry/transport/memory_domain.hpp>

namespace ferry::sim {

class SimFabric;

class SimMemoryDomain final : public MemoryDomain, public NicMemory {
 public:
  SimMemoryDomain(SimFabric& fabric, ProcessNumber process, RegionTable& regions) noexcept;

  // Whose NIC it is; before anything is attached.
  void set_nic(Nic& nic) noexcept { nic_ = &nic; }

  Result<TransportKey> attach(RegionHandle handle, const LocalRegion& region) noexcept override;
  Result<void> detach(RegionHandle handle, TimePoint deadline) noexcept override;

  std::byte* reach(const queue::RemoteAddress& remote, Access needed, std::uint64_t length) noexcept override;
  void invalidate(std::uint32_t key) noexcept override;
  Result<queue::RemoteAddress> remote_address(const RemoteRegion& region, std::uint64_t offset) const override;

 private:
  struct Attached {
    RegionHandle handle;
    LocalRegion region;
  };

  SimFabric& fabric_;
  Scheduler& scheduler_;
  const ProcessNumber process_;
  RegionTable& regions_;
  Nic* nic_ = nullptr;
  std::map<std::uint32_t, Attached> attached_;  // by key
  std::vector<std::uint32_t> keys_;             // by slot; 0: none
};

}  // namespace ferry::sim
