#include <ferry/shm/segment_map.hpp>

#include <algorithm>
#include <bit>

#include <ferry/shm/shm_node.hpp>

namespace ferry::shm {

SegmentMap::~SegmentMap() = default;

Result<void> SegmentMap::map(std::uint32_t segment, bool writable, const FileDescriptor& descriptor,
                             std::uint64_t size) {
  auto file = MemoryFile::map(descriptor, round_up_to_pages(size), writable, "a segment");
  if (!file) {
    return file.error();
  }
  auto at = std::find_if(mapped_.begin(), mapped_.end(), [&](const auto& known) { return known->segment == segment; });
  if (at == mapped_.end()) {
    mapped_.push_back(std::make_unique<Mapped>());
    at = std::prev(mapped_.end());
    (*at)->segment = segment;
    (*at)->size = size;
  }
  MemoryFile& place = writable ? (*at)->writable : (*at)->readable;
  if (place || size != (*at)->size) {
    return Failure(errc::malformed, "the owner passed a segment twice, or with another size");
  }
  place = std::move(*file);
  ShmNode::count(node_.counters.mapped_segments);
  publish();
  return {};
}

void SegmentMap::unmap(std::uint32_t segment) noexcept {
  const auto at =
      std::find_if(mapped_.begin(), mapped_.end(), [&](const auto& known) { return known->segment == segment; });
  if (at == mapped_.end()) {
    return;
  }
  std::shared_ptr<const Mapped> gone = std::move(*at);
  mapped_.erase(at);
  publish();
  node_.poller->retire(node_.readers.grace(), std::move(gone));
}

void SegmentMap::publish() {
  auto table = std::make_shared<Table>(std::bit_ceil(std::max<std::size_t>(8, mapped_.size() * 2)));
  for (const auto& known : mapped_) {
    std::size_t at = known->segment & table->mask;
    while (table->slots[at].segment != 0) {
      at = (at + 1) & table->mask;
    }
    table->slots[at] = {known->segment, known->readable.data(), known->writable.data(), known->size};
  }
  std::shared_ptr<const Table> old = std::exchange(owner_, std::move(table));
  table_.store(owner_.get(), std::memory_order_seq_cst);
  node_.poller->retire(node_.readers.grace(), std::move(old));
}

}  // namespace ferry::shm
