// TcpControlNetwork: control links over tcp's sockets, with its handshake, its signs of life and its farewell: what the
// queue pairs of another transport are set up over.
//
// Owner: that transport. It listens at a port of its own, whose addresses are that transport's. A secret derived from
// the job's keeps its sockets apart from those of TcpTransport.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include <ferry/queue/control_network.hpp>
#include <ferry/tcp/reception.hpp>

namespace ferry::tcp {

class TcpControlNetwork final : public queue::ControlNetwork, private Reception::Host {
 public:
  // transport: whose addresses these are.
  TcpControlNetwork(NodeCore& node, Reactor& reactor, TransportId transport, TcpOptions options = {});
  ~TcpControlNetwork() override;

  Result<void> listen(queue::QueueServer& server) override;
  std::vector<Address> addresses() const override;
  std::unique_ptr<queue::ControlDialer> dialer(const Peer& peer) override;
  void shut_down() noexcept override;

  const Stats& stats() const noexcept { return stats_; }

 private:
  void on_guest(Guest&& guest) noexcept override;

  NodeCore& node_;
  const TransportId transport_;
  const TcpOptions options_;
  const JobSecret secret_;
  Stats stats_;
  const Channel::Context context_;
  queue::QueueServer* server_ = nullptr;  // once it listens
  Reception reception_;
};

}  // namespace ferry::tcp
