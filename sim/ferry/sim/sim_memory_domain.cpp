#include <ferry/sim/sim_memory_domain.hpp>

#include <ferry/sim/memory_watch.hpp>
#include <ferry/sim/sim_fabric.hpp>

namespace ferry::sim {

SimMemoryDomain::SimMemoryDomain(SimFabric& fabric, ProcessNumber process, RegionTable& regions) noexcept
    : fabric_(fabric), scheduler_(fabric.scheduler()), process_(process), regions_(regions) {}

Result<TransportKey> SimMemoryDomain::attach(RegionHandle handle, const LocalRegion& region) noexcept {
  if (region.kind != MemoryKind::host) {
    return Failure(errc::unsupported, "the simulated fabric reaches host memory only");
  }
  if (auto locked = nic_->lock_memory(region.size); !locked) {
    return locked.error();
  }
  if (keys_.size() <= handle.slot.value()) {
    keys_.resize(handle.slot.value() + std::size_t{1});
  }
  const std::uint32_t key = nic_->network().next_key();
  keys_[handle.slot.value()] = key;
  attached_[key] = {handle, region};
  scheduler_.record(StepKind::memory, process_, key);
  scheduler_.fold(region.size);
  return TransportKey{TransportId::sim, key, 0};
}

Result<void> SimMemoryDomain::detach(RegionHandle handle, TimePoint) noexcept {
  const std::size_t slot = handle.slot.value();
  const auto found = slot < keys_.size() ? attached_.find(keys_[slot]) : attached_.end();
  if (found != attached_.end() && found->second.handle.generation == handle.generation) {
    const LocalRegion region = found->second.region;
    scheduler_.record(StepKind::memory, process_, keys_[slot]);
    attached_.erase(found);
    nic_->unlock_memory(region.size);
    keys_[slot] = 0;
    nic_->finish(region.base, region.size);
    if (MemoryWatch* const watch = fabric_.watch()) {
      watch->revoked(process_, handle);
    }
  }
  return {};
}

std::byte* SimMemoryDomain::reach(const queue::RemoteAddress& remote, Access needed, std::uint64_t length) noexcept {
  const auto found = attached_.find(remote.key);
  if (found == attached_.end()) {
    return nullptr;
  }
  // The pin is let go at once: detach() waits for what was accepted.
  const auto pin = regions_.pin(found->second.handle, needed, remote.address, length);
  return pin ? pin->address() : nullptr;
}

void SimMemoryDomain::invalidate(std::uint32_t key) noexcept {
  if (const auto found = attached_.find(key); found != attached_.end()) {
    static_cast<void>(detach(found->second.handle, kNever));
  }
}

Result<queue::RemoteAddress> SimMemoryDomain::remote_address(const RemoteRegion& region, std::uint64_t offset) const {
  const TransportKey* key = region.key_for(TransportId::sim);
  if (key == nullptr) {
    return Failure(errc::unsupported, "the reference carries no key of the simulated fabric");
  }
  return queue::RemoteAddress{key->key, key->address + offset};
}

}  // namespace ferry::sim
