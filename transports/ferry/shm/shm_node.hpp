// ShmNode: what all parts of one node's shared memory transport share.
//
// Owner: ShmTransport. Set up before anything runs; its members guard themselves.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <ferry/shm/board.hpp>
#include <ferry/shm/poller.hpp>
#include <ferry/shm/reader_slots.hpp>
#include <ferry/shm/segment_allocator.hpp>
#include <ferry/shm/shm_memory_domain.hpp>
#include <ferry/transport/node_core.hpp>

namespace ferry::shm {

struct ShmNode {
  ShmNode(NodeCore& node_core, std::shared_ptr<OwnBoard> own_board, std::shared_ptr<SegmentAllocator> segments,
          std::unique_ptr<Poller> event_source)
      : core(node_core),
        board(std::move(own_board)),
        allocator(std::move(segments)),
        readers(board),
        domain(board, allocator, core.executor()),
        poller(std::move(event_source)) {}

  NodeCore& core;
  std::shared_ptr<OwnBoard> board;
  std::shared_ptr<SegmentAllocator> allocator;
  ReaderSlots readers;
  ShmMemoryDomain domain;
  std::unique_ptr<Poller> poller;

  struct Counters {
    std::atomic<std::uint64_t> foreign_reads{0};
    std::atomic<std::uint64_t> commands{0};
    std::atomic<std::uint64_t> commands_served{0};
    std::atomic<std::uint64_t> doorbells{0};
    std::atomic<std::uint64_t> mapped_segments{0};
  } counters{};

  static void count(std::atomic<std::uint64_t>& counter) noexcept { counter.fetch_add(1, std::memory_order_relaxed); }

  // Rings if the peer's poller sleeps. After a sequentially consistent store of what it will find.
  void wake_peer(const PeerBoard& peer, const PeerDoorbell& doorbell) noexcept {
    if (peer.is_asleep()) {
      count(counters.doorbells);
      doorbell.ring();
    }
  }
};

}  // namespace ferry::shm
