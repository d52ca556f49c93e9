// Scheduler: the one loop of a world. Decides what happens next, moves virtual time, and keeps the two hashes.
//
// What can happen now: jobs of processes, steps and timers that are due. One of them is chosen and run to its end;
// nothing else runs meanwhile. Virtual time moves when nothing can happen now (or after kPatience steps at one instant,
// so that a process that spins does not stop the clock). Owner: the World. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include <boost/intrusive/set.hpp>

#include <ferry/base/executor.hpp>
#include <ferry/sim/choices.hpp>
#include <ferry/sim/rolling_hash.hpp>
#include <ferry/sim/step.hpp>

namespace ferry::sim {

// Told after every step, between two of them.
class StepObserver {
 public:
  virtual void after_step() = 0;

 protected:
  ~StepObserver() = default;
};

class TraceSink;

class Scheduler {
 public:
  static constexpr std::uint64_t kPatience = 10'000;  // steps without a move of time while something waits for one
  static constexpr std::uint64_t kNestedSteps = 1'000'000;  // beyond the budget, for a process that blocks to end that

  static constexpr unsigned kProcessBits = 20;  // of Timer::order: whose the timer is; the rest counts

  enum class End : std::uint8_t {
    set,      // the latch was
    asked,    // somebody called request_stop()
    nothing,  // nothing can ever happen again
    budget,   // the step budget is used up
  };

  Scheduler(ChoiceSource& choices, std::uint64_t step_budget) noexcept;
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Runs steps until the latch is set (null: there is none) or one of the other ends. May be nested: a process that
  // blocks runs the rest of its world; a request to stop then waits until it no longer does.
  End run(const Latch* latch);
  void request_stop() noexcept { stop_requested_ = true; }

  // It outlives the scheduler's runs; null: nobody.
  void observe(StepObserver* observer) noexcept { observer_ = observer; }

  // Is told of every step; outlives the scheduler; null: nobody.
  void trace_to(TraceSink* sink) noexcept { trace_ = sink; }
  TraceSink* trace() const noexcept { return trace_; }
  // The present step, for those that it will cause; and for one that is scheduled later than it was caused.
  Cause here() const noexcept { return {steps_, running(), now_}; }
  static void set_cause(Step& step, const Cause& cause) noexcept { step.cause_ = cause; }

  TimePoint now() const noexcept { return now_; }
  std::uint64_t steps() const noexcept { return steps_; }
  bool has_ready() const noexcept { return !ready_.empty(); }

  // Decides a question; folds it into the hash. 0 if n is less than 2. subject: a channel's number; 0: the world's.
  // odds: see Question.
  std::uint64_t choose(ChoiceKind kind, std::uint64_t n, std::uint64_t subject = 0, std::uint64_t odds = 0) noexcept;

  // Whether this run goes without a part (parts.hpp). Folded into the hash if it does.
  bool leaves_out(std::uint64_t subject) noexcept;

  // A job is ready at once, a step after `delay`. `number` tells steps of one kind and process apart in the hash.
  void post(ProcessNumber process, Job& job) noexcept;
  void schedule(Step& step, StepKind kind, ProcessNumber process, std::uint64_t number, Duration delay) noexcept;
  void withdraw(Step& step) noexcept;  // does nothing if it is not scheduled

  void start_timer(ProcessNumber process, Timer& timer, TimePoint due) noexcept;
  void cancel_timer(Timer& timer) noexcept;

  // Drops every job and timer of a process without running it; the jobs.
  std::vector<Job*> drop(ProcessNumber process) noexcept;

  // What the process itself does is held back until resume(), in the order of becoming able to; a step of it that is on
  // the stack goes on. Pausing twice is pausing once.
  void pause(ProcessNumber process);
  void resume(ProcessNumber process) noexcept;
  bool is_paused(ProcessNumber process) const noexcept { return held_.contains(process); }

  // Gives each timer of the process that is not due yet the time that the function makes of its own.
  void retime(ProcessNumber process, const std::function<TimePoint(TimePoint)>& anew);

