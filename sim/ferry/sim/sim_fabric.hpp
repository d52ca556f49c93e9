// SimFabric: what lies between the simulated processes of one world: who listens where, how long packets take, and
// everything that is in flight. Internal to the simulator.
//
// Owner: the World. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/intrusive/list.hpp>

#include <ferry/sim/fabric_options.hpp>
#include <ferry/sim/flight.hpp>
#include <ferry/sim/scheduler.hpp>

namespace ferry::sim {

class SimFabric {
 public:
  SimFabric(Scheduler& scheduler, const FabricOptions& options);
  ~SimFabric();
  SimFabric(const SimFabric&) = delete;
  SimFabric& operator=(const SimFabric&) = delete;

  Scheduler& scheduler() const noexcept { return scheduler_; }
  const FabricOptions& options() const noexcept { return options_; }

  // The delay of one packet with so many bytes of payload; draws a row of the profile. channel: whose packet it is.
  Duration delay(std::uint64_t bytes, std::uint64_t channel = 0) noexcept;

  void add(SimTransport& transport);
  void remove(SimTransport& transport) noexcept;
  SimTransport* transport_of(ProcessNumber process) const noexcept;  // null if it has none
  bool listen(Port port, SimTransport& transport);                   // false: somebody else listens there
  void leave(Port port, const SimTransport& transport) noexcept;
  SimTransport* at(Port port) const noexcept;

  std::uint64_t next_channel() noexcept { return ++channels_; }
  Flight& launch(SimConnection& connection, const std::shared_ptr<SimChannel>& channel, Operation& operation);
  void dispose(Flight& flight) noexcept;

  Piece& take_piece();
  void give_back(Piece& piece) noexcept;

  // Every operation in flight of which `process` waits, one per line of at most a few.
  std::vector<std::string> in_flight_of(ProcessNumber process) const;

 private:
  using Flights = boost::intrusive::list<
      Flight, boost::intrusive::member_hook<Flight, boost::intrusive::list_member_hook<>, &Flight::fabric_hook>>;

  Scheduler& scheduler_;
  const FabricOptions options_;
  std::map<ProcessNumber, SimTransport*> transports_;
  std::map<Port, SimTransport*> listening_;
  std::uint64_t channels_ = 0;
  std::uint64_t operations_ = 0;
  std::vector<std::unique_ptr<Piece>> all_pieces_;
  std::vector<Piece*> free_pieces_;
  Flights flights_;
};

}  // namespace ferry::sim
