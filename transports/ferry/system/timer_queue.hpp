// TimerQueue: the started timers of one executor, in the order in which they fire: due time, then order of start.
//
// Does not know a clock and does not wait: whoever polls asks for what is due. At most one thread fires at a time, so
// that two callbacks that cancel each other's timers cannot wait for each other. Every other function: any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include <boost/intrusive/set.hpp>

#include <ferry/base/executor.hpp>

namespace ferry::system {

class TimerQueue {
 public:
  TimerQueue() = default;
  ~TimerQueue();
  TimerQueue(const TimerQueue&) = delete;
  TimerQueue& operator=(const TimerQueue&) = delete;

  // True if the timer is now the first one due: somebody who sleeps longer must be told.
  bool start(Timer& timer, TimePoint due) noexcept;

  // See Executor::cancel_timer.
  void cancel(Timer& timer) noexcept;

  // When the first timer is due; kNever if there is none. One sequentially consistent load: a start() whose caller
  // then looks whether anybody sleeps is seen by anybody who says that it sleeps and then looks here.
  TimePoint next_due() const noexcept { return TimePoint(Duration(next_due_.load(std::memory_order_seq_cst))); }

  // Fires what is due at `now`, at most kBatch callbacks, so that timers that restart themselves do not hold up the
  // rest; the number fired. By one thread at a time.
  std::size_t fire(TimePoint now) noexcept;

  static constexpr std::size_t kBatch = 64;

 private:
  struct Earlier {
    bool operator()(const Timer& a, const Timer& b) const noexcept {
      return a.due != b.due ? a.due < b.due : a.order < b.order;
    }
  };
  using Set = boost::intrusive::set<Timer, boost::intrusive::member_hook<Timer, decltype(Timer::hook), &Timer::hook>,
                                    boost::intrusive::compare<Earlier>, boost::intrusive::constant_time_size<false>>;

  void publish_next() noexcept;

  std::mutex mutex_;
  Set timers_;
  std::uint64_t next_order_ = 0;
  const Timer* firing_ = nullptr;  // compared only; its owner may have destroyed it
  std::uint64_t fired_ = 0;        // callbacks ended
  int waiting_ = 0;
  std::condition_variable ended_;
  std::atomic<Duration::rep> next_due_{kNever.time_since_epoch().count()};
};

}  // namespace ferry::system
