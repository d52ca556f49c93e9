// VerbsTransport: ferry over queue pairs of an RDMA device: InfiniBand, RoCE, iWARP, soft-RoCE.
//
// Owner: the Node's composer; see Transport. It gets its turns through the Reactor, which outlives it, and has no
// thread of its own. Queue pairs are set up over the control network, whose handshake says who is who.
#pragma once

#include <memory>

#include <ferry/base/result.hpp>
#include <ferry/queue/control_network.hpp>
#include <ferry/transport/reactor.hpp>
#include <ferry/transport/transport.hpp>
#include <ferry/verbs/options.hpp>

namespace ferry {
class NodeCore;
namespace queue {
class Device;
}
}  // namespace ferry

namespace ferry::verbs {

struct Calls;

class VerbsTransport final : public Transport {
 public:
  // Opens the device. unsupported where there is none, access_denied, …: with the reason of each device, and remedies.
  // network: listens with the transport.
  static Result<std::unique_ptr<VerbsTransport>> create(NodeCore& node, Reactor& reactor,
                                                        std::unique_ptr<queue::ControlNetwork> network,
                                                        const VerbsOptions& options = {});
  // With other functions in place of libibverbs' own.
  static Result<std::unique_ptr<VerbsTransport>> create(NodeCore& node, Reactor& reactor,
                                                        std::unique_ptr<queue::ControlNetwork> network,
                                                        const VerbsOptions& options, const Calls& calls);
  ~VerbsTransport() override;

  TransportId id() const noexcept override { return TransportId::verbs; }
  Capabilities capabilities() const override;
  Result<void> listen() override;
  std::vector<Address> addresses() const override;
  MemoryDomain* memory() noexcept override;
  std::unique_ptr<Connection> connect(const Peer& peer, ConnectionEvents& events, std::string& why) override;
  void shut_down() noexcept override;

  // The device, for those that make queue pairs of their own. Theirs end before the transport does.
  queue::Device& device() noexcept;

  // What is alive, for tests and reports.
  struct Holdings {
    std::size_t queue_pairs = 0;
    std::size_t regions = 0;              // registered for peers
    std::size_t local_registrations = 0;  // of memory that requests name
    std::size_t channels = 0;             // of peers that have one here
  };
  Holdings holdings() const;

 private:
  struct Parts;
  explicit VerbsTransport(std::unique_ptr<Parts> parts) noexcept;

  const std::unique_ptr<Parts> parts_;
};

// True if this host names an RDMA device, usable or not.
bool has_devices();

}  // namespace ferry::verbs
