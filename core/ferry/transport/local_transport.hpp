// LocalTransport: a process reaches its own registered memory and its own actors. Everything completes inline.
//
// For real nodes; the simulator has its own, in which even such accesses take steps.
#pragma once

#include <memory>

#include <ferry/transport/transport.hpp>

namespace ferry {

class NodeCore;

class LocalTransport final : public Transport {
 public:
  explicit LocalTransport(NodeCore& node) noexcept : node_(node) {}

  TransportId id() const noexcept override { return TransportId::local; }
  Capabilities capabilities() const override;
  Result<void> listen() override { return {}; }
  std::vector<Address> addresses() const override { return {}; }
  MemoryDomain* memory() noexcept override { return nullptr; }
  std::unique_ptr<Connection> connect(const Peer& peer, ConnectionEvents& events, std::string& why) override;
  void shut_down() noexcept override {}

 private:
  NodeCore& node_;
};

}  // namespace ferry
