// LitmusNode: one node of litmus programs in the process that it stands in: its registered memory, its queues, its
// runs.
//
// prepare() on each node, connect() on each, join() on each, then run() on all at once; again for the next program.
// Owner: the actor that the other processes call (litmus_host.hpp), on whose strand everything is called.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ferry/actor/actor_context.hpp>
#include <ferry/base/start.hpp>
#include <ferry/buffer/allocator.hpp>
#include <ferry/litmus_run/node_runs.hpp>
#include <ferry/litmus_run/queue_pair_queue.hpp>

namespace ferry::litmus_run {

// Sightings as a message.
struct SightingsReport {
  std::vector<std::vector<std::uint64_t>> outcomes;
  std::vector<std::uint64_t> hits;
  std::uint64_t stuck = 0;
};

// Of both ends of a queue's pair; empty where the node that answers has no such end.
struct QueueAddresses {
  std::vector<std::byte> initiator;
  std::vector<std::byte> owner;
};

class LitmusNode {
 public:
  // device: each litmus queue is a queue pair of it; null: operations of ferry's own. It outlives the node. Throws
  // Error where the board cannot be opened.
  LitmusNode(ActorContext& context, const BoardPlace& board, queue::Device* device);
  ~LitmusNode();

  // Makes room for this node of the program, given as text; its memory. Throws Error.
  Task<BufferRef> prepare(std::string text, std::uint32_t node);
  // Makes the queues, given the memory of all nodes; the addresses of the ends that are here, by queue. Throws Error.
  Task<std::vector<QueueAddresses>> connect(std::vector<BufferRef> memory);
  // Given the addresses of all ends. Throws Error.
  void join(const std::vector<QueueAddresses>& addresses);
  // Throws Error.
  Task<SightingsReport> run(RunOrder order);

 private:
  struct alignas(kCacheLine) Line {
    std::array<std::byte, kCacheLine> bytes;
  };

  Task<void> take_notifications(NotificationStream stream);
  std::unique_ptr<RealQueue> connect_queue_pair(litmus::QueueIndex index, const BufferRef& remote,
                                                QueueAddresses& addresses);
  void release() noexcept;
  std::byte* memory() noexcept { return reinterpret_cast<std::byte*>(lines_.data()); }

  ActorContext& context_;
  Board board_;
  queue::Device* const device_;
  litmus::Program program_;
  litmus::NodeIndex node_ = 0;
  Layout layout_{};
  ferry::vector<Line> lines_;
  RDMABuffer buffer_;
  std::optional<std::uint32_t> local_key_;
  std::optional<Running<void>> notifications_;
  std::vector<std::unique_ptr<QueuePairTarget>> targets_;  // by queue; null where this node is not the owner
  std::vector<queue::QueuePair*> initiators_;              // by queue; null where this node is not the initiator
  std::unique_ptr<NodeRuns> runs_;
};

}  // namespace ferry::litmus_run
