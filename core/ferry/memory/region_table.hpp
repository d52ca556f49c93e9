// RegionTable: the owner's registered regions. Says for each access whether it may happen, and makes revocation wait
// for those that are happening.
//
// Owner: the Node. Any thread may call anything. pin() is wait-free; a Pin is held for the copy of one piece (at most
// limits::kPieceBytes), never across a wait. revoke() returns when no pin is left and none can be taken.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <ferry/base/limits.hpp>
#include <ferry/base/result.hpp>
#include <ferry/memory/region.hpp>

namespace ferry {

struct RegionHandle {
  RegionSlot slot{};
  Generation generation{};
};

// Takes the tags of `write_from … {.notify = tag}` for one region.
class NotificationSink {
 public:
  // The bytes before the tag are visible. False: no room; the transport fails the operation with `overloaded`.
  // Any thread; must not block nor run user code.
  virtual bool on_notify(std::uint64_t tag) noexcept = 0;
  // Somebody waits for the next tag.
  virtual bool is_awaited() noexcept { return false; }

 protected:
  ~NotificationSink() = default;
};

class RegionTable {
  struct Entry {
    static constexpr std::uint32_t kDead = 0x80000000U;
    std::atomic<std::uint32_t> pins{kDead};  // readers, and kDead while no region is registered
    std::atomic<std::uint64_t> generation{0};
    LocalRegion region{};  // written only while dead and unpinned
    std::atomic<NotificationSink*> notifications{nullptr};

    // Asked before pinning, so that those who hammer on a stale reference do not hold up revoke().
    bool is_dead() const noexcept { return (pins.load(std::memory_order_relaxed) & kDead) != 0; }
  };

 public:
  // first_generation: where counting starts; random per incarnation, so that a forged or stale reference misses.
  explicit RegionTable(std::uint64_t first_generation);
  ~RegionTable();
  RegionTable(const RegionTable&) = delete;
  RegionTable& operator=(const RegionTable&) = delete;

  // resource_exhausted when limits::kRegions are registered.
  Result<RegionHandle> insert(const LocalRegion& region);

  // Permission to touch one piece of a region, as long as it lives.
  class Pin {
   public:
    Pin(Pin&& other) noexcept : pins_(std::exchange(other.pins_, nullptr)), address_(other.address_) {}
    Pin& operator=(Pin&&) = delete;
    ~Pin() {
      if (pins_ != nullptr) {
        release();
      }
    }
    std::byte* address() const noexcept { return address_; }  // of the piece's first byte
    // False only for what try_pin() could not pin.
    explicit operator bool() const noexcept { return pins_ != nullptr; }

   private:
    friend class RegionTable;
    Pin() noexcept = default;
    Pin(std::atomic<std::uint32_t>& pins, std::byte* address) noexcept : pins_(&pins), address_(address) {}
    void release() noexcept {
      if (pins_->fetch_sub(1, std::memory_order_release) == (Entry::kDead | 1U)) [[unlikely]] {
        pins_->notify_all();
      }
    }

    std::atomic<std::uint32_t>* pins_ = nullptr;
    std::byte* address_ = nullptr;
  };

  // Checks generation, rights and range, in this order: revoked, access_denied, invalid_range.
  Result<Pin> pin(RegionHandle region, Access needed, std::uint64_t offset, std::uint64_t length) noexcept;

  // The same without a reason: an empty Pin where pin() would fail.
  Pin try_pin(RegionHandle region, Access needed, std::uint64_t offset, std::uint64_t length) noexcept {
    Entry* slot = entry(region.slot);
    if (slot == nullptr || slot->is_dead()) [[unlikely]] {
      return Pin();
    }
    const std::uint32_t before = slot->pins.fetch_add(1, std::memory_order_acquire);
    Pin pin(slot->pins, nullptr);
    if ((before & Entry::kDead) != 0 || slot->generation.load(std::memory_order_acquire) != region.generation.value() ||
        !permits(slot->region.rights, needed) || offset > slot->region.size || length > slot->region.size - offset)
        [[unlikely]] {
      return Pin();
    }
    pin.address_ = slot->region.base + offset;
    return pin;
  }

  // A copy of what was registered; revoked if it no longer is.
  Result<LocalRegion> find(RegionHandle region) const;

  // Where the region's notifications go; null for nowhere. Does nothing if the region was revoked.
  void set_notifications(RegionHandle region, NotificationSink* sink) noexcept;
  // Gives a tag to the region's sink. unsupported without one, overloaded when it is full, revoked.
  Result<void> notify(RegionHandle region, std::uint64_t tag) noexcept;

  // Sizes of the regions whose next notification somebody waits for, by slot. Only while nothing else uses the table.
  std::vector<std::uint64_t> awaited() const;

  // Makes every later pin() fail; returns once no pin is left. False if the region was revoked already.
  // The slot stays taken until release(), so that transports can silence their own access in between.
  bool revoke(RegionHandle region) noexcept;

  // Gives the slot of a revoked region free for another registration. Does nothing if it was released already.
  void release(RegionHandle region) noexcept;

  // Slots in use, revoked but unreleased ones included.
  std::size_t size() const noexcept;

 private:
  static constexpr std::size_t kBlock = 1024;
  using Block = std::array<Entry, kBlock>;

  Entry* entry(RegionSlot slot) const noexcept {
    const std::size_t index = std::size_t{slot.value()} - 1;  // slot 0 wraps to a value out of range
    if (index >= limits::kRegions) {
      return nullptr;
    }
    Block* block = blocks_[index / kBlock].load(std::memory_order_acquire);
    return block == nullptr ? nullptr : &(*block)[index % kBlock];
  }

  mutable std::mutex mutex_;  // insert, release
  std::array<std::atomic<Block*>, limits::kRegions / kBlock> blocks_{};
  std::vector<std::uint32_t> free_;
  std::uint32_t used_ = 0;  // slots ever handed out
  std::uint64_t next_generation_;
};

}  // namespace ferry
