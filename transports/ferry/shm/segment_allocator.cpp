#include <ferry/shm/segment_allocator.hpp>

#include <fcntl.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <new>

#include <fmt/format.h>

#include <ferry/base/check.hpp>
#include <ferry/base/limits.hpp>
#include <ferry/shm/os_failure.hpp>

namespace ferry::shm {
namespace {

constexpr std::uint64_t kReserveStep = std::uint64_t{64} << 20;

bool is_small(std::size_t bytes, std::size_t alignment) noexcept {
  return bytes <= BlockArena::kLargestBlock && alignment <= BlockArena::kLargestAlignment;
}

bool overlap(std::uint64_t a, std::uint64_t a_size, std::uint64_t b, std::uint64_t b_size) noexcept {
  return a < b + b_size && b < a + a_size;
}

}  // namespace

SegmentAllocator::SegmentAllocator(MemoryBudget budget, const SegmentOptions& options)
    : budget_(std::move(budget)), options_(options) {}

SegmentAllocator::~SegmentAllocator() = default;

Result<SharedBlock> SegmentAllocator::allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (!std::has_single_bit(alignment) || alignment > (std::size_t{1} << 30)) {
    return Failure(errc::invalid_argument, fmt::format("an alignment is a power of two up to 2^30, not {}", alignment));
  }
  if (bytes > limits::kMaxLength / 2) {
    return Failure(errc::resource_exhausted, fmt::format("{} bytes are more than any machine has", bytes));
  }
  bytes = std::max<std::size_t>(bytes, 1);
  return is_small(bytes, alignment) ? allocate_small(bytes, alignment) : allocate_large(bytes, alignment);
}

Result<SharedBlock> SegmentAllocator::allocate_small(std::size_t bytes, std::size_t alignment) {
  std::unique_lock lock(mutex_);
  if (auto block = allocate_from_arenas(bytes, alignment)) {
    return *block;
  }
  const std::uint64_t arena_bytes = next_arena_bytes();
  lock.unlock();
  auto segment = make_segment(arena_bytes, kPageBytes);
  if (!segment && arena_bytes > options_.first_arena) {
    segment = make_segment(options_.first_arena, kPageBytes);  // memory is scarce: no more than what is needed
  }
  if (!segment) {
    return segment.error();
  }
  lock.lock();
  Segment& added = **segment;
  added.arena.emplace(added.file.size());
  arenas_.push_back(&added);
  segments_.emplace(reinterpret_cast<std::uintptr_t>(added.file.data()), std::move(*segment));
  bytes_ += added.file.size();
  auto block = allocate_from_arenas(bytes, alignment);
  FERRY_CHECK(block.has_value());
  return *block;
}

Result<SharedBlock> SegmentAllocator::allocate_large(std::size_t bytes, std::size_t alignment) {
  auto segment = make_segment(round_up_to_pages(bytes), alignment);
  if (!segment) {
    return segment.error();
  }
  const std::lock_guard lock(mutex_);
  Segment& added = **segment;
  segments_.emplace(reinterpret_cast<std::uintptr_t>(added.file.data()), std::move(*segment));
  bytes_ += added.file.size();
  return SharedBlock{added.file.data(), {added.number, 0}};
}

std::optional<SharedBlock> SegmentAllocator::allocate_from_arenas(std::size_t bytes, std::size_t alignment) {
  for (auto at = arenas_.rbegin(); at != arenas_.rend(); ++at) {  // the largest first
    if (const auto offset = (*at)->arena->allocate(bytes, alignment)) {
      return SharedBlock{(*at)->file.data() + *offset, {(*at)->number, *offset}};
    }
  }
  return std::nullopt;
}

std::uint64_t SegmentAllocator::next_arena_bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const Segment* arena : arenas_) {
    sum += arena->file.size();
  }
  return std::clamp(sum, options_.first_arena, options_.largest_arena);
}

Result<std::unique_ptr<SegmentAllocator::Segment>> SegmentAllocator::make_segment(std::uint64_t bytes,
                                                                                  std::size_t alignment) {
  if (options_.reserve) {
    if (auto room = budget_.check(bytes); !room) {
      return room.error();
    }
  }
  auto file = MemoryFile::create("ferry-segment", bytes, MemoryFile::Peers::write, alignment);
  if (!file) {
    return file.error();
  }
  for (std::uint64_t done = 0; options_.reserve && done < bytes;) {
    const std::uint64_t step = std::min(bytes - done, kReserveStep);
    if (done > 0) {
      if (auto room = budget_.check(bytes - done); !room) {
        return room.error();
      }
    }
    if (auto reserved = file->reserve(done, step); !reserved) {
      return reserved.error();
    }
    done += step;
  }
  auto segment = std::make_unique<Segment>();
  segment->file = std::move(*file);
  const std::lock_guard lock(mutex_);
  segment->number = ++last_number_;
  return segment;
}

const SegmentAllocator::Segment* SegmentAllocator::segment_at(const std::byte* memory) const noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  auto at = segments_.upper_bound(address);
  if (at == segments_.begin()) {
    return nullptr;
  }
  --at;
  return address - at->first < at->second->file.size() ? at->second.get() : nullptr;
}

