#include <ferry/verbs/verbs_transport.hpp>

#include <sys/random.h>

#include <utility>

#include <fmt/format.h>

#include <ferry/queue/queue_connection.hpp>
#include <ferry/queue/queue_server.hpp>
#include <ferry/transport/peer.hpp>
#include <ferry/verbs/verbs_device.hpp>
#include <ferry/verbs/verbs_memory_domain.hpp>

namespace ferry::verbs {
namespace {

// An earlier life of this process numbered its sessions from elsewhere.
std::uint64_t first_session() noexcept {
  std::uint64_t bits = 0;
  static_cast<void>(::getrandom(&bits, sizeof bits, 0));
  return (bits >> 1) | 1U;
}

std::string delivered_by(queue::OrderClass order) {
  switch (order) {
    case queue::OrderClass::strict:
      return "a read behind the write: the device places in order";
    case queue::OrderClass::iwarp:
      return "a send behind the write, answered by the owner";
    default:
      return "an immediate behind the write, answered by the owner";
  }
}

}  // namespace

// In the order of destruction from below.
struct VerbsTransport::Parts {
  Parts(NodeCore& core, std::unique_ptr<VerbsDevice> opened, std::unique_ptr<queue::ControlNetwork> links)
      : node(core),
        device(std::move(opened)),
        domain(device->domain()),
        network(std::move(links)),
        server(core, *device, TransportId::verbs, first_session(), {.has_queue_pair = true}) {}

  NodeCore& node;
  std::unique_ptr<VerbsDevice> device;
  VerbsMemoryDomain domain;
  std::unique_ptr<queue::ControlNetwork> network;
  queue::QueueServer server;
};

Result<std::unique_ptr<VerbsTransport>> VerbsTransport::create(NodeCore& node, Reactor& reactor,
                                                               std::unique_ptr<queue::ControlNetwork> network,
                                                               const VerbsOptions& options) {
  return create(node, reactor, std::move(network), options, library_calls());
}

Result<std::unique_ptr<VerbsTransport>> VerbsTransport::create(NodeCore& node, Reactor& reactor,
                                                               std::unique_ptr<queue::ControlNetwork> network,
                                                               const VerbsOptions& options, const Calls& calls) {
  auto device = VerbsDevice::create(calls, options, reactor, node.log());
  if (!device) {
    return device.error();
  }
  (*device)->begin();
  return std::unique_ptr<VerbsTransport>(
      new VerbsTransport(std::make_unique<Parts>(node, std::move(*device), std::move(network))));
}

VerbsTransport::VerbsTransport(std::unique_ptr<Parts> parts) noexcept : parts_(std::move(parts)) {}

VerbsTransport::~VerbsTransport() {
  shut_down();
  parts_->device->end();
}

Capabilities VerbsTransport::capabilities() const {
  const queue::DeviceLimits& limits = parts_->device->limits();
  return {
      .atomics_cpu = true,
      .atomics_nic = limits.atomics,
      .completes_inline = false,
      .delivered_by = delivered_by(limits.order),
      .notes = fmt::format("{}; requests of up to {} bytes, {} reads at one time, {} bytes inline",
                           parts_->device->context().describe(), limits.message, limits.reads, limits.inline_bytes)};
}

Result<void> VerbsTransport::listen() {
  return parts_->network->listen(parts_->server);
}

std::vector<Address> VerbsTransport::addresses() const {
  return parts_->network->addresses();
}

MemoryDomain* VerbsTransport::memory() noexcept {
  return &parts_->domain;
}

queue::Device& VerbsTransport::device() noexcept {
  return *parts_->device;
}

std::unique_ptr<Connection> VerbsTransport::connect(const Peer& peer, ConnectionEvents& events, std::string& why) {
  if (peer.is_self()) {
    why = "it is this process itself";
    return nullptr;
  }
  return std::make_unique<queue::QueueConnection>(parts_->node, peer, events, *parts_->device,
                                                  parts_->network->dialer(peer), TransportId::verbs,
                                                  queue::MessageWay{.has_queue_pair = true});
}

void VerbsTransport::shut_down() noexcept {
  parts_->network->shut_down();
  parts_->server.shut_down();
}

VerbsTransport::Holdings VerbsTransport::holdings() const {
  return {.queue_pairs = parts_->device->queue_pairs(),
          .regions = parts_->domain.registrations(),
          .local_registrations = parts_->device->local_registrations(),
          .channels = parts_->server.size()};
}

bool has_devices() {
  const Calls& calls = library_calls();
  int count = 0;
  ibv_device** const list = calls.get_device_list(&count);
  if (list != nullptr) {
    calls.free_device_list(list);
  }
  return count > 0;
}

}  // namespace ferry::verbs
