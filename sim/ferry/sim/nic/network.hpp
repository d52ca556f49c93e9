// Network: what lies between the NICs of a world: latency, bandwidth, loss, duplicates, partitions. Owns the packets.
//
// Packets of one queue pair to another keep their order, except duplicates; nothing else does. Each NIC sends and takes
// one packet at a time. Owner: the fabric. One thread.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include <ferry/sim/fabric_options.hpp>
#include <ferry/sim/nic/nic_watch.hpp>
#include <ferry/sim/nic/packet.hpp>
#include <ferry/sim/nic/pool.hpp>
#include <ferry/sim/scheduler.hpp>

namespace ferry::sim {

class SimQueuePair;

class Network {
 public:
  Network(Scheduler& scheduler, const FabricOptions& options);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  Scheduler& scheduler() const noexcept { return scheduler_; }
  const FabricOptions& options() const noexcept { return options_; }

  // Is told what the NICs do to memory; outlives the network; null: nobody.
  void watch(NicWatch* watch) noexcept { watch_ = watch; }
  NicWatch* watch() const noexcept { return watch_; }

  // Whether all of these bytes are ghosts (FabricOptions::ghost).
  bool is_ghost(const std::byte* at, std::uint64_t length) const noexcept {
    const std::span<std::byte> ghost = options_.ghost;
    return !ghost.empty() && !std::less<>()(at, ghost.data()) &&
           !std::less<>()(ghost.data() + ghost.size(), at + length);
  }

  // An empty packet; send() or give_back() follows.
  Packet& take_packet();
  void give_back(Packet& packet) noexcept;

  // Sends it from `from` to the process of its receiver. It may get lost.
  void send(Packet& packet, SimQueuePair& from) noexcept;

  // A key of some process's memory; never given twice.
  std::uint32_t next_key() noexcept { return ++last_key_; }

  QueueNumber add(SimQueuePair& end);
  void remove(SimQueuePair& end) noexcept;
  SimQueuePair* find(QueueNumber number) const noexcept;

  // Of the way from one process to another. What is on the way already is not concerned.
  struct Link {
    bool is_cut = false;                      // packets get lost
    bool is_held = false;                     // they wait until they are released
    Duration latency{};                       // on top of the network's
    std::uint64_t bytes_per_microsecond = 0;  // at most; 0: as the NICs
  };
  // For changes; is_held by hold() and release().
  Link& link(ProcessNumber from, ProcessNumber to) { return links_[{from, to}].link; }
  void hold(ProcessNumber from, ProcessNumber to) { link(from, to).is_held = true; }
  void release(ProcessNumber from, ProcessNumber to) noexcept;
  bool is_blocked(ProcessNumber from, ProcessNumber to) const noexcept {
    const Link& way = find_link(from, to);
    return way.is_cut || way.is_held;
  }
  const Link& find_link(ProcessNumber from, ProcessNumber to) const noexcept;

  // "One in so many", as in FabricOptions, which gives the first.
  struct Rates {
    std::uint64_t drop = 0;
    std::uint64_t duplicate = 0;
    std::uint64_t delay = 0;
    std::uint64_t stall = 0;
  };
  Rates& rates() noexcept { return rates_; }

 private:
  friend struct Packet;
  // One direction of a NIC, which carries one packet at a time.
  struct Way {
    TimePoint usual_until{};   // packets of the usual size
    TimePoint trains_until{};  // all of them
    TimePoint take(TimePoint now, Duration airtime, bool is_train) noexcept;
  };
  struct Port {
    Way sends;
    Way takes;
  };

  static void arrive(Step& step) noexcept;
  Port& port_of(ProcessNumber process);
  void transmit(Packet& packet, SimQueuePair& from, const Link& link) noexcept;
  bool happens(ChoiceKind kind, std::uint64_t one_in, QueueNumber queue) noexcept;

  Scheduler& scheduler_;
  const FabricOptions options_;
  NicWatch* watch_ = nullptr;
  std::uint32_t last_key_ = 0;
  std::vector<SimQueuePair*> ends_;  // by number - 1; null: gone
  std::vector<Port> ports_;          // by process number
  struct LinkState {
    Link link;
    std::vector<Packet*> held;
  };
  std::map<std::pair<ProcessNumber, ProcessNumber>, LinkState> links_;  // those unlike the others
  Rates rates_;
  Pool<Packet> packets_;
};

}  // namespace ferry::sim
