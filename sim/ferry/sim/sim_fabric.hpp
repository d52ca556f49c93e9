// SimFabric: what lies between the simulated processes of one world: the network of their NICs, the control
// connections, and who listens where. Internal to the simulator.
//
// Owner: the World. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ferry/sim/nic/network.hpp>
#include <ferry/sim/scheduler.hpp>

namespace ferry::sim {

class MemoryWatch;
class SimStream;
class SimTransport;

class SimFabric {
 public:
  SimFabric(Scheduler& scheduler, const FabricOptions& options);
  ~SimFabric();
  SimFabric(const SimFabric&) = delete;
  SimFabric& operator=(const SimFabric&) = delete;

  Scheduler& scheduler() const noexcept { return network_.scheduler(); }
  Network& network() noexcept { return network_; }
  const FabricOptions& options() const noexcept { return network_.options(); }

  // Who looks for contract races; outlives the fabric; null: nobody.
  void watch(MemoryWatch* watch) noexcept;
  MemoryWatch* watch() const noexcept { return watch_; }

  // How long a message of so many bytes takes on a control connection; draws.
  Duration delay(std::uint64_t bytes, std::uint64_t stream = 0) noexcept;

  void add(SimTransport& transport);
  void remove(SimTransport& transport) noexcept;
  SimTransport* transport_of(ProcessNumber process) const noexcept;  // null if it has none
  bool listen(Port port, SimTransport& transport);                   // false: somebody else listens there
  void leave(Port port, const SimTransport& transport) noexcept;
  SimTransport* at(Port port) const noexcept;

  std::uint64_t next_stream() noexcept { return ++last_stream_; }
  void add(std::shared_ptr<SimStream> stream);

  // The process was killed: its NIC does nothing any more, its control connections break.
  void killed(ProcessNumber process) noexcept;
  // It does nothing for now: peers hear nothing of it. The reverse.
  void paused(ProcessNumber process) noexcept;
  void resumed(ProcessNumber process) noexcept;

  // Nothing that `from` sends reaches `to`, until it is mended.
  void cut(ProcessNumber from, ProcessNumber to) noexcept;
  void mend(ProcessNumber from, ProcessNumber to) noexcept;
  // What `from` sends to `to` waits until it is released.
  void hold(ProcessNumber from, ProcessNumber to) noexcept;
  void release(ProcessNumber from, ProcessNumber to) noexcept;

 private:
  void fall_silent(ProcessNumber from, ProcessNumber to) noexcept;
  void speak_again(ProcessNumber from, ProcessNumber to) noexcept;

  Network network_;
  MemoryWatch* watch_ = nullptr;
  std::map<ProcessNumber, SimTransport*> transports_;
  std::map<Port, SimTransport*> listening_;
  std::uint64_t last_stream_ = 0;
  std::vector<std::shared_ptr<SimStream>> streams_;  // in the order of making
};

}  // namespace ferry::sim
