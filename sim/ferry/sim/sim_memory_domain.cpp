#include <ferry/sim/sim_memory_domain.hpp>

namespace ferry::sim {

Result<TransportKey> SimMemoryDomain::attach(RegionHandle handle, const LocalRegion& region) noexcept {
  if (region.kind != MemoryKind::host) {
    return Failure(errc::unsupported, "the simulated fabric reaches host memory only");
  }
  if (attached_.size() <= handle.slot.value()) {
    attached_.resize(handle.slot.value() + std::size_t{1});
  }
  attached_[handle.slot.value()] = {handle.generation, ++last_key_};
  scheduler_.record(StepKind::memory, process_, last_key_);
  scheduler_.fold(region.size);
  return TransportKey{TransportId::sim, 0, last_key_};
}

Result<void> SimMemoryDomain::detach(RegionHandle handle, TimePoint) noexcept {
  if (handle.slot.value() < attached_.size() && attached_[handle.slot.value()].generation == handle.generation) {
    scheduler_.record(StepKind::memory, process_, attached_[handle.slot.value()].key);
    attached_[handle.slot.value()] = {};
  }
  return {};
}

Result<void> SimMemoryDomain::check(const RemoteRegion& reference) const {
  const TransportKey* key = reference.key_for(TransportId::sim);
  if (key == nullptr) {
    return Failure(errc::unsupported, "the reference carries no key of the simulated fabric");
  }
  const std::size_t slot = reference.slot.value();
  if (slot >= attached_.size() || attached_[slot].key != key->address ||
      attached_[slot].generation != reference.generation) {
    return Failure(errc::revoked, "the owner revoked or released this memory; ask it for a new reference");
  }
  return {};
}

}  // namespace ferry::sim
