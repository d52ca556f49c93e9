#include <ferry/wire/sorted_entries.hpp>

#include <algorithm>

namespace ferry::wire {

void SortedEntries::move_to(Encoder& out) {
  struct Range {
    ByteView key;
    ByteView whole;
  };
  const ByteView all(bytes_.data(), bytes_.size());
  std::vector<Range> ranges;
  ranges.reserve(entries_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const auto [begin, key_end] = entries_[i];
    const std::size_t end = i + 1 < entries_.size() ? entries_[i + 1].begin : all.size();
    ranges.push_back({all.subspan(begin, key_end - begin), all.subspan(begin, end - begin)});
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& left, const Range& right) {
    return std::lexicographical_compare(left.key.begin(), left.key.end(), right.key.begin(), right.key.end());
  });
  for (const Range& range : ranges) {
    out.encoded(range.whole);
  }
}

}  // namespace ferry::wire
