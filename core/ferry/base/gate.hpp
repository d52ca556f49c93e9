// Gate: counts what is under way inside something, so that its end can wait until all of it has left.
//
// Owner: what is to be outlived. Any thread enters and leaves; close() comes once, from where Executor::wait may be
// called, and nobody enters after it has returned.
#pragma once

#include <atomic>
#include <cstddef>

#include <ferry/base/executor.hpp>

namespace ferry {

class Gate {
 public:
  Gate() noexcept = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void enter() noexcept { inside_.fetch_add(1, std::memory_order_relaxed); }

  // The last touch of what the gate guards by whoever entered.
  void leave() noexcept {
    if (inside_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      empty_.set();
    }
  }

  // Waits until all have left. A killed process (Executor::halted) has nobody who would: then it does not wait.
  void close(Executor& executor) noexcept {
    leave();
    if (!executor.halted()) {
      executor.wait(empty_);
    }
  }

  bool is_empty() const noexcept { return inside_.load(std::memory_order_acquire) == 0; }  // only once it is closed

 private:
  std::atomic<std::size_t> inside_{1};  // one until close()
  Latch empty_;
};

}  // namespace ferry
