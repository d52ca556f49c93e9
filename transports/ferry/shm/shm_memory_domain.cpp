#include <ferry/shm/shm_memory_domain.hpp>

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace ferry::shm {
namespace {

constexpr int kSpins = 2000;  // of waiting, before the thread sleeps between looks
constexpr std::chrono::microseconds kPause{50};

}  // namespace

ShmMemoryDomain::ShmMemoryDomain(std::shared_ptr<OwnBoard> board, std::shared_ptr<SegmentAllocator> allocator,
                                 Executor& executor)
    : board_(std::move(board)), allocator_(std::move(allocator)), executor_(executor) {}

Result<TransportKey> ShmMemoryDomain::attach(RegionHandle handle, const LocalRegion& region) noexcept {
  if (region.kind != MemoryKind::host) {
    return Failure(errc::unsupported, "device memory cannot be shared with processes of this host");
  }
  const std::size_t index = std::size_t{handle.slot.value()} - 1;
  if (index >= limits::kRegions) {
    return Failure(errc::invalid_argument, "the region has no slot");
  }
  const SegmentPlace place = region.place;
  const std::lock_guard lock(mutex_);
  if (auto reserved = (*board_).reserve_entry(index); !reserved) {
    return reserved.error();
  }
  RegionEntry& entry = (*board_)->regions[index];
  entry.describe(region, place);
  const bool writable = place.segment != 0 && (region.rights & (Access::write | Access::atomic)) != Access::none;
  attached_.insert_or_assign(handle.generation, Attached{place, region.size, writable});
  if (writable) {
    ++writable_[place.segment];
  }
  entry.publish(handle.generation);
  return TransportKey{TransportId::shm, place.segment,
                      place.segment != 0 ? place.offset : reinterpret_cast<std::uintptr_t>(region.base)};
}

Result<void> ShmMemoryDomain::detach(RegionHandle handle, TimePoint deadline) noexcept {
  const std::size_t index = std::size_t{handle.slot.value()} - 1;
  if (index >= limits::kRegions) {
    return {};
  }
  {
    const std::lock_guard lock(mutex_);
    if (attached_.find(handle.generation) == attached_.end()) {
      return {};
    }
    RegionEntry& entry = (*board_)->regions[index];
    if (entry.generation() == handle.generation.value()) {
      entry.withdraw();
    }
  }
  const bool waits = executor_.now() < deadline;
  bool is_busy = false;
  for (const auto& reader : readers()) {
    for (int spins = 0; reader->board.reads(handle.generation); ++spins) {
      if (!std::exchange(is_busy, true)) {
        busy_revocations_.fetch_add(1, std::memory_order_relaxed);
      }
      if (spins < kSpins) {
        continue;
      }
      if (reader->process.has_ended()) {
        break;
      }
      if (executor_.now() >= deadline) {
        return give_up(handle.generation, waits, reader->process.pid());
      }
      std::this_thread::sleep_for(kPause);
    }
  }
  forget(handle.generation);
  return {};
}

// No peer reads the region any more.
void ShmMemoryDomain::forget(Generation generation) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = attached_.find(generation);
  if (found == attached_.end()) {
    return;
  }
  const Attached gone = found->second;
  attached_.erase(found);
  if (gone.writable && --writable_[gone.place.segment] == 0) {
    writable_.erase(gone.place.segment);
  }
  if (std::erase_if(stuck_, [&](const Stuck& stuck) { return stuck.generation == generation; }) > 0) {
    stuck_count_.store(stuck_.size(), std::memory_order_relaxed);
    allocator_->release(gone.place, gone.size);
  }
}

// waits: the readers were given time until the deadline.
Result<void> ShmMemoryDomain::give_up(Generation generation, bool waits, pid_t reader) noexcept {
  std::unique_lock lock(mutex_);
  const auto found = attached_.find(generation);
  if (found == attached_.end()) {
    return {};
  }
  const Attached region = found->second;
  if (region.place.segment == 0 && !waits) {
    return Failure(errc::timed_out, fmt::format("process {} is reading the memory", reader))
        .with_effect(Effect::unknown);
  }
  if (region.place.segment == 0) {
    lock.unlock();
    forget(generation);
    return {};
  }
  const bool known =
      std::any_of(stuck_.begin(), stuck_.end(), [&](const Stuck& stuck) { return stuck.generation == generation; });
  if (!known) {
    stuck_.push_back({generation, region.place, region.size});
    stuck_count_.store(stuck_.size(), std::memory_order_relaxed);
    allocator_->quarantine(region.place, region.size);
  }
  return Failure(
             errc::timed_out,
             fmt::format("process {} is inside a copy of the memory and does not move (is it stopped?); the {} bytes "
                         "are kept out of use until it has left or ended",
                         reader, region.size))
      .with_effect(Effect::unknown);
}

void ShmMemoryDomain::look_at_quarantine() noexcept {
  if (stuck_count_.load(std::memory_order_relaxed) == 0) {
    return;
  }
  const Readers readers_now = readers();
  std::vector<Generation> left;
  {
    const std::lock_guard lock(mutex_);
    for (const Stuck& stuck : stuck_) {
      const bool read = std::any_of(readers_now.begin(), readers_now.end(),
                                    [&](const auto& reader) { return reader->reads(stuck.generation); });
      if (!read) {
        left.push_back(stuck.generation);
      }
    }
  }
  for (const Generation generation : left) {
    forget(generation);
  }
}

void ShmMemoryDomain::add_reader(const std::shared_ptr<ReaderWatch>& reader) {
  const std::lock_guard lock(mutex_);
  readers_.push_back(reader);
}

void ShmMemoryDomain::remove_reader(const std::shared_ptr<ReaderWatch>& reader) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase(readers_, reader);
}

ShmMemoryDomain::Readers ShmMemoryDomain::readers() const {
  const std::lock_guard lock(mutex_);
  return readers_;
}

bool ShmMemoryDomain::grants_writing(std::uint32_t segment) const noexcept {
  const std::lock_guard lock(mutex_);
  return writable_.find(segment) != writable_.end();
}

}  // namespace ferry::shm
