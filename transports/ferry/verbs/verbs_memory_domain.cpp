#include <ferry/verbs/verbs_memory_domain.hpp>

#include <sys/random.h>

#include <utility>

#include <fmt/format.h>

namespace ferry::verbs {
namespace {

constexpr std::uint64_t kFirst = std::uint64_t{1} << 40;
constexpr std::uint64_t kStarts = (std::uint64_t{1} << 61) - kFirst;  // random ones

std::uint64_t random_start() noexcept {
  std::uint64_t bits = 0;
  static_cast<void>(::getrandom(&bits, sizeof bits, 0));
  return bits;
}

int access_of(const LocalRegion& region) noexcept {
  int access = 0;
  if (permits(region.rights, Access::read)) {
    access |= IBV_ACCESS_REMOTE_READ;
  }
  if (permits(region.rights, Access::write)) {
    access |= IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE;
  }
  // Only the device's own domain is for it to touch.
  if (region.domain == AtomicDomain::nic && permits(region.rights, Access::atomic)) {
    access |= IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_LOCAL_WRITE;
  }
  return access;
}

}  // namespace

IovaSpace::IovaSpace(std::uint64_t start) noexcept : next_(kFirst + start % kStarts) {}

std::uint64_t IovaSpace::take(const std::byte* memory, std::uint64_t length) noexcept {
  const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(memory) % kCongruence;
  const std::uint64_t base = (next_ + kCongruence - 1) / kCongruence * kCongruence;
  if (base >= kEnd - 2 * kCongruence || length > kEnd - 2 * kCongruence - base) {
    return 0;
  }
  const std::uint64_t address = base + offset;
  next_ = address + length + 1;  // ranges do not touch: one byte too far is refused
  return address;
}

VerbsMemoryDomain::VerbsMemoryDomain(std::shared_ptr<ProtectionDomain> domain)
    : domain_(std::move(domain)), addresses_(random_start()) {}

Result<TransportKey> VerbsMemoryDomain::attach(RegionHandle handle, const LocalRegion& region) noexcept {
  if (region.kind != MemoryKind::host) {
    return Failure(errc::unsupported, "verbs reaches host memory only");
  }
  if (region.size == 0) {
    return TransportKey{TransportId::verbs, 0, 0};  // nothing of it is ever touched
  }
  std::uint64_t iova = 0;
  {
    const std::lock_guard lock(mutex_);
    iova = addresses_.take(region.base, region.size);
  }
  if (iova == 0) {
    return Failure(errc::resource_exhausted, "this process has used all addresses that registrations may have");
  }
  auto made =
      MemoryRegion::create(domain_, region.base, static_cast<std::size_t>(region.size), iova, access_of(region));
  if (!made) {
    return made.error();
  }
  const TransportKey key{TransportId::verbs, made->rkey(), iova};
  const std::lock_guard lock(mutex_);
  attached_.insert_or_assign(handle.slot, Attached{handle.generation, std::move(*made)});
  return key;
}

Result<void> VerbsMemoryDomain::detach(RegionHandle handle, TimePoint) noexcept {
  decltype(attached_)::node_type found;
  {
    const std::lock_guard lock(mutex_);
    const auto at = attached_.find(handle.slot);
    if (at == attached_.end() || at->second.generation != handle.generation) {
      return {};
    }
    found = attached_.extract(at);
  }
  return found.mapped().region.release();
}

std::size_t VerbsMemoryDomain::registrations() const noexcept {
  const std::lock_guard lock(mutex_);
  return attached_.size();
}

}  // namespace ferry::verbs
