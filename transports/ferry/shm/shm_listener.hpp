// ShmListener: takes the connections of peers to this node, admits and fences them.
//
// Owner: ShmTransport. Accepts in the polling thread; the rest from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include <ferry/shm/packet_socket.hpp>
#include <ferry/shm/shm_node.hpp>

namespace ferry::shm {

class ShmInbound;

class ShmListener final : public Polled, public std::enable_shared_from_this<ShmListener> {
 public:
  static constexpr std::size_t kInbounds = kAdmissions;  // at one time, those that have not said who they are included

  explicit ShmListener(ShmNode& node) noexcept : node_(node) {}

  // address_in_use, resource_exhausted.
  Result<void> listen();
  // Ends every inbound and takes no more.
  void shut_down() noexcept;

  struct Admission {
    std::uint64_t channel = 0;  // its number; what the admission word holds
    std::uint32_t place = 0;    // index of the word
  };
  // Called by an inbound whose peer has proved itself: from here on the peer may read, so its reader words are known to
  // the domain already. Ends an older inbound of the same process first. resource_exhausted; not_authorised for one
  // that is fenced.
  Result<Admission> admit(ShmInbound& inbound, ProcessId peer);
  // The peer may begin no access any more.
  void withdraw(const ShmInbound& inbound) noexcept;
  // Called once the peer cannot read any more.
  void remove(const ShmInbound& inbound) noexcept;

  // This life of the process gets nothing from now on: its channels end and it is not admitted again.
  void fence(ProcessId peer) noexcept;

  // Peers are told to unmap it. Any thread.
  void retire_segment(std::uint32_t segment) noexcept;

  std::size_t size() const noexcept;  // inbounds

  bool poll() noexcept override;
  bool has_work() noexcept override { return false; }
  void on_ready(unsigned tag) noexcept override;

 private:
  struct Known {
    std::shared_ptr<ShmInbound> inbound;
    ProcessId peer{};  // none until it is admitted
    Admission admission{};
  };
  using Inbounds = std::vector<std::shared_ptr<ShmInbound>>;

  Known* find(const ShmInbound& inbound) noexcept;
  void withdraw(Known& known) noexcept;
  template <class Condition>
  Inbounds select(Condition condition) const;

  ShmNode& node_;
  FileDescriptor listener_;
  mutable std::mutex mutex_;  // not held while an inbound is called
  std::vector<Known> inbounds_;
  std::vector<bool> taken_ = std::vector<bool>(kAdmissions);
  std::uint64_t channels_ = 0;  // numbers given out
  std::set<ProcessId> fenced_;
  bool shut_down_ = false;
  unsigned polls_ = 0;
};

}  // namespace ferry::shm
