// OngoingFaults: the faults that go on in a world, and how they begin and end. FaultPlan says when; Swarm draws them.
//
// Everything happens between steps, or at the end of the step that asks for it where a process strikes itself. A fault
// that already goes on is not begun again. Owner: the World. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <ferry/base/failure.hpp>
#include <ferry/base/time.hpp>
#include <ferry/sim/faults.hpp>
#include <ferry/sim/ids.hpp>
#include <ferry/sim/nic/network.hpp>

namespace ferry::sim {

class Process;
class World;

class OngoingFaults {
 public:
  static constexpr std::size_t kTold = 200;  // faults of a run that are kept in words

  OngoingFaults(World& world, std::size_t hosts);
  OngoingFaults(const OngoingFaults&) = delete;
  OngoingFaults& operator=(const OngoingFaults&) = delete;

  // The process is killed: Process::kill(). A host: all of its processes are, and none starts there until it is
  // restarted.
  void crash(Process& process);
  void crash(Host host);

  // Crashes what lives, then starts its next life: the same name, program and port, a new incarnation, no memory. Only
  // for a process that the world started: Error (invalid_argument) for children, whose parents decide. A host: those of
  // its processes that the world started and that had not ended by themselves.
  Process& restart(Process& process);
  void restart(Host host);

  // Nothing of the process runs, jobs, timers and what they would answer, until it is resumed; its memory stays, and
  // one-sided operations reach it. Virtual time goes on; messages to it wait. What would end it still does.
  void pause(Process& process);
  void pause(Host host);
  void resume(Process& process);
  void resume(Host host);

  // Its clock, and so its timers, run faster (or, below zero, slower) by so many millionths: at most
  // ProcessClock::kMaxDrift, a tenth; Error (invalid_argument) beyond.
  void set_drift(Process& process, std::int64_t millionths);

  // The next `count` times that a process on the host starts one, the system refuses.
  void refuse_spawns(Host host, std::uint64_t count);
  // The next `count` times that the process registers memory.
  void refuse_registrations(Process& process, std::uint64_t count);

  // Nothing that `from` sends reaches `to` any more: packets get lost, and whoever hears nothing for the
  // failure-detection time gives the connection up. Hosts: nothing passes between them, either way, processes that
  // start meanwhile included. On one host nothing can be cut between hosts: Error (invalid_argument) for the same host
  // twice.
  void cut(const Process& from, const Process& to);
  void mend(const Process& from, const Process& to);
  void partition(Host a, Host b);
  void mend(Host a, Host b);
  // What `from` sends to `to` waits until it is released.
  void hold(const Process& from, const Process& to);
  void release(const Process& from, const Process& to);
  // Packets of all NICs get lost, arrive twice, are late, and NICs idle before they send, once in so many times; 0:
  // never.
  void set_network(const Network::Rates& rates);

  // Ends every fault that goes on: hosts are restarted, processes resumed, clocks right, nothing is refused, the
  // network is whole; and the swarm strikes no more.
  void heal();

  // For the world: a process has started.
  void started(const Process& process);

  bool is_up(Host host) const { return hosts_.at(host.index).is_up; }
  bool is_paused(const Process& process) const noexcept;

  // For the process host and the node's memory: whether it fails, which counts it.
  Failure spawn_refusal(Host host);
  bool refuses_registration(const Process& process);

  // What began and ended, with its time, in order: "0.003000000 s: process 3 (worker) crashed". At most kTold.
  const std::vector<std::string>& told() const noexcept { return told_; }
  void tell(std::string what);
  // How often a fault of each kind struck.
  const std::array<std::uint64_t, kFaults>& struck() const noexcept { return struck_; }
  void count(Fault fault) noexcept { ++struck_[static_cast<std::size_t>(fault)]; }

 private:
  struct HostState {
    bool is_up = true;
    std::uint64_t spawns_refused = 0;
    std::vector<Process*> to_restart;  // while it is down
  };

  void heal_network();
  void separate(const Process& a, const Process& b, bool is_cut);
  void for_each_on(Host host, const std::function<void(Process&)>& function);
  void check(Host host) const;

  World& world_;
  std::vector<HostState> hosts_;
  std::map<ProcessNumber, std::uint64_t> registrations_refused_;
  std::set<std::pair<Host, Host>> partitions_;  // the lower one first
  std::set<std::pair<ProcessNumber, ProcessNumber>> cuts_;
  std::set<std::pair<ProcessNumber, ProcessNumber>> holds_;
  std::vector<std::string> told_;
  std::array<std::uint64_t, kFaults> struck_{};
};

// "process 3 (worker/1)".
std::string describe(const Process& process);

}  // namespace ferry::sim
