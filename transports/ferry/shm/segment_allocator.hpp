// SegmentAllocator: the SharedMemory of this process: memfd segments that peers map.
//
// A large block has a segment of its own; small ones share arenas. Every segment is reserved when it is made, in steps
// between which the budget is asked again, so touching it never raises SIGBUS. A segment whose last block comes back is
// given up at once: its pages return even while peers still map it. Numbers of segments are never used again.
// Any thread may call anything; no lock is held while the kernel reserves.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <ferry/memory/shared_memory.hpp>
#include <ferry/shm/block_arena.hpp>
#include <ferry/shm/memory_budget.hpp>
#include <ferry/shm/memory_file.hpp>

namespace ferry::shm {

// Told when a segment is given up, so that peers unmap it. Any thread, no lock of the allocator held; must not block.
class SegmentObserver {
 public:
  virtual void on_segment_gone(std::uint32_t segment) noexcept = 0;

 protected:
  ~SegmentObserver() = default;
};

struct SegmentOptions {
  // Bytes of the first arena; later ones are as large as all before together, up to the last.
  std::uint64_t first_arena = std::uint64_t{1} << 20;
  std::uint64_t largest_arena = std::uint64_t{32} << 20;
  // False: pages come when they are touched, and the budget is not asked. For tests of sizes beyond the machine's.
  bool reserve = true;
};

class SegmentAllocator final : public SharedMemory {
 public:
  explicit SegmentAllocator(MemoryBudget budget = MemoryBudget{}, const SegmentOptions& options = {});
  ~SegmentAllocator() override;

  Result<SharedBlock> allocate(std::size_t bytes, std::size_t alignment) noexcept override;
  void deallocate(std::byte* memory, std::size_t bytes, std::size_t alignment) noexcept override;
  SegmentPlace place_of(const std::byte* memory, std::uint64_t size) const noexcept override;

  // --- For the transport.

  // Null for none. Returns when the old one is not being called any more.
  void set_observer(SegmentObserver* observer) noexcept;

  struct Opened {
    FileDescriptor descriptor;
    std::uint64_t size = 0;
  };
  // A descriptor for a peer that maps the segment. revoked if it is gone.
  Result<Opened> open(std::uint32_t segment, bool writable) const;

  // Blocks that touch the range are not handed out again, after their deallocate(), until release() of the same range.
  void quarantine(SegmentPlace place, std::uint64_t size);
  void release(SegmentPlace place, std::uint64_t size) noexcept;

  struct Usage {
    std::size_t segments = 0;
    std::uint64_t bytes = 0;      // of all segments
    std::size_t quarantined = 0;  // ranges
    std::size_t parked = 0;       // blocks that wait for one of them
  };
  Usage usage() const;

 private:
  struct Segment {
    std::uint32_t number = 0;
    MemoryFile file;
    std::optional<BlockArena> arena;  // none: one block has it all
  };
  struct Range {
    SegmentPlace place;
    std::uint64_t size;
  };
  struct Block {
    std::byte* memory;
    std::size_t bytes;
    std::size_t alignment;
  };
  using Segments = std::map<std::uintptr_t, std::unique_ptr<Segment>>;  // by where they start

  Result<std::unique_ptr<Segment>> make_segment(std::uint64_t bytes, std::size_t alignment);
  Result<SharedBlock> allocate_small(std::size_t bytes, std::size_t alignment);
  Result<SharedBlock> allocate_large(std::size_t bytes, std::size_t alignment);
  std::optional<SharedBlock> allocate_from_arenas(std::size_t bytes, std::size_t alignment);
  std::uint64_t next_arena_bytes() const noexcept;
  const Segment* segment_at(const std::byte* memory) const noexcept;
  bool is_quarantined(const Block& block) const noexcept;
  std::unique_ptr<Segment> take_back(const Block& block);
  void give_up(std::unique_ptr<Segment> segment) noexcept;

  const MemoryBudget budget_;
  const SegmentOptions options_;

  mutable std::mutex mutex_;
  Segments segments_;
  std::vector<Segment*> arenas_;
  std::uint32_t last_number_ = 0;
  std::uint64_t bytes_ = 0;
  std::vector<Range> quarantined_;
  std::vector<Block> parked_;

  std::mutex observer_mutex_;  // never together with mutex_
  SegmentObserver* observer_ = nullptr;
};

}  // namespace ferry::shm
