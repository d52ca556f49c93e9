// Network: what lies between the NICs of a world: latency, bandwidth, loss, duplicates, partitions. Owns the packets.
//
// Packets of one queue pair to another keep their order, except duplicates; nothing else does. Each NIC sends and takes
// one packet at a time. Owner: the fabric. One thread.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include <ferry/sim/fabric_options.hpp>
#include <ferry/sim/nic/packet.hpp>
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

  // One way; what is on the way arrives still. Nothing happens if it is so already.
  void cut(ProcessNumber from, ProcessNumber to) { cuts_.insert({from, to}); }
  void mend(ProcessNumber from, ProcessNumber to) { cuts_.erase({from, to}); }
  void mend_all() { cuts_.clear(); }
  bool is_cut(ProcessNumber from, ProcessNumber to) const { return cuts_.contains({from, to}); }

 private:
  friend struct Packet;
  struct Port {
    TimePoint sends_until{};
    TimePoint takes_until{};
  };

  static void arrive(Step& step) noexcept;
  Port& port_of(ProcessNumber process);
  bool happens(ChoiceKind kind, std::uint64_t one_in, QueueNumber queue) noexcept;

  Scheduler& scheduler_;
  const FabricOptions options_;
  std::uint32_t last_key_ = 0;
  std::vector<SimQueuePair*> ends_;  // by number - 1; null: gone
  std::vector<Port> ports_;          // by process number
  std::set<std::pair<ProcessNumber, ProcessNumber>> cuts_;
  std::vector<std::unique_ptr<Packet>> all_;
  std::vector<Packet*> free_;
};

}  // namespace ferry::sim
