// SimTransport: the Transport of one simulated process: a port on the world's fabric. Reaches the process itself too:
// in the simulator even one's own memory takes steps. SimInbound: the owner's end of a channel.
//
// Owner: the process's NodeCore. One thread.
#pragma once

#include <memory>
#include <vector>

#include <ferry/sim/sim_fabric.hpp>
#include <ferry/sim/sim_memory_domain.hpp>
#include <ferry/transport/inbound.hpp>
#include <ferry/transport/transport.hpp>

namespace ferry {
class NodeCore;
}

namespace ferry::sim {

class SimInbound final : public Inbound {
 public:
  SimInbound(SimChannel& channel, ProcessId peer) noexcept : channel_(&channel), peer_(peer) {}

  ProcessId peer() const noexcept override { return peer_; }
  bool send(wire::Bytes&& message) noexcept override;

  void end() noexcept { channel_ = nullptr; }

 private:
  SimChannel* channel_;  // null once ended
  const ProcessId peer_;
};

class SimTransport final : public Transport {
 public:
  SimTransport(NodeCore& node, SimFabric& fabric, ProcessNumber process, Port port);
  ~SimTransport() override;

  TransportId id() const noexcept override { return TransportId::sim; }
  Capabilities capabilities() const override;
  Result<void> listen() override;
  std::vector<Address> addresses() const override;
  MemoryDomain* memory() noexcept override { return &domain_; }
  std::unique_ptr<Connection> connect(const Peer& peer, ConnectionEvents& events, std::string& why) override;
  void shut_down() noexcept override;

  // The process was killed: everything of it on the fabric ends without a callback to it. What it had sent may arrive.
  void killed() noexcept;

  NodeCore& node() const noexcept { return node_; }
  SimFabric& fabric() const noexcept { return fabric_; }
  SimMemoryDomain& domain() noexcept { return domain_; }
  ProcessNumber process() const noexcept { return process_; }
  Port port() const noexcept { return port_; }

  // A piece of this process's memory, as a packet with the reference finds it.
  Result<RegionTable::Pin> access(const RemoteRegion& reference, Access needed, std::uint64_t offset,
                                  std::uint64_t length);

  void accept(const std::shared_ptr<SimChannel>& channel) { inbound_.push_back(channel); }
  void inbound_ended(SimChannel& channel, const Failure& why) noexcept;
  void add(SimConnection& connection) { connections_.push_back(&connection); }
  void remove(SimConnection& connection) noexcept { std::erase(connections_, &connection); }

 private:
  void lose_inbound(const Failure& why, bool killed) noexcept;

  NodeCore& node_;
  SimFabric& fabric_;
  const ProcessNumber process_;
  const Port port_;
  bool listening_ = false;
  SimMemoryDomain domain_;
  std::vector<SimConnection*> connections_;           // in the order of making
  std::vector<std::shared_ptr<SimChannel>> inbound_;  // open, in the order of opening
};

}  // namespace ferry::sim
