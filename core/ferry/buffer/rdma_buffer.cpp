#include <ferry/buffer/rdma_buffer.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <ferry/base/offload.hpp>
#include <ferry/transport/node_core.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry {
namespace {

void revoke_now(std::shared_ptr<Registration> registration) noexcept {
  if (registration != nullptr) {
    const NodeCore& node = registration->node();
    const TimePoint deadline = saturating_add(node.executor().now(), node.limits().quiet_grace);
    static_cast<void>(registration->revoke(deadline));  // the Registration's end logs and quarantines
  }
}

}  // namespace

RDMABuffer::~RDMABuffer() {
  revoke_now(std::move(registration_));
}

RDMABuffer& RDMABuffer::operator=(RDMABuffer&& other) noexcept {
  if (this != &other) {
    revoke_now(std::exchange(registration_, std::move(other.registration_)));
  }
  return *this;
}

std::uint64_t RDMABuffer::size() const noexcept {
  return registration_ == nullptr ? 0 : registration_->region().size;
}

std::byte* RDMABuffer::data() const noexcept {
  return registration_ == nullptr ? nullptr : registration_->region().base;
}

BufferRef RDMABuffer::ref(Access rights) const {
  if (registration_ == nullptr) {
    throw Error(
        Failure(errc::invalid_argument, "the buffer is empty (default-constructed or moved from)").during("ref"));
  }
  if (registration_->is_revoked()) {
    throw Error(Failure(errc::revoked, "the buffer was revoked; register the memory again").during("ref"));
  }
  NodeCore& node = registration_->node();
  return BufferRef(node.peers().find_or_add(node.self()), registration_->remote()).with_rights(rights);
}

Task<void> RDMABuffer::revoke(Limits limits) {
  const std::shared_ptr<Registration> registration = registration_;
  if (registration == nullptr) {
    co_return;
  }
  const NodeCore& node = registration->node();
  const StopToken scope_stop = TaskScope::current()->stop;
  const StopToken own_stop = limits.stop.token();
  const TimePoint begin = node.executor().now();
  const TimePoint deadline = std::min(TaskScope::current()->deadline,
                                      saturating_add(begin, limits.timeout.value_or(node.limits().no_progress)));
  Result<void> outcome = registration->revoke(begin);
  // Waits elsewhere, a little at a time, so that a stop is seen.
  for (TimePoint until = begin; !outcome && until < deadline;) {
    if (scope_stop.stop_requested() || own_stop.stop_requested()) {
      throw Error(Failure(errc::cancelled, fmt::format("{}; peers may still touch the memory", kStopRequested))
                      .during("revoke"));
    }
    until = std::min(deadline, saturating_add(std::max(until, node.executor().now()), node.limits().quiet_grace));
    auto wait = offload([registration, until] { return registration->revoke(until); });
    outcome = co_await wait;
  }
  if (!outcome) {
    throw Error(outcome.error().during("revoke"));
  }
}

NotificationStream RDMABuffer::notifications() {
  if (registration_ == nullptr) {
    throw Error(Failure(errc::invalid_argument, "the buffer is empty (default-constructed or moved from)")
                    .during("notifications"));
  }
  return NotificationStream(registration_->notifications());
}

RDMABuffer register_bytes(NodeCore& node, std::byte* base, std::uint64_t size, RegisterOptions options,
                          RegistrationSet* owner) {
  auto registration = Registration::create(node, base, size, options);
  if (!registration) {
    throw Error(registration.error().during("register_memory"));
  }
  if (owner != nullptr) {
    owner->add(*registration);
  }
  return RDMABuffer(std::move(*registration));
}

}  // namespace ferry
