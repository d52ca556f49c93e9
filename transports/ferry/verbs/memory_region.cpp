#include <ferry/verbs/memory_region.hpp>

#include <cerrno>
#include <utility>

#include <ferry/verbs/verbs_failure.hpp>

namespace ferry::verbs {

Result<MemoryRegion> MemoryRegion::create(std::shared_ptr<ProtectionDomain> domain, const std::byte* memory,
                                          std::size_t length, std::uint64_t iova, int access) {
  ibv_mr* const region =
      domain->calls().reg_mr_iova(domain->get(), const_cast<std::byte*>(memory), length, iova, access);
  if (region == nullptr) {
    return registration_failure(errno, length, domain->context().name());
  }
  return MemoryRegion(std::move(domain), region);
}

MemoryRegion::MemoryRegion(std::shared_ptr<ProtectionDomain> domain, ibv_mr* region) noexcept
    : domain_(std::move(domain)), region_(region) {}

MemoryRegion::MemoryRegion(MemoryRegion&& other) noexcept
    : domain_(std::move(other.domain_)), region_(std::exchange(other.region_, nullptr)) {}

MemoryRegion& MemoryRegion::operator=(MemoryRegion&& other) noexcept {
  if (this != &other) {
    static_cast<void>(release());
    domain_ = std::move(other.domain_);
    region_ = std::exchange(other.region_, nullptr);
  }
  return *this;
}

MemoryRegion::~MemoryRegion() {
  static_cast<void>(release());
}

Result<void> MemoryRegion::release() noexcept {
  if (region_ == nullptr) {
    return {};
  }
  const int error = domain_->calls().dereg_mr(region_);
  region_ = nullptr;
  if (error != 0) {
    return verbs_failure(error, "ibv_dereg_mr", domain_->context().name(), errc::timed_out);
  }
  return {};
}

}  // namespace ferry::verbs
