#include <ferry/sim/sim_fabric.hpp>

#include <ferry/base/check.hpp>
#include <ferry/sim/sim_connection.hpp>
#include <ferry/sim/sim_transport.hpp>

namespace ferry::sim {

SimFabric::SimFabric(Scheduler& scheduler, const FabricOptions& options) : scheduler_(scheduler), options_(options) {}

SimFabric::~SimFabric() {
  flights_.clear_and_dispose([](Flight* flight) { delete flight; });
}

Duration SimFabric::delay(std::uint64_t bytes, std::uint64_t channel) noexcept {
  const auto& rows = options_.profile->delays;
  const DelayRow row = rows[scheduler_.choose(ChoiceKind::latency, rows.size(), channel)];
  const Duration plain = options_.latency + Duration(bytes * 1000 / options_.bytes_per_microsecond);
  return plain * row.numerator / row.denominator;
}

void SimFabric::add(SimTransport& transport) {
  FERRY_CHECK(transports_.try_emplace(transport.process(), &transport).second);
}

void SimFabric::remove(SimTransport& transport) noexcept {
  transports_.erase(transport.process());
}

SimTransport* SimFabric::transport_of(ProcessNumber process) const noexcept {
  const auto found = transports_.find(process);
  return found == transports_.end() ? nullptr : found->second;
}

bool SimFabric::listen(Port port, SimTransport& transport) {
  return listening_.try_emplace(port, &transport).second;
}

void SimFabric::leave(Port port, const SimTransport& transport) noexcept {
  if (const auto found = listening_.find(port); found != listening_.end() && found->second == &transport) {
    listening_.erase(found);
  }
}

SimTransport* SimFabric::at(Port port) const noexcept {
  const auto found = listening_.find(port);
  return found == listening_.end() ? nullptr : found->second;
}

Flight& SimFabric::launch(SimConnection& connection, const std::shared_ptr<SimChannel>& channel, Operation& operation) {
  auto* flight = new Flight(*this, connection, channel, operation, ++operations_);
  flights_.push_back(*flight);
  return *flight;
}

void SimFabric::dispose(Flight& flight) noexcept {
  flights_.erase_and_dispose(flights_.iterator_to(flight), [](Flight* disposed) { delete disposed; });
}

Piece& SimFabric::take_piece() {
  if (free_pieces_.empty()) {
    all_pieces_.push_back(std::make_unique<Piece>());
    return *all_pieces_.back();
  }
  Piece& piece = *free_pieces_.back();
  free_pieces_.pop_back();
  return piece;
}

void SimFabric::give_back(Piece& piece) noexcept {
  constexpr std::size_t kKept = 16384;  // bytes of buffer that a free piece keeps
  if (piece.bytes.capacity() > kKept) {
    piece.bytes = wire::Bytes();
  }
  piece.flight = nullptr;
  free_pieces_.push_back(&piece);
}

std::vector<std::string> SimFabric::in_flight_of(ProcessNumber process) const {
  std::vector<std::string> lines;
  for (const Flight& flight : flights_) {
    if (flight.operation() != nullptr && flight.initiator() == process) {
      lines.push_back(flight.describe());
    }
  }
  return lines;
}

}  // namespace ferry::sim
