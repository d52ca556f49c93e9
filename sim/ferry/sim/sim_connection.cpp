#include <ferry/sim/sim_connection.hpp>

#include <charconv>
#include <utility>

#include <fmt/format.h>

#include <ferry/base/check.hpp>
#include <ferry/sim/sim_transport.hpp>
#include <ferry/transport/node_core.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry::sim {

SimConnection::SimConnection(SimTransport& transport, const Peer& peer, ConnectionEvents& events)
    : transport_(transport), peer_(peer), events_(events), handshake_(this) {
  transport_.add(*this);
}

SimConnection::~SimConnection() {
  close(Failure(errc::shut_down, "this node is shutting down"));
  transport_.remove(*this);
}

ProcessId SimConnection::self() const noexcept {
  return transport_.node().self();
}

std::string SimConnection::describe() const {
  const auto at = port();
  return at ? fmt::format("simulated fabric, sim:{}", at->value()) : "simulated fabric";
}

// Where the peer listens: the first address of it that is one of this fabric.
std::optional<Port> SimConnection::port() const {
  if (peer_.is_self()) {
    return transport_.port();
  }
  for (const Address& address : peer_.contact().addresses) {
    std::uint32_t number = 0;
    const char* end = address.text.data() + address.text.size();
    if (address.transport == TransportId::sim && std::from_chars(address.text.data(), end, number).ptr == end &&
        number != 0) {
      return Port(number);
    }
  }
  return std::nullopt;
}

void SimConnection::open() noexcept {
  if (state_ == State::dead) {
    return;
  }
  FERRY_CHECK(state_ == State::closed && channel_ == nullptr);
  state_ = State::asking;
  number_ = transport_.fabric().next_channel();
  handshake_.answered = false;
  transport_.fabric().scheduler().schedule(handshake_, StepKind::connect, transport_.process(), number_,
                                           transport_.fabric().delay(0, number_));
}

void SimConnection::handshake_step(Step& step) noexcept {
  auto& handshake = static_cast<Handshake&>(step);
  SimConnection& self = *handshake.connection;
  if (!std::exchange(handshake.answered, true)) {
    self.reach_peer();
    SimFabric& fabric = self.transport_.fabric();
    fabric.scheduler().schedule(handshake, StepKind::connect, self.transport_.process(), self.number_,
                                fabric.delay(0, self.number_));
    return;
  }
  if (self.channel_ == nullptr) {
    self.state_ = State::closed;
    self.events_.on_closed(self, std::exchange(handshake.refusal, {}), handshake.state);
    return;
  }
  self.state_ = State::open;
  self.was_open_ = true;
  self.events_.on_open(self);
}

// The request has arrived where the peer should listen.
void SimConnection::reach_peer() {
  const auto at = port();
  if (!at) {
    return refuse(Failure(errc::peer_unreachable, "no address of it on the simulated fabric is known"),
                  PeerState::unknown);
  }
  SimTransport* owner = transport_.fabric().at(*at);
  if (owner == nullptr) {
    return refuse(Failure(was_open_ ? errc::peer_lost : errc::peer_unreachable,
                          fmt::format("nobody listens at sim:{}", at->value())),
                  was_open_ ? PeerState::gone : PeerState::unknown);
  }
  if (owner->node().secret() != transport_.node().secret()) {
    return refuse(
        Failure(errc::not_authorised, fmt::format("the process at sim:{} belongs to another job", at->value())),
        PeerState::unknown);
  }
  if (owner->node().self() != peer_.id()) {
    return refuse(Failure(errc::stale_incarnation,
                          fmt::format("process {} now lives at sim:{}; process {} has ended",
                                      to_string(owner->node().self()), at->value(), to_string(peer_.id()))),
                  PeerState::other_incarnation);
  }
  if (Peer* const peer = transport_.node().peers().find(peer_.id())) {
    peer->set_name(owner->node().name());
  }
  channel_ = std::make_shared<SimChannel>(transport_.fabric(), number_, *this, *owner);
  owner->accept(channel_);
}

void SimConnection::refuse(const Failure& why, PeerState state) {
  handshake_.refusal = why.with_peer(peer_.describe());
  handshake_.state = state;
}

Started SimConnection::start(Operation& operation) noexcept {
  if (state_ != State::open) {
    return Started::not_open;
  }
  Flight& flight = transport_.fabric().launch(*this, channel_, operation);
  operation.transport_state = reinterpret_cast<std::uintptr_t>(&flight);
  operation.connection.store(this, std::memory_order_release);
  flights_.push_back(flight);
  flight.start();
  if (operation.kind == OperationKind::flush) {
    for (Flight& earlier : flights_) {
      if (earlier.is_transmitted_write()) {
        earlier.hurry();
      }
    }
    check_flushes();
  }
  return Started::pending;
}

