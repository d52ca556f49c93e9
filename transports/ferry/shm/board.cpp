#include <ferry/shm/board.hpp>

#include <algorithm>

namespace ferry::shm {
namespace {

constexpr std::uint64_t kBoardBytes = sizeof(BoardLayout);
constexpr std::size_t kEntriesAtOnce = 2048;  // 64 KiB
static_assert(kBoardBytes % kPageBytes == 0 && limits::kRegions % kEntriesAtOnce == 0);

}  // namespace

OwnBoard::OwnBoard(MemoryFile file) noexcept
    : file_(std::move(file)), layout_(reinterpret_cast<BoardLayout*>(file_.data())) {}

Result<OwnBoard> OwnBoard::create() {
  auto file = MemoryFile::create("ferry-board", kBoardBytes, MemoryFile::Peers::read);
  if (!file) {
    return file.error();
  }
  if (auto reserved = file->reserve(0, offsetof(BoardLayout, regions)); !reserved) {
    return reserved.error();
  }
  return OwnBoard(std::move(*file));
}

Result<void> OwnBoard::reserve_entry(std::size_t index) noexcept {
  const std::size_t used = layout_->regions_used.value.load(std::memory_order_relaxed);
  if (index < used) {
    return {};
  }
  const std::size_t wanted = std::min((index / kEntriesAtOnce + 1) * kEntriesAtOnce, layout_->regions.size());
  const std::uint64_t offset = offsetof(BoardLayout, regions) + used * sizeof(RegionEntry);
  if (auto reserved = file_.reserve(offset, (wanted - used) * sizeof(RegionEntry)); !reserved) {
    return reserved;
  }
  layout_->regions_used.value.store(wanted, std::memory_order_release);
  return {};
}

PeerBoard::PeerBoard(MemoryFile file) noexcept
    : file_(std::move(file)), layout_(reinterpret_cast<const BoardLayout*>(file_.data())) {}

Result<PeerBoard> PeerBoard::map(const FileDescriptor& descriptor) {
  auto file = MemoryFile::map(descriptor, kBoardBytes, false, "its board");
  if (!file) {
    return file.error();
  }
  return PeerBoard(std::move(*file));
}

bool PeerBoard::reads(Generation generation) const noexcept {
  const std::size_t used =
      std::min<std::uint64_t>(layout_->readers_used.value.load(std::memory_order_seq_cst), kReaders);
  return std::any_of(layout_->readers.begin(), layout_->readers.begin() + used, [&](const BoardLayout::Word& word) {
    return word.value.load(std::memory_order_seq_cst) == generation.value();
  });
}

}  // namespace ferry::shm
