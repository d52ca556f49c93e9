// ShmMemoryDomain: publishes this process's regions on its board, and on revocation waits until no peer reads them.
//
// Owner: the transport. Any thread. detach() needs no executor and no poll: it looks at the peers' reader words itself.
// A peer that is stopped inside a copy of segment memory cannot be silenced: the memory is quarantined until it has
// left or died. Other memory is only read by peers, who look at the generation again after their copy; so a late reader
// there harms nobody, and a detach() that has waited until its deadline succeeds. One whose deadline has passed when it
// is called only looks: `timed_out` while anybody is inside.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <ferry/base/executor.hpp>
#include <ferry/shm/board.hpp>
#include <ferry/shm/peer_process.hpp>
#include <ferry/shm/segment_allocator.hpp>
#include <ferry/transport/memory_domain.hpp>

namespace ferry::shm {

// A peer that may read this process's memory.
struct ReaderWatch {
  PeerProcess process;
  PeerBoard board;

  bool reads(Generation generation) const noexcept { return board.reads(generation) && !process.has_ended(); }
};

class ShmMemoryDomain final : public MemoryDomain {
 public:
  ShmMemoryDomain(std::shared_ptr<OwnBoard> board, std::shared_ptr<SegmentAllocator> allocator, Executor& executor);

  Result<TransportKey> attach(RegionHandle handle, const LocalRegion& region) noexcept override;
  Result<void> detach(RegionHandle handle, TimePoint deadline) noexcept override;

  // From before the peer can see the board until it cannot read any more.
  void add_reader(const std::shared_ptr<ReaderWatch>& reader);
  void remove_reader(const std::shared_ptr<ReaderWatch>& reader) noexcept;

  // True if a region in the segment grants more than reading.
  bool grants_writing(std::uint32_t segment) const noexcept;

  // Revocations that found a peer inside the memory and had to wait for it.
  std::uint64_t busy_revocations() const noexcept { return busy_revocations_.load(std::memory_order_relaxed); }

  // Releases quarantined memory whose readers have left or died. Cheap when there is none; from time to time.
  void look_at_quarantine() noexcept;

 private:
  struct Attached {
    SegmentPlace place;
    std::uint64_t size;
    bool writable;
  };
  struct Stuck {
    Generation generation;
    SegmentPlace place;
    std::uint64_t size;
  };
  using Readers = std::vector<std::shared_ptr<ReaderWatch>>;

  Readers readers() const;
  void forget(Generation generation) noexcept;
  Result<void> give_up(Generation generation, bool waits, pid_t reader) noexcept;

  const std::shared_ptr<OwnBoard> board_;
  const std::shared_ptr<SegmentAllocator> allocator_;
  Executor& executor_;

  mutable std::mutex mutex_;
  Readers readers_;
  std::map<Generation, Attached> attached_;
  std::map<std::uint32_t, std::size_t> writable_;  // regions that grant writing, by segment
  std::vector<Stuck> stuck_;
  std::atomic<std::size_t> stuck_count_{0};
  std::atomic<std::uint64_t> busy_revocations_{0};
};

}  // namespace ferry::shm
