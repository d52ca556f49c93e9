// Pool: things with a buffer that are used again and again, so that the steady path allocates nothing. Internal.
//
// T has a member `bytes` (wire::Bytes), which is empty in what take() gives; the rest is as it was given back.
// Owner: whose things they are. One thread.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <ferry/wire/bytes.hpp>

namespace ferry::sim {

template <class T>
class Pool {
 public:
  T& take() {
    if (free_.empty()) {
      all_.push_back(std::make_unique<T>());
      return *all_.back();
    }
    T& thing = *free_.back();
    free_.pop_back();
    return thing;
  }

  void give_back(T& thing) noexcept {
    if (thing.bytes.capacity() > kKeptBytes) {
      thing.bytes = wire::Bytes();
    }
    thing.bytes.clear();
    free_.push_back(&thing);
  }

  // Taken ones and free ones.
  const std::vector<std::unique_ptr<T>>& all() const noexcept { return all_; }

 private:
  static constexpr std::size_t kKeptBytes = 16384;  // of buffer that a free one keeps

  std::vector<std::unique_ptr<T>> all_;
  std::vector<T*> free_;
};

}  // namespace ferry::sim
