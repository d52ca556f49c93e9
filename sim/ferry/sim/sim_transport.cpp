#include <ferry/sim/sim_transport.hpp>

#include <utility>

#include <fmt/format.h>

#include <ferry/queue/queue_connection.hpp>
#include <ferry/sim/memory_watch.hpp>
#include <ferry/sim/sim_stream.hpp>
#include <ferry/sim/watched_connection.hpp>
#include <ferry/transport/node_core.hpp>

namespace ferry::sim {
namespace {

queue::MessageWay message_way(const SimFabric& fabric) noexcept {
  return {fabric.options().has_message_queues, fabric.options().few_messages};
}

}  // namespace

SimTransport::SimTransport(NodeCore& node, SimFabric& fabric, ProcessNumber process, Port port)
    : node_(node),
      fabric_(fabric),
      process_(process),
      port_(port),
      domain_(fabric, process, node.regions()),
      nic_(fabric.network(), process, domain_),
      server_(node, nic_, TransportId::sim, 1, message_way(fabric)) {
  domain_.set_nic(nic_);
  fabric_.add(*this);
}

SimTransport::~SimTransport() {
  shut_down();
  fabric_.remove(*this);
}

Capabilities SimTransport::capabilities() const {
  const NicProfile& profile = *fabric_.options().profile;
  return {.atomics_cpu = true,
          .atomics_nic = profile.has_atomics,
          .completes_inline = false,
          .delivered_by = profile.order_class == queue::OrderClass::strict ? "a read behind the write"
                                                                           : "a mark behind the write, answered",
          .notes = fmt::format("simulated NICs, profile {}", profile.name)};
}

Result<void> SimTransport::listen() {
  if (!fabric_.listen(port_, *this)) {
    return Failure(errc::address_in_use,
                   fmt::format("a live process of this world already listens at sim:{}", port_.value()));
  }
  is_listening_ = true;
  return {};
}

std::vector<Address> SimTransport::addresses() const {
  return {{TransportId::sim, std::to_string(port_.value())}};
}

std::unique_ptr<Connection> SimTransport::connect(const Peer& peer, ConnectionEvents& events, std::string&) {
  const auto make = [&](ConnectionEvents& told) -> std::unique_ptr<Connection> {
    return std::make_unique<queue::QueueConnection>(node_, peer, told, nic_, std::make_unique<SimDialer>(*this, peer),
                                                    TransportId::sim, message_way(fabric_));
  };
  MemoryWatch* const watch = fabric_.watch();
  return watch == nullptr ? make(events) : std::make_unique<WatchedConnection>(*watch, process_, peer, events, make);
}

void SimTransport::stop_listening() noexcept {
  if (std::exchange(is_listening_, false)) {
    fabric_.leave(port_, *this);
  }
}

void SimTransport::shut_down() noexcept {
  stop_listening();
  server_.shut_down();
}

void SimTransport::killed() noexcept {
  stop_listening();
  nic_.kill();
}

}  // namespace ferry::sim
