// RunRing: the jobs that wait for one executor thread, first in first out; other threads may steal from it.
//
// The owner alone pushes; the owner and thieves take from the head with one compare-and-swap. Bounded: a job that does
// not fit goes to the Injector. It allocates nothing and owns no job.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ferry/base/job.hpp>

namespace ferry::system {

class RunRing {
 public:
  static constexpr std::uint32_t kSlots = 256;
  static_assert((kSlots & (kSlots - 1)) == 0, "positions wrap around at 2^32");

  // Jobs taken at once by a thief at most.
  static constexpr std::uint32_t kSteal = 32;

  // Owner. False: full. Sequentially consistent, so that a push comes before whatever the owner looks at next.
  bool push(Job& job) noexcept {
    const std::uint32_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_.load(std::memory_order_acquire) >= kSlots) {
      return false;
    }
    slot(tail).store(&job, std::memory_order_relaxed);
    tail_.store(tail + 1, std::memory_order_seq_cst);
    return true;
  }

  // Owner. The oldest job; null: empty.
  Job* pop() noexcept {
    std::uint32_t head = head_.load(std::memory_order_relaxed);
    while (head != tail_.load(std::memory_order_relaxed)) {
      Job* job = slot(head).load(std::memory_order_relaxed);
      if (head_.compare_exchange_weak(head, head + 1, std::memory_order_acq_rel, std::memory_order_relaxed)) {
        return job;
      }
    }
    return nullptr;
  }

  // Any thread: takes the older half of what waits, one job at least, into `jobs`; how many.
  std::uint32_t steal(std::array<Job*, kSteal>& jobs) noexcept {
    std::uint32_t head = head_.load(std::memory_order_acquire);
    for (;;) {
      const std::uint32_t waiting = tail_.load(std::memory_order_acquire) - head;
      if (waiting == 0 || waiting > kSlots) {  // more: the head is old news
        return 0;
      }
      const std::uint32_t count = waiting / 2 + waiting % 2 < kSteal ? waiting / 2 + waiting % 2 : kSteal;
      for (std::uint32_t i = 0; i < count; ++i) {
        jobs[i] = slot(head + i).load(std::memory_order_relaxed);
      }
      if (head_.compare_exchange_weak(head, head + count, std::memory_order_acq_rel, std::memory_order_acquire)) {
        return count;
      }
    }
  }

  // The owner's own hint; two relaxed loads.
  bool seems_empty() const noexcept {
    return head_.load(std::memory_order_relaxed) == tail_.load(std::memory_order_relaxed);
  }

  // Any thread; a hint unless the owner asks. At most kSlots.
  std::uint32_t size() const noexcept {
    const std::uint32_t head = head_.load(std::memory_order_relaxed);
    const std::uint32_t waiting = tail_.load(std::memory_order_seq_cst) - head;
    return waiting < kSlots ? waiting : kSlots;
  }

 private:
  std::atomic<Job*>& slot(std::uint32_t position) noexcept { return slots_[position & (kSlots - 1)]; }

  alignas(64) std::atomic<std::uint32_t> head_{0};
  alignas(64) std::atomic<std::uint32_t> tail_{0};
  std::array<std::atomic<Job*>, kSlots> slots_{};
};

}  // namespace ferry::system
