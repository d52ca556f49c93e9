#include <ferry/verbs/protection_domain.hpp>

#include <cerrno>
#include <utility>

#include <ferry/verbs/verbs_failure.hpp>

namespace ferry::verbs {

Result<std::shared_ptr<ProtectionDomain>> ProtectionDomain::create(std::shared_ptr<Context> context) {
  ibv_pd* const domain = context->calls().alloc_pd(context->get());
  if (domain == nullptr) {
    return verbs_failure(errno, "ibv_alloc_pd", context->name(), errc::resource_exhausted);
  }
  return std::make_shared<ProtectionDomain>(std::move(context), domain);
}

ProtectionDomain::ProtectionDomain(std::shared_ptr<Context> context, ibv_pd* domain) noexcept
    : context_(std::move(context)), domain_(domain) {}

ProtectionDomain::~ProtectionDomain() {
  calls().dealloc_pd(domain_);
}

}  // namespace ferry::verbs
