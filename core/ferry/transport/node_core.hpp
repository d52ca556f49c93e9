// NodeCore: what the layers of one node share: executor, log, identity, memory table, transports, peers, message sink.
//
// Owner: the composer (transports/run, sim). A struct of references and values, set up before anything runs and
// constant afterwards, except where a member guards itself. One per process in real programs; several in tests and the
// simulator.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ferry/base/executor.hpp>
#include <ferry/base/gate.hpp>
#include <ferry/base/log.hpp>
#include <ferry/base/time.hpp>
#include <ferry/memory/process_id.hpp>
#include <ferry/memory/region_table.hpp>
#include <ferry/transport/inbound.hpp>
#include <ferry/transport/transport.hpp>

namespace ferry {

class ActorRuntime;  // actor/actor_runtime.hpp
class PeerTable;
class SharedMemory;  // memory/shared_memory.hpp

// The per-job secret: whoever knows it may join. Made by the root from the system's random numbers.
using JobSecret = std::array<std::byte, 32>;

// What a user may set for a node's timing and bounds; defaults in limits.hpp.
struct NodeLimits {
  std::size_t frame_bytes = limits::kFrameBytes;
  Duration no_progress = limits::kNoProgress;
  Duration quiet_grace = limits::kQuietGrace;
  Duration heartbeat = limits::kHeartbeat;
  Duration failure_detection = limits::kFailureDetection;
  Duration handshake = limits::kHandshake;
};

// What this node has sent, besides one-sided bytes: counted as bytes of whole frames. Relaxed counters, for reports.
struct TrafficCounters {
  static constexpr std::uint64_t kFrameHeader = 16;  // on a stream or ring, before each message

  std::atomic<std::uint64_t> messages{0};
  std::atomic<std::uint64_t> message_bytes{0};
  std::atomic<std::uint64_t> notifications{0};
  std::atomic<std::uint64_t> notification_bytes{0};  // tags and their headers
  std::atomic<std::uint64_t> heartbeat_bytes{0};     // added by transports

  void count_message(std::size_t bytes) noexcept {
    messages.fetch_add(1, std::memory_order_relaxed);
    message_bytes.fetch_add(bytes + kFrameHeader, std::memory_order_relaxed);
  }
  void count_notification() noexcept {
    notifications.fetch_add(1, std::memory_order_relaxed);
    notification_bytes.fetch_add(sizeof(std::uint64_t) + kFrameHeader, std::memory_order_relaxed);
  }
};

class NodeCore {
 public:
  NodeCore(Executor& executor, Log& log, ProcessId self, std::string name, const JobSecret& secret,
           const NodeLimits& limits);
  ~NodeCore();
  NodeCore(const NodeCore&) = delete;
  NodeCore& operator=(const NodeCore&) = delete;

  // The node of the task step that runs on this thread; null outside any.
  static NodeCore* current() noexcept;

  // In the order of preference. Before anything runs.
  void add_transport(std::unique_ptr<Transport> transport);
  void set_sink(MessageSink& sink) noexcept { sink_ = &sink; }
  // The node's actors; null in a node without any.
  void set_actors(ActorRuntime& actors) noexcept { actors_ = &actors; }
  ActorRuntime* actors() const noexcept { return actors_; }

  Executor& executor() const noexcept { return executor_; }
  Log& log() const noexcept { return log_; }
  ProcessId self() const noexcept { return self_; }
  const std::string& name() const noexcept { return name_; }  // for people: "root", "worker/2"
  const JobSecret& secret() const noexcept { return secret_; }
  const NodeLimits& limits() const noexcept { return limits_; }
  RegionTable& regions() noexcept { return regions_; }
  PeerTable& peers() noexcept { return *peers_; }
  MessageSink* sink() const noexcept { return sink_; }
  const std::vector<std::unique_ptr<Transport>>& transports() const noexcept { return transports_; }

  // A number for a Sequence, unique in this process.
  std::uint64_t next_sequence() noexcept { return next_sequence_.fetch_add(1, std::memory_order_relaxed) + 1; }

  // Memory that peers of this host map; null where no transport offers any. Before anything runs.
  void set_shared_memory(std::shared_ptr<SharedMemory> memory) noexcept { shared_memory_ = std::move(memory); }
  const std::shared_ptr<SharedMemory>& shared_memory() const noexcept { return shared_memory_; }

  TrafficCounters& traffic() noexcept { return traffic_; }
  const TrafficCounters& traffic() const noexcept { return traffic_; }

  // This process and all its addresses.
  Contact contact() const;

  // For whoever starts what goes on after the call that began it (asio.hpp): shut_down() waits until all has left, so
  // that a node outlives what is under way on it.
  Gate& under_way() noexcept { return under_way_; }

  // Ends peers, transports and what is under way; blocks until nothing of them runs. Idempotent.
  void shut_down() noexcept;

 private:
  Executor& executor_;
  Log& log_;
  ProcessId self_;
  std::string name_;
  JobSecret secret_;
  NodeLimits limits_;
  RegionTable regions_;
  MessageSink* sink_ = nullptr;
  ActorRuntime* actors_ = nullptr;
  std::shared_ptr<SharedMemory> shared_memory_;
  std::atomic<std::uint64_t> next_sequence_{0};
  TrafficCounters traffic_;
  Gate under_way_;
  bool shut_down_ = false;
  std::vector<std::unique_ptr<Transport>> transports_;
  std::unique_ptr<PeerTable> peers_;  // after transports_: its connections end first
};

}  // namespace ferry