  // Whose step runs, the innermost; none: between steps, or a step of the world itself.
  ProcessNumber running() const noexcept { return running_.empty() ? ProcessNumber{} : running_.back(); }

  // True while a step of the process is on the stack. call_after_step: `function` is called once none is.
  bool is_running(ProcessNumber process) const noexcept;
  void call_after_step(ProcessNumber process, std::function<void()> function);

  // Something happened as a part of the present step: counts as a step of its own.
  void record(StepKind kind, ProcessNumber process, std::uint64_t number) noexcept;
  void fold(std::uint64_t value) noexcept;          // ids and lengths
  void fold_data(wire::ByteView payload) noexcept;  // bytes that moved

  std::uint64_t hash() const noexcept { return hash_.value(); }
  std::uint64_t data() const noexcept { return data_.value(); }

  // The world has ended: drops everything; nothing is taken any more and the hashes stay.
  void close() noexcept;

 private:
  enum class What : std::uint32_t { job, step, timer };
  struct Ready {
    void* thing;
    ProcessNumber process;
    What what;
  };
  struct Earlier {
    template <class A, class B>
    bool operator()(const A& a, const B& b) const noexcept {
      return key(a) < key(b);
    }
    struct Key {
      TimePoint due;
      std::uint64_t order;
      auto operator<=>(const Key&) const noexcept = default;
    };
    static Key key(const Step& step) noexcept { return {step.due_, step.order_}; }
    static Key key(const Timer& timer) noexcept { return {timer.due, timer.order}; }
  };
  using Steps = boost::intrusive::set<
      Step,
      boost::intrusive::member_hook<
          Step, boost::intrusive::set_member_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>>,
          &Step::hook_>,
      boost::intrusive::compare<Earlier>>;
  using Timers = boost::intrusive::set<
      Timer,
      boost::intrusive::member_hook<
          Timer, boost::intrusive::set_member_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>>,
          &Timer::hook>,
      boost::intrusive::compare<Earlier>>;

  bool step_once() noexcept;
  bool advance() noexcept;
  std::uint64_t ask(const Question& question) noexcept;
  struct Held {
    Ready ready;
    Lane lane;
  };
  static bool is_of_the_process(const Ready& ready) noexcept;
  std::vector<Held>* held_for(const Ready& ready) noexcept;
  bool forget_held(const void* thing) noexcept;
  void drop_held(ProcessNumber process, std::vector<Job*>& jobs) noexcept;
  void close_held() noexcept;
  void tell(StepKind kind, ProcessNumber process, std::uint64_t number);
  void add_ready(const Ready& ready, Lane lane) noexcept;
  void remove_ready(std::size_t index) noexcept;
  void make_ready(Step& step) noexcept;
  void make_ready(Timer& timer) noexcept;
  std::size_t pick() noexcept;
  void run_ready(const Ready& ready) noexcept;
  void run_thing(const Ready& ready) noexcept;
  void forget_ready(const void* thing) noexcept;

  ChoiceSource& choices_;
  const std::uint64_t budget_;
  TimePoint now_{};
  std::uint64_t steps_ = 0;
  std::uint64_t at_this_instant_ = 0;
  std::uint64_t order_ = 0;
  std::vector<Ready> ready_;                         // in the order of becoming ready
  std::vector<Lane> lanes_;                          // theirs
  std::map<ProcessNumber, std::vector<Held>> held_;  // of each process that is paused
  Steps steps_due_;
  Timers timers_;
  RollingHash hash_;
  RollingHash data_;
  std::vector<ProcessNumber> running_;  // whose steps are on the stack, the innermost last
  std::vector<std::pair<ProcessNumber, std::function<void()>>> after_step_;
  unsigned depth_ = 0;  // of run()
  StepObserver* observer_ = nullptr;
  TraceSink* trace_ = nullptr;
  Cause cause_{};  // of the step that begins
  bool stop_requested_ = false;
  bool closed_ = false;
};

}  // namespace ferry::sim
