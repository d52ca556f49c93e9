// Executor: the only source of concurrency and of time that core knows. `system` implements it on an event loop and
// threads, `sim` on a seeded scheduler.
//
// Owner: the Node's composer. Every function may be called from any thread. Jobs run one after another per thread and
// must not block; work that blocks goes to offload().
#pragma once

#include <atomic>
#include <cstdint>

#include <boost/intrusive/set.hpp>

#include <ferry/base/job.hpp>
#include <ferry/base/process_mark.hpp>
#include <ferry/base/time.hpp>

namespace ferry {

// A one-shot timer; intrusive. The callback is library code and short: it may run on the progress thread, while user
// code blocks every other one.
class Timer {
 public:
  using Function = void (*)(Timer&) noexcept;

  explicit Timer(Function function) noexcept : function_(function) {}
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // For executors: everything below is theirs while the timer is started.
  void fire() noexcept { function_(*this); }
  TimePoint due{};
  std::uint64_t order = 0;  // among equal due times: the order of start
  boost::intrusive::set_member_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>> hook;
  bool started = false;

 private:
  Function function_;
};

// A latch that a thread can wait for; see Executor::wait. Whoever has seen it set may destroy it: set() touches nothing
// of it afterwards (waking goes by its address alone).
class Latch {
 public:
  bool is_set() const noexcept { return set_.load(std::memory_order_acquire); }
  void set() noexcept {
    set_.store(true, std::memory_order_release);
    set_.notify_all();
  }

  // Blocks the calling thread; for implementations of Executor::wait and for latches that only other threads set.
  void block() const noexcept { set_.wait(false, std::memory_order_acquire); }

 private:
  std::atomic<bool> set_{false};
};

class Executor {
 public:
  virtual ~Executor() = default;

  // Runs the job soon, on some executor thread. Order among jobs is FIFO per posting thread at best: use a Strand.
  virtual void post(Job& job) noexcept = 0;

  // Runs the job where it may block without holding up anything else; in the simulator in place of a post.
  virtual void offload(Job& job) noexcept = 0;

  virtual TimePoint now() const noexcept = 0;

  // Fires the timer once at or after `due`. A started timer must be fired or cancelled before it is started again; its
  // callback may start it again.
  virtual void start_timer(Timer& timer, TimePoint due) noexcept = 0;

  // After it returns the callback neither runs nor will run, also where it has just started the timer again. Waits for
  // a callback in progress, unless called from it: so never while holding a lock that the callback takes. Cancelling a
  // timer that is not started does nothing.
  virtual void cancel_timer(Timer& timer) noexcept = 0;

  // True if jobs wait for a thread. One relaxed load; a hint for fairness only.
  virtual bool has_ready_work() const noexcept = 0;

  // Blocks the calling thread until the latch is set; the simulator runs its world meanwhile. Not for executor
  // threads that the setter needs.
  virtual void wait(const Latch& latch) noexcept = 0;

  // How many of its jobs a Strand runs before others get their turn; constant. 1 in the simulator: each is a step.
  int strand_turn() const noexcept { return strand_turn_; }

  // True once a simulated process has been killed: what is queued will never run, and its owners may be destroyed.
  bool halted() const noexcept { return halted_; }

  // False in a fork of the process that made it: it has no threads there.
  bool is_of_this_process() const noexcept { return mark_ == process_mark(); }

 protected:
  explicit Executor(int strand_turn = 64) noexcept : strand_turn_(strand_turn) {}

  bool halted_ = false;

 private:
  const int strand_turn_;
  const std::uint32_t mark_ = process_mark();
};

}  // namespace ferry
