// Strand: runs jobs one at a time, in the order of posting, on an Executor's threads. An actor is a strand; so is the
// root of a program.
//
// Owner: whoever owns the tasks that run on it; destroyed when no job is queued, from outside itself.
// Thread: post() from any; everything else on the strand.
#pragma once

#include <atomic>
#include <cstddef>

#include <ferry/base/executor.hpp>
#include <ferry/base/job.hpp>

namespace ferry {

class NodeCore;  // transport/node_core.hpp: opaque here, the ambient node of the tasks on a strand

class Strand {
 public:
  explicit Strand(Executor& executor, NodeCore* node = nullptr) noexcept;
  ~Strand();
  Strand(const Strand&) = delete;
  Strand& operator=(const Strand&) = delete;

  void post(Job& job) noexcept;

  // Takes back a job that has not run. Only on the strand itself. True if it was queued.
  bool withdraw(Job& job) noexcept;

  // Discards what is queued. Only where the executor has halted.
  void discard() noexcept;

  Executor& executor() const noexcept { return executor_; }
  NodeCore* node() const noexcept { return node_; }

  // The strand whose job this thread is running; null outside any.
  static Strand* current() noexcept;
  bool is_current() const noexcept { return current() == this; }

  // Whether jobs of this strand wait behind the one that runs. On the strand; a hint for fairness.
  bool has_waiting() const noexcept { return !ready_.empty() || incoming_.load(std::memory_order_relaxed) != &runner_; }
  // After the job that runs, other strands get their turn. On the strand.
  static void end_turn() noexcept;

 private:
  static void run_steps(Job& job) noexcept;
  static void drop_steps(Job& job) noexcept;
  void collect() noexcept;

  struct Runner : Job {
    explicit Runner(Strand* owner) noexcept : Job(&Strand::run_steps, &Strand::drop_steps), strand(owner) {}
    Strand* strand;
  };

  Executor& executor_;
  NodeCore* node_;
  Runner runner_;
  std::atomic<Job*> incoming_{nullptr};  // newest first; null: idle; the runner itself: scheduled and empty
  JobQueue ready_;                       // oldest first, seen by the running thread only
};

// How much a step has completed inline, so that a loop of operations that never suspend still yields (decision 1).
struct InlineBudget {
  static constexpr std::size_t kCompletions = 64;
  static constexpr std::size_t kBytes = std::size_t{1} << 20;

  std::size_t completions = kCompletions;
  std::size_t bytes = kBytes;

  // Spends one completion of `count` bytes; true once the budget is used up.
  bool spend(std::size_t count) noexcept {
    bytes -= bytes < count ? bytes : count;
    completions = bytes == 0 || completions == 0 ? 0 : completions - 1;
    return is_spent();
  }
  bool is_spent() const noexcept { return completions == 0; }
  void exhaust() noexcept { completions = 0; }
  void refill() noexcept { *this = InlineBudget{}; }

  // The calling thread's.
  static InlineBudget& current() noexcept;
};

struct TaskScope;  // base/scope.hpp

namespace detail {
struct ThreadStep {
  Strand* strand = nullptr;
  TaskScope* scope = nullptr;
  InlineBudget budget;
  unsigned starts = 0;  // first steps of started tasks that this step is inside of: their starters wait on the stack
  bool turn_has_ended = false;
};
extern constinit thread_local ThreadStep thread_step;
}  // namespace detail

inline Strand* Strand::current() noexcept {
  return detail::thread_step.strand;
}
inline void Strand::end_turn() noexcept {
  detail::thread_step.turn_has_ended = true;
}
inline InlineBudget& InlineBudget::current() noexcept {
  return detail::thread_step.budget;
}

}  // namespace ferry
