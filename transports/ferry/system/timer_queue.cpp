#include <ferry/system/timer_queue.hpp>

#include <ferry/base/check.hpp>

namespace ferry::system {
namespace {

// The queue whose callback this thread is in: cancelling from there must not wait for itself.
constinit thread_local const TimerQueue* firing_here = nullptr;

}  // namespace

TimerQueue::~TimerQueue() {
  FERRY_CHECK(timers_.empty());
}

void TimerQueue::publish_next() noexcept {
  const TimePoint next = timers_.empty() ? kNever : timers_.begin()->due;
  next_due_.store(next.time_since_epoch().count(), std::memory_order_seq_cst);
}

bool TimerQueue::start(Timer& timer, TimePoint due) noexcept {
  const std::lock_guard lock(mutex_);
  FERRY_CHECK(!timer.started);
  timer.due = due;
  timer.order = next_order_++;
  timer.started = true;
  timers_.insert(timer);
  if (&*timers_.begin() != &timer) {
    return false;
  }
  publish_next();
  return true;
}

void TimerQueue::cancel(Timer& timer) noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (timer.started) {
      const bool first = &timer == &*timers_.begin();
      timers_.erase(Set::s_iterator_to(timer));
      timer.started = false;
      if (first) {
        publish_next();
      }
    }
    if (firing_ != &timer || firing_here == this) {
      return;
    }
    // The callback runs on another thread, and may start the timer again before it ends.
    const std::uint64_t before = fired_;
    ++waiting_;
    ended_.wait(lock, [&] { return fired_ != before; });
    --waiting_;
  }
}

std::size_t TimerQueue::fire(TimePoint now) noexcept {
  std::size_t count = 0;
  std::unique_lock lock(mutex_);
  while (count < kBatch && !timers_.empty() && timers_.begin()->due <= now) {
    Timer& timer = *timers_.begin();
    timers_.erase(timers_.begin());
    timer.started = false;
    firing_ = &timer;
    publish_next();
    lock.unlock();
    firing_here = this;
    timer.fire();
    firing_here = nullptr;
    lock.lock();
    firing_ = nullptr;
    ++fired_;
    ++count;
    if (waiting_ > 0) {
      ended_.notify_all();
    }
  }
  return count;
}

}  // namespace ferry::system
