// SegmentMap: a peer's segments that are mapped into this process.
//
// find() is the inner loop: no lock; inside a Reading, which keeps what it returns mapped. Changes come from the
// polling thread: each publishes a new table, and the old one and what it alone mapped are retired until no access is
// inside.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include <ferry/base/result.hpp>
#include <ferry/shm/file_descriptor.hpp>
#include <ferry/shm/memory_file.hpp>

namespace ferry::shm {

struct ShmNode;

class SegmentMap {
 public:
  explicit SegmentMap(ShmNode& node) noexcept : node_(node) {}
  ~SegmentMap();

  struct Mapping {
    std::byte* base = nullptr;
    std::uint64_t size = 0;
  };
  // base is null if the segment is not mapped for that use.
  Mapping find(std::uint32_t segment, bool writable) const noexcept {
    const Table* table = table_.load(std::memory_order_acquire);
    for (std::size_t at = segment;; ++at) {
      const Slot& slot = table->slots[at & table->mask];
      if (slot.segment == segment) {
        return {writable ? slot.writable : slot.readable, slot.size};
      }
      if (slot.segment == 0) {
        return {};
      }
    }
  }

  // malformed, resource_exhausted.
  Result<void> map(std::uint32_t segment, bool writable, const FileDescriptor& descriptor, std::uint64_t size);
  void unmap(std::uint32_t segment) noexcept;
  std::size_t size() const noexcept { return mapped_.size(); }

 private:
  struct Mapped {
    std::uint32_t segment = 0;
    std::uint64_t size = 0;
    MemoryFile readable;
    MemoryFile writable;
  };
  struct Slot {
    std::uint32_t segment = 0;  // 0: empty
    std::byte* readable = nullptr;
    std::byte* writable = nullptr;
    std::uint64_t size = 0;
  };
  struct Table {
    explicit Table(std::size_t capacity) : slots(capacity), mask(capacity - 1) {}
    std::vector<Slot> slots;
    std::size_t mask;
  };

  void publish();

  ShmNode& node_;
  std::vector<std::unique_ptr<Mapped>> mapped_;
  std::shared_ptr<const Table> owner_ = std::make_shared<const Table>(8);
  std::atomic<const Table*> table_{owner_.get()};
};

}  // namespace ferry::shm