Flight& SimConnection::flight_of(Operation& operation) const noexcept {
  return *reinterpret_cast<Flight*>(static_cast<std::uintptr_t>(operation.transport_state));
}

void SimConnection::cancel(Operation& operation, const Failure& why) noexcept {
  if (state_ != State::dead && operation.connection.load(std::memory_order_relaxed) == this) {
    flight_of(operation).cancel(why);
  }
}

bool SimConnection::abandon(Operation& operation) noexcept {
  if (operation.connection.load(std::memory_order_relaxed) != this) {
    return false;
  }
  operation.connection.store(nullptr, std::memory_order_relaxed);
  if (state_ == State::dead) {
    return true;  // the flight went when the process was killed
  }
  Flight& flight = flight_of(operation);
  transport_.fabric().scheduler().record(StepKind::silence, transport_.process(), flight.number());
  flight.give_up();
  forget(flight, operation);
  transport_.fabric().dispose(flight);
  return true;
}

bool SimConnection::send(wire::Bytes&& message) noexcept {
  return state_ == State::open && channel_->request(std::move(message));
}

void SimConnection::close(const Failure& why) noexcept {
  if (state_ == State::dead) {
    return;
  }
  state_ = State::closed;
  transport_.fabric().scheduler().withdraw(handshake_);
  end_flights(why);
  if (const auto channel = std::exchange(channel_, nullptr)) {
    channel->lose_initiator(
        Failure(errc::peer_lost, "the process closed the channel").with_peer(transport_.node().name()),
        transport_.fabric().delay(0, number_), false);
  }
}

// The owner's end is gone.
void SimConnection::channel_ended(const Failure& end, PeerState state) noexcept {
  const Failure why = end.with_peer(peer_.describe());
  if (state_ == State::asking) {
    transport_.fabric().scheduler().withdraw(handshake_);
  }
  state_ = State::closed;
  channel_ = nullptr;
  end_flights(why);
  events_.on_closed(*this, why, state);
}

void SimConnection::killed() noexcept {
  SimFabric& fabric = transport_.fabric();
  fabric.scheduler().withdraw(handshake_);
  state_ = State::dead;
  while (!flights_.empty()) {
    Flight& flight = flights_.front();
    flights_.pop_front();
    flight.orphan();
  }
  if (const auto channel = std::exchange(channel_, nullptr)) {
    const SimTransport* owner = channel->owner();
    channel->lose_initiator(
        Failure(errc::peer_lost, "nothing has been heard from the process for the failure-detection time")
            .with_peer(transport_.node().name()),
        owner == nullptr ? Duration::zero() : owner->node().limits().failure_detection, true);
  }
}

void SimConnection::end_flights(const Failure& why) noexcept {
  sequences_ = {};
  late_.reset();
  while (!flights_.empty()) {
    Flight& flight = flights_.front();
    Operation* operation = flight.operation();
    if (operation == nullptr) {
      flights_.pop_front();
      flight.orphan();  // a transmitted write: nobody waits for it, and it may still land
      continue;
    }
    Failure failure = flight.failure_for(why);
    flight.silence();
    forget(flight, *operation);
    transport_.fabric().dispose(flight);
    operation->complete(std::move(failure));
  }
}

void SimConnection::forget(Flight& flight, Operation& operation) noexcept {
  operation.connection.store(nullptr, std::memory_order_release);
  flights_.erase(flights_.iterator_to(flight));
  if (flight.sequence().id != 0) {
    sequences_.leave(flight.sequence().id);
  }
  if (flight.is_transmitted_write()) {
    check_flushes();
  }
}

void SimConnection::complete_early(Flight&, Operation* operation) noexcept {
  operation->connection.store(nullptr, std::memory_order_release);
  operation->complete();
}

void SimConnection::landed(Flight& flight, const Failure& failure) noexcept {
  if (failure && !late_) {
    late_ = Late{flight.number(), failure};
  }
  flights_.erase(flights_.iterator_to(flight));
  if (flight.sequence().id != 0) {
    sequences_.leave(flight.sequence().id);
  }
  check_flushes();
}

// A flush ends once no transmitted write that was started before it is still under way.
void SimConnection::check_flushes() {
  for (Flight& flight : flights_) {
    if (flight.is_transmitted_write()) {
      return;
    }
    if (flight.is_waiting_flush()) {
      Failure late;
      if (late_ && late_->number < flight.number()) {
        late = std::exchange(late_, std::nullopt)->failure;
      }
      flight.flushed(late);
    }
  }
}

}  // namespace ferry::sim
