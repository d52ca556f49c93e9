// Injector: the jobs that were posted from outside the executor threads, or did not fit a RunRing; first in first out.
//
// Any thread may push and take.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>

#include <ferry/base/job.hpp>
#include <ferry/system/run_ring.hpp>

namespace ferry::system {

class Injector {
 public:
  // Sequentially consistent: comes before whatever the pusher looks at next.
  void push(Job& job) noexcept {
    const std::lock_guard lock(mutex_);
    jobs_.push(job);
    count_.fetch_add(1, std::memory_order_seq_cst);
  }

  bool empty() const noexcept { return count_.load(std::memory_order_seq_cst) == 0; }
  bool seems_empty() const noexcept { return count_.load(std::memory_order_relaxed) == 0; }

  // Takes one job for the caller, and more for its ring: its share of what waits where `sharers` threads take.
  Job* take(RunRing& ring, std::size_t sharers) noexcept {
    if (seems_empty()) {
      return nullptr;
    }
    const std::lock_guard lock(mutex_);
    Job* first = jobs_.pop();
    if (first == nullptr) {
      return nullptr;
    }
    const std::size_t room = RunRing::kSlots - ring.size();
    const std::size_t share = std::min({count_.load(std::memory_order_relaxed) / sharers, kBatch, room + 1});
    std::size_t taken = 1;
    for (; taken < share; ++taken) {
      ring.push(*jobs_.pop());
    }
    count_.fetch_sub(taken, std::memory_order_relaxed);
    return first;
  }

 private:
  static constexpr std::size_t kBatch = 32;

  std::mutex mutex_;
  JobQueue jobs_;
  std::atomic<std::size_t> count_{0};
};

}  // namespace ferry::system
