// Board: what a process lets its peers on the host read: which of its regions live, who is admitted, what its threads
// are reading from others, whether it sleeps. One memory file for each node; peers map it for reading only.
//
// It is both sides' half of the handshake of every access (contract: Lifetime and revocation):
//   reader: writes the region's generation into its own reader word (seq_cst), then looks at the owner's board: still
//           admitted, generation still there? Only then it touches the region. At the end it clears the word.
//   owner:  takes the generation from its board (seq_cst), then waits until no peer's reader word names it.
// One of the two sees the other. A generation is never used again, so a reader that was stopped for long harms only the
// region that it names.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ferry/base/limits.hpp>
#include <ferry/base/result.hpp>
#include <ferry/memory/access.hpp>
#include <ferry/memory/region.hpp>
#include <ferry/shm/memory_file.hpp>

namespace ferry::shm {

inline constexpr std::size_t kReaders = 1024;     // threads of a process that access peers' memory
inline constexpr std::size_t kAdmissions = 4096;  // peers that are connected to a process at one time

// Where a region lies and what peers may do with it. The reference says so too; this is what counts.
class RegionEntry {
 public:
  // Owner, while generation() is 0 and no reader names the former one.
  void describe(const LocalRegion& region, SegmentPlace place) noexcept {
    size_.store(region.size, std::memory_order_relaxed);
    address_.store(place.segment != 0 ? place.offset : reinterpret_cast<std::uintptr_t>(region.base),
                   std::memory_order_relaxed);
    place_.store(pack(place.segment, region.rights, region.domain), std::memory_order_relaxed);
  }
  void publish(Generation generation) noexcept { generation_.store(generation.value(), std::memory_order_release); }
  void withdraw() noexcept { generation_.store(0, std::memory_order_seq_cst); }

  std::uint64_t generation() const noexcept { return generation_.load(std::memory_order_seq_cst); }

  // True if a reference to (segment, address, size) is one to this region and `needed` is granted. Asked after
  // generation() matched, within the reader word's protection.
  bool matches(const TransportKey& key, std::uint64_t size) const noexcept {
    return size_.load(std::memory_order_relaxed) == size && address_.load(std::memory_order_relaxed) == key.address &&
           place_.load(std::memory_order_relaxed) >> 8 == key.key;
  }
  Access rights() const noexcept {
    return static_cast<Access>(place_.load(std::memory_order_relaxed) & static_cast<std::uint64_t>(Access::all));
  }

 private:
  static std::uint64_t pack(std::uint32_t segment, Access rights, AtomicDomain domain) noexcept {
    return std::uint64_t{segment} << 8 | static_cast<std::uint64_t>(domain) << 3 | static_cast<std::uint64_t>(rights);
  }

  std::atomic<std::uint64_t> generation_{0};  // 0: no region
  std::atomic<std::uint64_t> size_{0};        // bytes
  std::atomic<std::uint64_t> address_{0};     // offset in the segment, or the owner's address
  std::atomic<std::uint64_t> place_{0};       // segment (0: other memory), domain, rights
};
static_assert(sizeof(RegionEntry) == 32 && std::atomic<std::uint64_t>::is_always_lock_free);

// The file's content. Zero bytes are a valid board of a process without regions, peers or readers.
struct BoardLayout {
  struct alignas(64) Word {
    std::atomic<std::uint64_t> value{0};
  };
  static constexpr std::uint64_t kAwake = 0;
  static constexpr std::uint64_t kSleeping = 1;

  Word state;         // kSleeping: nobody polls, ring the doorbell
  Word beat;          // counted up once a heartbeat by the polling thread
  Word readers_used;  // words of `readers` that may ever have been used
  Word regions_used;  // entries of `regions` that have pages; those behind must not be touched
  alignas(kPageBytes) std::array<Word, kReaders> readers;                            // generation being read, or 0
  alignas(kPageBytes) std::array<std::atomic<std::uint64_t>, kAdmissions> admitted;  // channel admitted there, or 0
  alignas(kPageBytes) std::array<RegionEntry, limits::kRegions> regions;             // by slot - 1
};

class OwnBoard {
 public:
  // resource_exhausted.
  static Result<OwnBoard> create();

  BoardLayout& operator*() const noexcept { return *layout_; }
  BoardLayout* operator->() const noexcept { return layout_; }
  // For peers; cannot be mapped writable.
  int descriptor() const noexcept { return file_.descriptor(); }

  // Makes the entry of a slot usable. One thread at a time. resource_exhausted.
  Result<void> reserve_entry(std::size_t index) noexcept;

 private:
  explicit OwnBoard(MemoryFile file) noexcept;

  MemoryFile file_;
  BoardLayout* layout_;
};

class PeerBoard {
 public:
  // malformed if the descriptor is no board.
  static Result<PeerBoard> map(const FileDescriptor& descriptor);

  const BoardLayout& operator*() const noexcept { return *layout_; }
  const BoardLayout* operator->() const noexcept { return layout_; }

  bool is_asleep() const noexcept {
    return layout_->state.value.load(std::memory_order_seq_cst) != BoardLayout::kAwake;
  }
  // True if a thread of that process says that it reads the region.
  bool reads(Generation generation) const noexcept;
  // Null if no region was ever in that slot.
  const RegionEntry* entry(RegionSlot slot) const noexcept {
    const std::size_t index = std::size_t{slot.value()} - 1;  // slot 0 wraps to a value out of range
    const bool known =
        index < layout_->regions.size() && index < layout_->regions_used.value.load(std::memory_order_acquire);
    return known ? &layout_->regions[index] : nullptr;
  }

 private:
  explicit PeerBoard(MemoryFile file) noexcept;

  MemoryFile file_;
  const BoardLayout* layout_;
};

}  // namespace ferry::shm
