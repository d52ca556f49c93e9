#include <ferry/tcp/sequence_gate.hpp>

#include <algorithm>

#include <ferry/base/check.hpp>

namespace ferry::tcp {

SequenceGate::Entry* SequenceGate::find(std::uint64_t id) noexcept {
  const auto found = std::find_if(entries_.rbegin(), entries_.rend(), [id](const Entry& e) { return e.id == id; });
  return found == entries_.rend() ? nullptr : &*found;
}

bool SequenceGate::has_failed(std::uint64_t id) const noexcept {
  const auto entry = std::find_if(entries_.begin(), entries_.end(), [id](const Entry& e) { return e.id == id; });
  return (entry != entries_.end() && entry->failed) ||
         (next_failed_ > 0 && std::find(failed_.begin(), failed_.end(), id) != failed_.end());
}

Pending::Place SequenceGate::place_of(Entry& entry, bool is_bulk) noexcept {
  if (entry.gated > 0 || entry.bulk > 0 || (is_bulk && entry.waiting > 0)) {
    ++entry.gated;
    return Pending::Place::gated;
  }
  ++(is_bulk ? entry.bulk : entry.waiting);
  return is_bulk ? Pending::Place::bulk : Pending::Place::waiting;
}

Pending::Place SequenceGate::enter(std::uint64_t id, bool is_bulk) {
  Entry* entry = find(id);
  if (entry == nullptr) {
    entry = &entries_.emplace_back();
    entry->id = id;
  }
  ++entry->members;
  return place_of(*entry, is_bulk);
}

Pending::Place SequenceGate::enter_again(std::uint64_t id, bool is_bulk) noexcept {
  return place_of(*find(id), is_bulk);
}

bool SequenceGate::leave(std::uint64_t id, Pending::Place place) noexcept {
  Entry* entry = find(id);
  FERRY_CHECK(entry != nullptr);
  std::uint32_t& count = place == Pending::Place::bulk      ? entry->bulk
                         : place == Pending::Place::waiting ? entry->waiting
                                                            : entry->gated;
  --count;
  return count == 0 && entry->gated > 0;
}

void SequenceGate::open_gates() noexcept {
  for (Entry& entry : entries_) {
    entry.gated = 0;
  }
}

void SequenceGate::fail(std::uint64_t id) noexcept {
  if (Entry* entry = find(id)) {
    entry->failed = true;
  }
}

void SequenceGate::remember(std::uint64_t id) noexcept {
  failed_[next_failed_++ % failed_.size()] = id;
}

bool SequenceGate::ended(std::uint64_t id) noexcept {
  Entry* entry = find(id);
  FERRY_CHECK(entry != nullptr && entry->members > 0);
  if (--entry->members > 0) {
    return false;
  }
  const bool failed = entry->failed;
  *entry = entries_.back();
  entries_.pop_back();
  if (failed) {
    remember(id);
  }
  return failed;
}

void SequenceGate::fail_all() noexcept {
  for (Entry& entry : entries_) {
    entry.failed = true;
  }
}

}  // namespace ferry::tcp
