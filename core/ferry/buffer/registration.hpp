// Registration: one registered region and what hangs on it: the table's entry, the transports' keys, notifications.
//
// Shared between the RDMABuffer that the user holds and the owner (an actor's context) that must be able to revoke it
// first. Any thread. Revocation happens once, whoever asks.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <ferry/base/channel.hpp>
#include <ferry/base/result.hpp>
#include <ferry/buffer/options.hpp>
#include <ferry/memory/region.hpp>
#include <ferry/memory/region_table.hpp>

namespace ferry {

class NodeCore;

class Registration final : private NotificationSink {
 public:
  static Result<std::shared_ptr<Registration>> create(NodeCore& node, std::byte* base, std::uint64_t size,
                                                      const RegisterOptions& options);
  Registration(NodeCore& node, const LocalRegion& region) noexcept;
  ~Registration();
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  NodeCore& node() const noexcept { return node_; }
  const LocalRegion& region() const noexcept { return region_; }
  // The whole region with all rights that it was registered with; a reference to it.
  const RemoteRegion& remote() const noexcept { return remote_; }

  // Returns once no peer can touch the memory; idempotent. timed_out at the deadline: a peer could not be silenced; may
  // be called again. Blocks no longer than that.
  Result<void> revoke(TimePoint deadline) noexcept;
  bool is_revoked() const noexcept;

  // Opened at first use, or by the registration; from then on peers may write with notify.
  Channel<std::uint64_t> notifications();

 private:
  Result<void> attach();
  bool on_notify(std::uint64_t tag) noexcept override;
  bool is_awaited() noexcept override { return notifications_->is_awaited(); }

  NodeCore& node_;
  LocalRegion region_;
  RemoteRegion remote_{};
  RegionHandle handle_{};
  mutable std::mutex mutex_;
  enum class State : unsigned char { none, live, revoking, revoked };
  std::atomic<State> state_{State::none};  // changed under the lock
  std::optional<Channel<std::uint64_t>> notifications_;
};

// The registrations of one owner (an actor), so that all can be revoked before it is destroyed.
class RegistrationSet {
 public:
  void add(const std::shared_ptr<Registration>& registration);
  // Revokes all that are left; those that could not be silenced in time are logged and stay quarantined.
  void revoke_all(TimePoint deadline) noexcept;

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<Registration>> registrations_;
  std::size_t sweep_at_ = 64;
};

}  // namespace ferry
