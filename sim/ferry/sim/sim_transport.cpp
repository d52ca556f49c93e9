#include <ferry/sim/sim_transport.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <ferry/sim/sim_connection.hpp>
#include <ferry/transport/node_core.hpp>

namespace ferry::sim {

bool SimInbound::send(wire::Bytes&& message) noexcept {
  return channel_ != nullptr && channel_->answer(std::move(message));
}

SimTransport::SimTransport(NodeCore& node, SimFabric& fabric, ProcessNumber process, Port port)
    : node_(node), fabric_(fabric), process_(process), port_(port), domain_(fabric.scheduler(), process) {
  fabric_.add(*this);
}

SimTransport::~SimTransport() {
  shut_down();
  fabric_.remove(*this);
}

Capabilities SimTransport::capabilities() const {
  return {.atomics_cpu = true,
          .atomics_nic = false,
          .completes_inline = false,
          .delivered_by = "an answer from the owner",
          .notes = fmt::format("simulated, profile {}", fabric_.options().profile->name)};
}

Result<void> SimTransport::listen() {
  if (!fabric_.listen(port_, *this)) {
    return Failure(errc::address_in_use,
                   fmt::format("a live process of this world already listens at sim:{}", port_.value()));
  }
  listening_ = true;
  return {};
}

std::vector<Address> SimTransport::addresses() const {
  return {{TransportId::sim, std::to_string(port_.value())}};
}

std::unique_ptr<Connection> SimTransport::connect(const Peer& peer, ConnectionEvents& events, std::string&) {
  return std::make_unique<SimConnection>(*this, peer, events);
}

void SimTransport::shut_down() noexcept {
  if (std::exchange(listening_, false)) {
    fabric_.leave(port_, *this);
  }
  lose_inbound(Failure(errc::peer_lost, "the process has ended"), false);
}

void SimTransport::killed() noexcept {
  if (std::exchange(listening_, false)) {
    fabric_.leave(port_, *this);
  }
  for (SimConnection* connection : connections_) {
    connection->killed();
  }
  lose_inbound(Failure(errc::peer_lost, "nothing has been heard from the process for the failure-detection time"),
               true);
}

void SimTransport::lose_inbound(const Failure& why, bool killed) noexcept {
  for (const std::shared_ptr<SimChannel>& channel : std::exchange(inbound_, {})) {
    const SimConnection* initiator = channel->initiator();
    const Duration news =
        killed && initiator != nullptr ? initiator->transport_of().node().limits().failure_detection : fabric_.delay(0);
    channel->lose_owner(why, news, killed);
  }
}

Result<RegionTable::Pin> SimTransport::access(const RemoteRegion& reference, Access needed, std::uint64_t offset,
                                              std::uint64_t length) {
  if (auto key = domain_.check(reference); !key) {
    return key.error();
  }
  return node_.regions().pin({reference.slot, reference.generation}, needed, offset, length);
}

void SimTransport::inbound_ended(SimChannel& channel, const Failure& why) noexcept {
  const auto found = std::find_if(inbound_.begin(), inbound_.end(),
                                  [&channel](const auto& inbound) { return inbound.get() == &channel; });
  if (found == inbound_.end()) {
    return;
  }
  const std::shared_ptr<SimChannel> ended = std::move(*found);
  inbound_.erase(found);
  ended->discard();
  if (MessageSink* sink = node_.sink()) {
    sink->on_inbound_closed(ended->inbound(), why);
  }
}

}  // namespace ferry::sim
