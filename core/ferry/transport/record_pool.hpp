// RecordPool: the records that a transport keeps of operations under way, used again and again, so that the steady path
// allocates nothing.
//
// Record has: index and generation (std::uint32_t, the latter from 1), which make its id(); place, Record::Place::none
// while it is free; order, of start. The id travels on the wire; as it holds a generation, a late answer never meets
// another operation. Guarded by the owner's lock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace ferry {

template <class Record>
class RecordPool {
 public:
  // place is still none.
  Record& take() {
    if (free_.empty()) {
      Record& made = records_.emplace_back();
      made.index = static_cast<std::uint32_t>(records_.size() - 1);
      free_.reserve(records_.size());
      return made;
    }
    Record& record = records_[free_.back()];
    free_.pop_back();
    return record;
  }

  // Not in a list any more.
  void release(Record& record) noexcept {
    const std::uint32_t index = record.index;
    const std::uint32_t generation = record.generation + 1;
    std::destroy_at(&record);
    std::construct_at(&record);
    record.index = index;
    record.generation = generation;
    free_.push_back(index);
  }

  // Null if the id is not of a present operation.
  Record* find(std::uint64_t id) noexcept {
    const std::size_t index = id & 0xffffffffU;
    if (index >= records_.size() || records_[index].id() != id || records_[index].place == Record::Place::none) {
      return nullptr;
    }
    return &records_[index];
  }

  // The present ones in the order of their start.
  std::vector<Record*> all() { return present<Record>(records_); }
  std::vector<const Record*> all() const { return present<const Record>(records_); }

 private:
  template <class T, class Records>
  static std::vector<T*> present(Records& records) {
    std::vector<T*> found;
    for (T& record : records) {
      if (record.place != Record::Place::none) {
        found.push_back(&record);
      }
    }
    std::sort(found.begin(), found.end(), [](const T* a, const T* b) { return a->order < b->order; });
    return found;
  }

  std::deque<Record> records_;
  std::vector<std::uint32_t> free_;
};

}  // namespace ferry
