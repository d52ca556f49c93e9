// TcpTransport: ferry over TCP sockets: one-sided operations that the owner's polling thread executes, and messages.
//
// Reaches any process of the job, on any host that routes here. Owner: the Node's composer; see Transport. It gets its
// turns through the Reactor, which outlives it, and has no thread of its own. Nothing is parsed before both sides have
// proved that they know the job's secret; bytes are not encrypted.
#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <ferry/tcp/channel.hpp>
#include <ferry/tcp/inbound.hpp>
#include <ferry/tcp/reception.hpp>
#include <ferry/transport/node_core.hpp>
#include <ferry/transport/reactor.hpp>
#include <ferry/transport/transport.hpp>

namespace ferry::tcp {

class TcpTransport final : public Transport, private InboundOwner, private Reception::Host {
 public:
  static constexpr std::size_t kStrangers = Reception::kStrangers;

  TcpTransport(NodeCore& node, Reactor& reactor, TcpOptions options = {});
  ~TcpTransport() override;

  TransportId id() const noexcept override { return TransportId::tcp; }
  Capabilities capabilities() const override;
  // address_in_use, invalid_argument, …; asks a name server if options.host is a name.
  Result<void> listen() override;
  std::vector<Address> addresses() const override;
  MemoryDomain* memory() noexcept override { return nullptr; }
  std::unique_ptr<Connection> connect(const Peer& peer, ConnectionEvents& events, std::string& why) override;
  void shut_down() noexcept override;

  const Stats& stats() const noexcept { return stats_; }
  // Peers that have a channel here. Any thread.
  std::size_t inbounds() const;
  // Sockets that have not authenticated yet.
  std::size_t strangers() const { return reception_.strangers(); }

 private:
  void on_inbound_ended(TcpInbound& inbound, bool for_good) noexcept override;
  void on_guest(Guest&& guest) noexcept override;

  NodeCore& node_;
  const TcpOptions options_;
  Stats stats_;
  const Channel::Context context_;
  Reception reception_;

  mutable std::mutex mutex_;
  std::condition_variable idle_;
  std::list<std::shared_ptr<TcpInbound>> inbounds_;
};

}  // namespace ferry::tcp