SegmentPlace SegmentAllocator::place_of(const std::byte* memory, std::uint64_t size) const noexcept {
  const std::lock_guard lock(mutex_);
  const Segment* segment = segment_at(memory);
  if (segment == nullptr) {
    return {};
  }
  const auto offset = static_cast<std::uint64_t>(memory - segment->file.data());
  return size <= segment->file.size() - offset ? SegmentPlace{segment->number, offset} : SegmentPlace{};
}

void SegmentAllocator::deallocate(std::byte* memory, std::size_t bytes, std::size_t alignment) noexcept {
  const Block block{memory, std::max<std::size_t>(bytes, 1), alignment};
  std::unique_lock lock(mutex_);
  if (is_quarantined(block)) {
    parked_.push_back(block);
    return;
  }
  auto emptied = take_back(block);
  lock.unlock();
  give_up(std::move(emptied));
}

// The segment, if the block was the last in it and it is not worth keeping.
std::unique_ptr<SegmentAllocator::Segment> SegmentAllocator::take_back(const Block& block) {
  const auto address = reinterpret_cast<std::uintptr_t>(block.memory);
  auto at = segments_.upper_bound(address);
  FERRY_CHECK(at != segments_.begin());
  --at;
  Segment& segment = *at->second;
  FERRY_CHECK(address - at->first < segment.file.size() &&
              segment.arena.has_value() == is_small(block.bytes, block.alignment));
  if (segment.arena) {
    segment.arena->deallocate(address - at->first, block.bytes, block.alignment);
    const bool is_spare = std::any_of(arenas_.begin(), arenas_.end(),
                                      [&](const Segment* other) { return other != &segment && other->arena->empty(); });
    if (!segment.arena->empty() || !is_spare) {
      return nullptr;  // one empty arena is kept for the next allocation
    }
    std::erase(arenas_, &segment);
  }
  std::unique_ptr<Segment> taken = std::move(at->second);
  segments_.erase(at);
  bytes_ -= taken->file.size();
  return taken;
}

void SegmentAllocator::give_up(std::unique_ptr<Segment> segment) noexcept {
  if (segment == nullptr) {
    return;
  }
  segment->file.drop_pages();
  const std::lock_guard lock(observer_mutex_);
  if (observer_ != nullptr) {
    observer_->on_segment_gone(segment->number);
  }
}

void SegmentAllocator::set_observer(SegmentObserver* observer) noexcept {
  const std::lock_guard lock(observer_mutex_);
  observer_ = observer;
}

Result<SegmentAllocator::Opened> SegmentAllocator::open(std::uint32_t segment, bool writable) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(segments_.begin(), segments_.end(),
                                  [&](const auto& entry) { return entry.second->number == segment; });
  if (found == segments_.end()) {
    return Failure(errc::revoked, fmt::format("shared segment {} is no longer there", segment));
  }
  const MemoryFile& file = found->second->file;
  if (!writable) {
    auto descriptor = file.open_read_only();
    if (!descriptor) {
      return descriptor.error();
    }
    return Opened{std::move(*descriptor), file.size()};
  }
  FileDescriptor descriptor(::fcntl(file.descriptor(), F_DUPFD_CLOEXEC, 0));
  if (!descriptor) {
    return os_failure(errno, "duplicating the descriptor of a shared segment", errc::resource_exhausted);
  }
  return Opened{std::move(descriptor), file.size()};
}

void SegmentAllocator::quarantine(SegmentPlace place, std::uint64_t size) {
  const std::lock_guard lock(mutex_);
  quarantined_.push_back({place, size});
}

void SegmentAllocator::release(SegmentPlace place, std::uint64_t size) noexcept {
  std::vector<std::unique_ptr<Segment>> emptied;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(quarantined_.begin(), quarantined_.end(), [&](const Range& range) {
      return range.place.segment == place.segment && range.place.offset == place.offset && range.size == size;
    });
    if (found == quarantined_.end()) {
      return;
    }
    quarantined_.erase(found);
    const auto freed =
        std::partition(parked_.begin(), parked_.end(), [&](const Block& b) { return is_quarantined(b); });
    for (auto block = freed; block != parked_.end(); ++block) {
      emptied.push_back(take_back(*block));
    }
    parked_.erase(freed, parked_.end());
  }
  for (auto& segment : emptied) {
    give_up(std::move(segment));
  }
}

bool SegmentAllocator::is_quarantined(const Block& block) const noexcept {
  if (quarantined_.empty()) {
    return false;
  }
  const Segment* segment = segment_at(block.memory);
  FERRY_CHECK(segment != nullptr);
  const auto offset = static_cast<std::uint64_t>(block.memory - segment->file.data());
  return std::any_of(quarantined_.begin(), quarantined_.end(), [&](const Range& range) {
    return range.place.segment == segment->number && overlap(range.place.offset, range.size, offset, block.bytes);
  });
}

SegmentAllocator::Usage SegmentAllocator::usage() const {
  const std::lock_guard lock(mutex_);
  return {segments_.size(), bytes_, quarantined_.size(), parked_.size()};
}

}  // namespace ferry::shm
