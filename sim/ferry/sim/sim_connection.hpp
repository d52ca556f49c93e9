// SimConnection: what one simulated process starts toward another, or toward itself.
//
// Owner: the Peer. One thread. Every callback comes from a scheduled step; start() never completes in place.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <boost/intrusive/list.hpp>

#include <ferry/sim/flight.hpp>
#include <ferry/sim/sequence_order.hpp>
#include <ferry/sim/sim_channel.hpp>
#include <ferry/sim/sim_fabric.hpp>
#include <ferry/transport/connection.hpp>

namespace ferry {
class Peer;
}

namespace ferry::sim {

class SimConnection final : public Connection {
 public:
  SimConnection(SimTransport& transport, const Peer& peer, ConnectionEvents& events);
  ~SimConnection() override;

  void open() noexcept override;
  Started start(Operation& operation) noexcept override;
  void cancel(Operation& operation, const Failure& why) noexcept override;
  bool abandon(Operation& operation) noexcept override;
  bool send(wire::Bytes&& message) noexcept override;
  void close(const Failure& why) noexcept override;
  bool pipelines_sequences() const noexcept override { return true; }
  TransportId transport() const noexcept override { return TransportId::sim; }
  std::string describe() const override;

  // For the fabric.
  SimTransport& transport_of() const noexcept { return transport_; }
  ProcessId self() const noexcept;
  const Peer& peer() const noexcept { return peer_; }
  SequenceOrder& sequences() noexcept { return sequences_; }
  void deliver(wire::Bytes&& message) noexcept { events_.on_message(*this, std::move(message)); }
  void channel_ended(const Failure& end, PeerState state) noexcept;
  void killed() noexcept;

  // The flight ends with its operation, which the caller completes next.
  void forget(Flight& flight, Operation& operation) noexcept;
  // A transmitted write's operation is complete; the flight goes on.
  void complete_early(Flight& flight, Operation* operation) noexcept;
  // All of such a write is visible, or went wrong: the flight ends.
  void landed(Flight& flight, const Failure& failure) noexcept;

 private:
  enum class State : std::uint8_t { closed, asking, open, dead };
  using Flights = boost::intrusive::list<
      Flight, boost::intrusive::member_hook<Flight, boost::intrusive::list_member_hook<>, &Flight::connection_hook>>;
  struct Handshake : Step {
    explicit Handshake(SimConnection* owner) noexcept : Step(&SimConnection::handshake_step), connection(owner) {}
    SimConnection* connection;
    bool answered = false;
    Failure refusal{};
    PeerState state = PeerState::unknown;
  };
  struct Late {
    std::uint64_t number;  // of the write
    Failure failure;
  };

  static void handshake_step(Step& step) noexcept;
  void reach_peer();
  void refuse(const Failure& why, PeerState state);
  std::optional<Port> port() const;
  Flight& flight_of(Operation& operation) const noexcept;
  void end_flights(const Failure& why) noexcept;
  void check_flushes();

  SimTransport& transport_;
  const Peer& peer_;
  ConnectionEvents& events_;
  State state_ = State::closed;
  bool was_open_ = false;
  std::uint64_t number_ = 0;  // of the channel
  Handshake handshake_;
  std::shared_ptr<SimChannel> channel_;
  Flights flights_;  // in the order of starting
  SequenceOrder sequences_;
  std::optional<Late> late_;  // the first failure of a transmitted write since the last flush that told one
};

}  // namespace ferry::sim
