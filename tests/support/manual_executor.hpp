// ManualExecutor: one thread, virtual time, nothing runs unless the test says so. For tests of core that want every
// step in their own hands. wait() runs what is ready and lets time pass; a wait that can never end aborts the test.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <deque>

#include <boost/intrusive/set.hpp>

#include <ferry/base/block_on.hpp>
#include <ferry/base/executor.hpp>

namespace ferry::test {

class ManualExecutor final : public Executor {
 public:
  explicit ManualExecutor(int strand_turn = 64) noexcept : Executor(strand_turn) {}
  ~ManualExecutor() override {
    if (!halted_ && (!ready_.empty() || !timers_.empty())) {
      std::fprintf(stderr, "a test left %zu jobs and %zu timers behind\n", ready_.size(), timers_.size());
      std::abort();
    }
  }

  void post(Job& job) noexcept override {
    if (!halted_) {
      ready_.push_back(&job);
    }
  }
  // Runs at the next step that finds nothing else ready: "elsewhere".
  void offload(Job& job) noexcept override { offloaded_.push_back(&job); }
  TimePoint now() const noexcept override { return now_; }
  void start_timer(Timer& timer, TimePoint due) noexcept override {
    timer.due = due;
    timer.order = ++order_;
    timer.started = true;
    timers_.insert(timer);
  }
  void cancel_timer(Timer& timer) noexcept override {
    if (timer.started) {
      timer.started = false;
      timers_.erase(timers_.iterator_to(timer));
    }
  }
  bool has_ready_work() const noexcept override { return !ready_.empty(); }
  void wait(const Latch& latch) noexcept override {
    while (!latch.is_set()) {
      if (!step() && !pass_to_next_timer()) {
        std::fprintf(stderr, "a test waits for something that cannot happen\n");
        std::abort();
      }
    }
  }

  // Runs one job. False: none was ready.
  bool step() noexcept {
    std::deque<Job*>& from = ready_.empty() ? offloaded_ : ready_;
    if (from.empty()) {
      return false;
    }
    Job* job = from.front();
    from.pop_front();
    job->run();
    return true;
  }
  // Runs until nothing is ready; how many jobs.
  std::size_t run() noexcept {
    std::size_t count = 0;
    while (step()) {
      ++count;
    }
    return count;
  }
  // Lets time pass, firing what is due in order and running what becomes ready.
  void advance(Duration duration) noexcept {
    const TimePoint end = saturating_add(now_, duration);
    run();
    while (!timers_.empty() && timers_.begin()->due <= end) {
      pass_to_next_timer();
      run();
    }
    now_ = end;
  }

  std::size_t timers() const noexcept { return timers_.size(); }
  std::size_t ready() const noexcept { return ready_.size(); }
  // As the simulator does to a killed process: nothing runs any more.
  void halt() noexcept {
    halted_ = true;
    ready_.clear();
    offloaded_.clear();
    timers_.clear();
  }

  template <class T>
  T run(Task<T> task) {
    return block_on(*this, nullptr, std::move(task));
  }

 private:
  struct Earlier {
    bool operator()(const Timer& a, const Timer& b) const noexcept {
      return a.due != b.due ? a.due < b.due : a.order < b.order;
    }
  };
  using Timers = boost::intrusive::set<Timer, boost::intrusive::member_hook<Timer, decltype(Timer::hook), &Timer::hook>,
                                       boost::intrusive::compare<Earlier>>;

  bool pass_to_next_timer() noexcept {
    if (timers_.empty()) {
      return false;
    }
    Timer& timer = *timers_.begin();
    timers_.erase(timers_.begin());
    timer.started = false;
    now_ = std::max(now_, timer.due);
    timer.fire();
    return true;
  }

  std::deque<Job*> ready_;
  std::deque<Job*> offloaded_;
  Timers timers_;
  TimePoint now_{};
  std::uint64_t order_ = 0;
};

}  // namespace ferry::test
