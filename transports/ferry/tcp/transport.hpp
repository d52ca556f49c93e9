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
#include <ferry/tcp/greeter.hpp>
#include <ferry/tcp/inbound.hpp>
#include <ferry/tcp/listener.hpp>
#include <ferry/tcp/session.hpp>
#include <ferry/transport/node_core.hpp>
#include <ferry/transport/reactor.hpp>
#include <ferry/transport/transport.hpp>

namespace ferry::tcp {

struct TcpOptions {
  // Where to listen: an address, "fe80::1%eth0", a name, "0.0.0.0" or "::" for every network. Empty: this host only.
  std::string host;
  std::uint16_t port = 0;  // 0: one that is free
};

class TcpTransport final : public Transport, private InboundOwner, private GreeterEvents, private ListenerEvents {
 public:
  // Sockets that have not authenticated; beyond, the oldest is closed for a new one.
  static constexpr std::size_t kStrangers = 256;

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
  std::size_t strangers() const;

 private:
  void on_inbound_ended(TcpInbound& inbound, bool for_good) noexcept override;
  std::shared_ptr<Session> on_authenticated(Greeter& greeter) noexcept override;
  void on_greeted(Greeter& greeter, Socket socket, ChannelBuffers buffers,
                  std::shared_ptr<Session> session) noexcept override;
  void on_greeting_failed(Greeter& greeter, const Failure* why) noexcept override;
  void on_accepted(Socket socket, const SocketAddress& from) noexcept override;
  void greet(Socket socket, const SocketAddress& from);
  bool on_out_of_descriptors() noexcept override;

  Result<std::vector<SocketAddress>> listen_points() const;
  std::shared_ptr<Greeter> take(Greeter& greeter) noexcept;
  void end_stranger(const std::shared_ptr<Greeter>& greeter, const Failure& why) noexcept;
  void done_greeting() noexcept;

  NodeCore& node_;
  Reactor& reactor_;
  const TcpOptions options_;
  Stats stats_;
  const Channel::Context context_;
  SessionTable sessions_;

  mutable std::mutex mutex_;
  std::condition_variable idle_;
  bool shut_down_ = false;
  int greeting_ = 0;  // greeters that were taken off the list and are being dealt with
  std::unique_ptr<Listener> listener_;
  std::vector<Address> addresses_;
  std::list<std::shared_ptr<Greeter>> greeters_;  // oldest first
  std::list<std::shared_ptr<TcpInbound>> inbounds_;
};

}  // namespace ferry::tcp
