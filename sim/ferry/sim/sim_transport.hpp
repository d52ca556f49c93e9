// SimTransport: the Transport of one simulated process: a NIC, a port on the world's fabric, and the queue layer on
// both. Reaches the process itself too: in the simulator even one's own memory takes steps.
//
// Owner: the process's NodeCore. One thread.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include <ferry/queue/queue_server.hpp>
#include <ferry/sim/nic/nic.hpp>
#include <ferry/sim/sim_fabric.hpp>
#include <ferry/sim/sim_memory_domain.hpp>
#include <ferry/transport/transport.hpp>

namespace ferry {
class NodeCore;
}

namespace ferry::sim {

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

  // The process was killed: it is found no more, and its NIC does nothing.
  void killed() noexcept;

  NodeCore& node() const noexcept { return node_; }
  SimFabric& fabric() const noexcept { return fabric_; }
  queue::QueueServer& server() noexcept { return server_; }
  ProcessNumber process() const noexcept { return process_; }
  Port port() const noexcept { return port_; }

  // Peers that this process has had a connection to.
  std::set<ProcessId>& reached() noexcept { return reached_; }

 private:
  void stop_listening() noexcept;

  NodeCore& node_;
  SimFabric& fabric_;
  const ProcessNumber process_;
  const Port port_;
  bool is_listening_ = false;
  std::set<ProcessId> reached_;
  SimMemoryDomain domain_;
  Nic nic_;
  queue::QueueServer server_;
};

}  // namespace ferry::sim
