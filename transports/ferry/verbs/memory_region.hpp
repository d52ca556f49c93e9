// MemoryRegion: memory that a device may reach, by its keys (ibv_mr). Internal.
//
// Owner: whoever registered it; keeps its ProtectionDomain. release() or the destructor deregisters: afterwards no
// request reaches the memory by its keys, and what had been accepted has landed. The memory outlives it.
#pragma once

#include <memory>

#include <ferry/base/result.hpp>
#include <ferry/verbs/protection_domain.hpp>

namespace ferry::verbs {

class MemoryRegion {
 public:
  // iova: by which address requests name the first byte; congruent to it in its page. access: of ibv_reg_mr.
  // resource_exhausted with the remedy, invalid_argument.
  static Result<MemoryRegion> create(std::shared_ptr<ProtectionDomain> domain, const std::byte* memory,
                                     std::size_t length, std::uint64_t iova, int access);
  MemoryRegion(MemoryRegion&& other) noexcept;
  MemoryRegion& operator=(MemoryRegion&& other) noexcept;
  ~MemoryRegion();

  std::uint32_t lkey() const noexcept { return region_->lkey; }
  std::uint32_t rkey() const noexcept { return region_->rkey; }

  // As the destructor, and tells whether the device did it; if not, it may reach the memory still.
  Result<void> release() noexcept;

 private:
  MemoryRegion(std::shared_ptr<ProtectionDomain> domain, ibv_mr* region) noexcept;

  std::shared_ptr<ProtectionDomain> domain_;
  ibv_mr* region_;  // null once released
};

}  // namespace ferry::verbs
