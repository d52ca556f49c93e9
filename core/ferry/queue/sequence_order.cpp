#include <ferry/queue/sequence_order.hpp>

#include <algorithm>

#include <ferry/base/check.hpp>

namespace ferry::queue {

const SequenceOrder::Entry* SequenceOrder::find(std::uint64_t id) const noexcept {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [id](const Entry& entry) { return entry.id == id; });
  return found == entries_.end() ? nullptr : &*found;
}

SequenceOrder::Entry* SequenceOrder::find(std::uint64_t id) noexcept {
  return const_cast<Entry*>(std::as_const(*this).find(id));
}

bool SequenceOrder::has_failed(std::uint64_t id) const noexcept {
  const Entry* entry = find(id);
  return (entry != nullptr && entry->failed) || std::find(failed_.begin(), failed_.end(), id) != failed_.end();
}

std::uint8_t SequenceOrder::enter(std::uint64_t id, std::uint8_t first) {
  Entry* entry = find(id);
  if (entry == nullptr) {
    entry = &entries_.emplace_back();
    entry->id = id;
    entry->lane = first;
  }
  ++entry->members;
  return entry->lane;
}

bool SequenceOrder::may_post(std::uint64_t id, Kind kind, OrderClass order) const noexcept {
  const Entry* entry = find(id);
  FERRY_CHECK(entry != nullptr);
  switch (entry->phase) {
    case Phase::idle:
    case Phase::gets:
      return true;
    case Phase::puts:  // puts to different bytes have no order but on a strict device
      return kind == Kind::command || order == OrderClass::strict;
    case Phase::commands:  // later hardware requests are not behind what the owner's CPU has yet to execute
      return kind == Kind::command;
  }
  return false;
}

bool SequenceOrder::is_fenced(std::uint64_t id, std::uint32_t own) const noexcept {
  return find(id)->gets > own;
}

void SequenceOrder::posted(std::uint64_t id, Kind kind, bool counted) noexcept {
  Entry& entry = *find(id);
  entry.posted += counted ? 0 : 1;
  switch (kind) {
    case Kind::get:
      ++entry.gets;
      entry.phase = std::max(entry.phase, Phase::gets);
      break;
    case Kind::put:
      entry.phase = Phase::puts;
      break;
    case Kind::command:
      entry.phase = Phase::commands;
      break;
  }
}

void SequenceOrder::get_ended(std::uint64_t id) noexcept {
  if (Entry* entry = find(id)) {
    --entry->gets;
  }
}

void SequenceOrder::fail(std::uint64_t id, std::uint64_t member) noexcept {
  if (Entry* entry = find(id)) {
    entry->failed_at = entry->failed ? std::min(entry->failed_at, member) : member;
    entry->failed = true;
  }
}

bool SequenceOrder::has_failed_before(std::uint64_t id, std::uint64_t member) const noexcept {
  const Entry* entry = find(id);
  return entry != nullptr && entry->failed && entry->failed_at < member;
}

bool SequenceOrder::ended(std::uint64_t id, bool counted) noexcept {
  Entry& entry = *find(id);
  if (counted && --entry.posted == 0) {
    entry.phase = Phase::idle;
  }
  if (--entry.members > 0) {
    return false;
  }
  const bool failed = entry.failed;
  entry = entries_.back();
  entries_.pop_back();
  if (failed) {
    failed_[next_failed_++ % failed_.size()] = id;
  }
  return failed;
}

}  // namespace ferry::queue
