// ShmConnection: what this process asks of one peer on the same host.
//
// Owner: the Peer. The channel underneath is an object of its own, made by open() and let go when it ends. start() on
// memory in mapped segments completes inline: no lock, no allocation, no system call.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include <ferry/shm/shm_node.hpp>
#include <ferry/transport/connection.hpp>

namespace ferry {
class Peer;
}

namespace ferry::shm {

class ShmChannel;

class ShmConnection final : public Connection {
 public:
  ShmConnection(ShmNode& node, const Peer& peer, ConnectionEvents& events) noexcept;
  ~ShmConnection() override;

  void open() noexcept override;
  Started start(Operation& operation) noexcept override;
  bool try_transfer(OperationKind kind, const RemoteRegion& region, std::byte* local) noexcept override;
  bool try_atomic(const OperationRequest& request, std::uint64_t& old) noexcept override;
  void cancel(Operation& operation, const Failure& why) noexcept override;
  bool abandon(Operation& operation) noexcept override;
  bool send(wire::Bytes&& message) noexcept override;
  void close(const Failure& why) noexcept override;
  bool pipelines_sequences() const noexcept override { return false; }
  TransportId transport() const noexcept override { return TransportId::shm; }
  std::string describe() const override;

  // --- For the channel.
  const Peer& peer() const noexcept { return peer_; }
  ConnectionEvents& events() const noexcept { return events_; }
  // The channel is open: operations may start.
  void enter(ShmChannel& channel) noexcept { channel_.store(&channel, std::memory_order_seq_cst); }
  // No operation starts on it any more; those inside go on until their next piece.
  void leave(const ShmChannel& channel) noexcept;
  bool is_current(const ShmChannel& channel) const noexcept {
    return channel_.load(std::memory_order_seq_cst) == &channel;
  }
  // It has ended.
  void forget(const ShmChannel& channel) noexcept;

 private:
  std::shared_ptr<ShmChannel> current() const noexcept;

  ShmNode& node_;
  const Peer& peer_;
  ConnectionEvents& events_;
  std::atomic<ShmChannel*> channel_{nullptr};  // open; kept alive by current_, and after that until readers have left
  mutable std::mutex mutex_;
  std::shared_ptr<ShmChannel> current_;  // being opened, or open
};

}  // namespace ferry::shm
