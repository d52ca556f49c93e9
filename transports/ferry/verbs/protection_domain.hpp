// ProtectionDomain: what registered memory and queue pairs of one device belong to (ibv_pd). Internal.
//
// Shared by all that is made of it; keeps its Context. Any thread.
#pragma once

#include <memory>

#include <ferry/base/result.hpp>
#include <ferry/verbs/context.hpp>

namespace ferry::verbs {

class ProtectionDomain {
 public:
  static Result<std::shared_ptr<ProtectionDomain>> create(std::shared_ptr<Context> context);
  ProtectionDomain(std::shared_ptr<Context> context, ibv_pd* domain) noexcept;
  ~ProtectionDomain();
  ProtectionDomain(const ProtectionDomain&) = delete;
  ProtectionDomain& operator=(const ProtectionDomain&) = delete;

  Context& context() const noexcept { return *context_; }
  const Calls& calls() const noexcept { return context_->calls(); }
  ibv_pd* get() const noexcept { return domain_; }

 private:
  const std::shared_ptr<Context> context_;
  ibv_pd* const domain_;
};

}  // namespace ferry::verbs
