#include <ferry/memory/region_table.hpp>

#include <fmt/format.h>

#include <ferry/base/check.hpp>

namespace ferry {
namespace {

Failure gone() {
  return Failure(errc::revoked, "the owner revoked or released this memory; ask it for a new reference");
}

}  // namespace

RegionTable::RegionTable(std::uint64_t first_generation) : next_generation_(first_generation | 1U) {}

RegionTable::~RegionTable() {
  for (auto& block : blocks_) {
    delete block.load(std::memory_order_relaxed);
  }
}

Result<RegionHandle> RegionTable::insert(const LocalRegion& region) {
  const std::lock_guard lock(mutex_);
  std::uint32_t index = 0;
  if (!free_.empty()) {
    index = free_.back();
    free_.pop_back();
  } else if (used_ < limits::kRegions) {
    index = used_++;
    if (index % kBlock == 0) {
      free_.reserve(index + kBlock);  // release() must not fail
      blocks_[index / kBlock].store(new Block, std::memory_order_release);
    }
  } else {
    return Failure(errc::resource_exhausted,
                   fmt::format("all {} regions of this process are registered; release buffers, or register larger "
                               "ones and pass subranges",
                               limits::kRegions));
  }
  const RegionHandle handle{RegionSlot(index + 1), Generation(next_generation_++)};
  Entry& slot = *entry(handle.slot);
  slot.region = region;
  slot.notifications.store(nullptr, std::memory_order_relaxed);
  slot.generation.store(handle.generation.value(), std::memory_order_release);
  slot.pins.fetch_and(~Entry::kDead, std::memory_order_release);
  return handle;
}

Result<RegionTable::Pin> RegionTable::pin(RegionHandle region, Access needed, std::uint64_t offset,
                                          std::uint64_t length) noexcept {
  Entry* slot = entry(region.slot);
  if (slot == nullptr || slot->is_dead()) {
    return gone();
  }
  const std::uint32_t before = slot->pins.fetch_add(1, std::memory_order_acquire);
  Pin pin(slot->pins, nullptr);
  if ((before & Entry::kDead) != 0 || slot->generation.load(std::memory_order_acquire) != region.generation.value()) {
    return gone();
  }
  const LocalRegion& known = slot->region;
  if (!permits(known.rights, needed)) {
    return Failure(errc::access_denied, fmt::format("the region permits {}, the operation needs {}",
                                                    to_string(known.rights), to_string(needed)));
  }
  if (offset > known.size || length > known.size - offset) {
    return Failure(errc::invalid_range, "the range does not lie inside the region")
        .with_range(offset, length, known.size);
  }
  pin.address_ = known.base + offset;
  return pin;
}

Result<LocalRegion> RegionTable::find(RegionHandle region) const {
  Entry* slot = entry(region.slot);
  if (slot == nullptr || slot->is_dead()) {
    return gone();
  }
  const std::uint32_t before = slot->pins.fetch_add(1, std::memory_order_acquire);
  const Pin pin(slot->pins, nullptr);
  if ((before & Entry::kDead) != 0 || slot->generation.load(std::memory_order_acquire) != region.generation.value()) {
    return gone();
  }
  return slot->region;
}

void RegionTable::set_notifications(RegionHandle region, NotificationSink* sink) noexcept {
  if (const Pin pinned = try_pin(region, Access::none, 0, 0)) {
    entry(region.slot)->notifications.store(sink, std::memory_order_release);
  }
}

Result<void> RegionTable::notify(RegionHandle region, std::uint64_t tag) noexcept {
  const auto pinned = pin(region, Access::write, 0, 0);
  if (!pinned) {
    return pinned.error();
  }
  NotificationSink* sink = entry(region.slot)->notifications.load(std::memory_order_acquire);
  if (sink == nullptr) {
    return Failure(errc::unsupported,
                   "the owner takes no notifications for this buffer; it must register it with "
                   "RegisterOptions::notifications, or call notifications() first")
        .with_effect(Effect::unknown);
  }
  if (!sink->on_notify(tag)) {
    return Failure(errc::overloaded,
                   fmt::format("the owner has {} notifications of this buffer it has not taken; the bytes were written",
                               limits::kNotifications))
        .with_effect(Effect::unknown);
  }
  return {};
}

std::vector<std::uint64_t> RegionTable::awaited() const {
  std::vector<std::uint64_t> sizes;
  for (std::uint32_t slot = 1; slot <= used_; ++slot) {
    const Entry& one = *entry(RegionSlot(slot));
    NotificationSink* const sink = one.notifications.load(std::memory_order_acquire);
    if (sink != nullptr && !one.is_dead() && sink->is_awaited()) {
      sizes.push_back(one.region.size);
    }
  }
  return sizes;
}

bool RegionTable::revoke(RegionHandle region) noexcept {
  Entry* slot = entry(region.slot);
  {
    // The lock keeps the slot from being given to another region between the check and the mark.
    const std::lock_guard lock(mutex_);
    if (slot == nullptr || slot->generation.load(std::memory_order_relaxed) != region.generation.value() ||
        (slot->pins.fetch_or(Entry::kDead, std::memory_order_acq_rel) & Entry::kDead) != 0) {
      return false;
    }
  }
  for (std::uint32_t now = slot->pins.load(std::memory_order_acquire); now != Entry::kDead;
       now = slot->pins.load(std::memory_order_acquire)) {
    slot->pins.wait(now, std::memory_order_acquire);
  }
  return true;
}

void RegionTable::release(RegionHandle region) noexcept {
  Entry* slot = entry(region.slot);
  const std::lock_guard lock(mutex_);
  if (slot == nullptr || slot->generation.load(std::memory_order_relaxed) != region.generation.value()) {
    return;
  }
  FERRY_CHECK(slot->is_dead());
  slot->generation.store(0, std::memory_order_release);
  free_.push_back(region.slot.value() - 1);
}

std::size_t RegionTable::size() const noexcept {
  const std::lock_guard lock(mutex_);
  return used_ - free_.size();
}

}  // namespace ferry
