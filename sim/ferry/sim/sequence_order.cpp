#include <ferry/sim/sequence_order.hpp>

#include <algorithm>
#include <vector>

#include <ferry/sim/flight.hpp>

namespace ferry::sim {

SequenceOrder::Entry SequenceOrder::enter(Flight& member) {
  Line& line = lines_[member.sequence().id];
  ++line.members;
  if (line.failed) {
    return Entry::skipped;
  }
  line.waiting.push_back(&member);
  return line.waiting.size() == 1 ? Entry::runs : Entry::waits;
}

void SequenceOrder::executed(Flight& member, bool failed) {
  const auto found = lines_.find(member.sequence().id);
  if (found == lines_.end()) {
    return;
  }
  Line& line = found->second;
  const auto place = std::find(line.waiting.begin(), line.waiting.end(), &member);
  if (place == line.waiting.end()) {
    return;
  }
  if (!failed) {
    const bool was_first = place == line.waiting.begin();
    line.waiting.erase(place);
    if (was_first && !line.waiting.empty()) {
      line.waiting.front()->open_gate();
    }
    return;
  }
  line.failed = true;
  const std::vector<Flight*> behind(place + 1, line.waiting.end());
  line.waiting.erase(place, line.waiting.end());
  for (Flight* later : behind) {
    later->skip();
  }
}

void SequenceOrder::leave(std::uint64_t sequence) noexcept {
  const auto found = lines_.find(sequence);
  if (found != lines_.end() && --found->second.members == 0) {
    lines_.erase(found);
  }
}

}  // namespace ferry::sim
