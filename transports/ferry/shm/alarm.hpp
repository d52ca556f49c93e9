// Alarm: a timer whose ringing is a flag that the polling thread looks at.
//
// Owner: what it is a member of. set() and cancel() by one thread at a time; the callback takes no lock.
#pragma once

#include <atomic>

#include <ferry/base/executor.hpp>
#include <ferry/shm/poller.hpp>

namespace ferry::shm {

class Alarm {
 public:
  Alarm(Executor& executor, Poller& poller) noexcept : executor_(executor), timer_(*this), poller_(poller) {}
  ~Alarm() { cancel(); }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  void set(Duration after) noexcept {
    cancel();
    set_ = true;
    executor_.start_timer(timer_, saturating_add(executor_.now(), after));
  }
  // Touches the executor only after a set().
  void cancel() noexcept {
    if (set_) {
      set_ = false;
      executor_.cancel_timer(timer_);
      rung_.store(false, std::memory_order_relaxed);
    }
  }
  bool is_ringing() const noexcept { return rung_.load(std::memory_order_relaxed); }
  // True once for each ringing.
  bool has_rung() noexcept { return is_ringing() && rung_.exchange(false, std::memory_order_acquire); }

 private:
  struct Ring : Timer {
    explicit Ring(Alarm& owner) noexcept : Timer(&Alarm::ring), alarm(owner) {}
    Alarm& alarm;
  };
  static void ring(Timer& timer) noexcept {
    Alarm& alarm = static_cast<Ring&>(timer).alarm;
    Poller& poller = alarm.poller_;
    alarm.rung_.store(true, std::memory_order_release);
    poller.wake();
  }

  Executor& executor_;
  Ring timer_;
  Poller& poller_;
  bool set_ = false;
  std::atomic<bool> rung_{false};
};

}  // namespace ferry::shm
