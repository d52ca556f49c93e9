#include <ferry/buffer/registration.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <ferry/base/adversity.hpp>
#include <ferry/base/limits.hpp>
#include <ferry/memory/shared_memory.hpp>
#include <ferry/transport/node_core.hpp>

namespace ferry {

Registration::Registration(NodeCore& node, const LocalRegion& region) noexcept : node_(node), region_(region) {}

namespace {

bool has_nic_atomics(const NodeCore& node) {
  const auto& transports = node.transports();
  return std::any_of(transports.begin(), transports.end(),
                     [](const auto& transport) { return transport->capabilities().atomics_nic; });
}

}  // namespace

Registration::~Registration() {
  const TimePoint deadline = saturating_add(node_.executor().now(), node_.limits().quiet_grace);
  if (auto revoked = revoke(deadline); !revoked) {
    node_.log().write(LogLevel::error, fmt::format("{} bytes of registered memory were given up while a peer may still "
                                                   "touch them (they are quarantined if ferry allocated them): {}",
                                                   region_.size, revoked.error().to_text()));
  }
}

Result<std::shared_ptr<Registration>> Registration::create(NodeCore& node, std::byte* base, std::uint64_t size,
                                                           const RegisterOptions& options) {
  if (!node.executor().is_of_this_process()) {
    return made_before_fork();
  }
  if (base == nullptr && size > 0) {
    return Failure(errc::invalid_argument, "the memory to register is a null pointer");
  }
  if (size > limits::kMaxLength) {
    return Failure(errc::too_large, fmt::format("a region has at most {} bytes, not {}", limits::kMaxLength, size));
  }
  if (options.atomics == AtomicDomain::nic && !has_nic_atomics(node)) {
    return Failure(errc::unsupported, "no NIC of this node executes atomics; register with the cpu domain");
  }
  if (Adversity::strikes_now(Adversity::Strike::registration_fails)) {
    return Failure(errc::resource_exhausted,
                   fmt::format("registering {} bytes: Cannot allocate memory; the locked-memory limit is used up "
                               "(ulimit -l, in the simulator a fault)",
                               size));
  }
  LocalRegion region;
  region.base = base;
  region.size = size;
  region.rights = options.rights;
  region.domain = options.atomics;
  if (const auto& shared = node.shared_memory()) {
    region.place = shared->place_of(base, size);
  }
  auto registration = std::make_shared<Registration>(node, region);
  if (auto attached = registration->attach(); !attached) {
    return attached.error();
  }
  if (options.notifications) {
    static_cast<void>(registration->notifications());
  }
  return registration;
}

Result<void> Registration::attach() {
  auto handle = node_.regions().insert(region_);
  if (!handle) {
    return handle.error();
  }
  handle_ = *handle;
  state_ = State::live;
  remote_.owner = node_.self();
  remote_.slot = handle_.slot;
  remote_.generation = handle_.generation;
  remote_.kind = region_.kind;
  remote_.domain = region_.domain;
  remote_.rights = region_.rights;
  remote_.misalignment = static_cast<std::uint8_t>(reinterpret_cast<std::uintptr_t>(region_.base) % 8);
  remote_.size = region_.size;
  remote_.length = region_.size;
  std::size_t keys = 0;
  for (const auto& transport : node_.transports()) {
    MemoryDomain* domain = transport->memory();
    if (domain == nullptr) {
      continue;
    }
    auto key = domain->attach(handle_, region_);
    if (key && keys < RemoteRegion::kKeys) {
      remote_.keys[keys++] = *key;
    } else if (!key && key.error().code() != errc::unsupported) {
      return key.error();  // the destructor detaches what was attached
    }
  }
  return {};
}

Result<void> Registration::revoke(TimePoint deadline) noexcept {
  if (!node_.executor().is_of_this_process()) {
    return {};  // the memory and everything that guards it belong to the process that was forked
  }
  const std::lock_guard lock(mutex_);
  if (state_ == State::none || state_ == State::revoked) {
    return {};
  }
  if (state_ == State::live) {
    node_.regions().revoke(handle_);
    state_ = State::revoking;
    if (notifications_) {
      notifications_->close(Failure(errc::revoked, "the buffer was revoked"));
    }
  }
  Result<void> outcome;
  for (const auto& transport : node_.transports()) {
    if (MemoryDomain* domain = transport->memory()) {
      // lint: allow(detach) of a MemoryDomain: it takes the region away from peers
      if (auto detached = domain->detach(handle_, deadline); !detached) {
        outcome = detached;
      }
    }
  }
  if (outcome) {
    state_ = State::revoked;
    node_.regions().release(handle_);
  }
  return outcome;
}

bool Registration::is_revoked() const noexcept {
  return state_.load(std::memory_order_acquire) != State::live;
}

Channel<std::uint64_t> Registration::notifications() {
  const std::lock_guard lock(mutex_);
  if (!notifications_) {
    notifications_.emplace(limits::kNotifications);
    if (state_ == State::live) {
      node_.regions().set_notifications(handle_, this);
    } else {
      notifications_->close(Failure(errc::revoked, "the buffer was revoked"));
    }
  }
  return *notifications_;
}

bool Registration::on_notify(std::uint64_t tag) noexcept {
  return notifications_->try_push(tag);
}

void RegistrationSet::add(const std::shared_ptr<Registration>& registration) {
  const std::lock_guard lock(mutex_);
  if (registrations_.size() >= sweep_at_) {
    std::erase_if(registrations_, [](const auto& weak) { return weak.expired(); });
    sweep_at_ = std::max<std::size_t>(64, registrations_.size() * 2);
  }
  registrations_.push_back(registration);
}

void RegistrationSet::revoke_all(TimePoint deadline) noexcept {
  std::vector<std::weak_ptr<Registration>> registrations;
  {
    const std::lock_guard lock(mutex_);
    registrations.swap(registrations_);
  }
  for (const auto& weak : registrations) {
    if (const auto registration = weak.lock()) {
      if (auto revoked = registration->revoke(deadline); !revoked) {
        registration->node().log().write(LogLevel::error, revoked.error().to_text());
      }
    }
  }
}

}  // namespace ferry
