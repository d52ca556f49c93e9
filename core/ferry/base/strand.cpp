#include <ferry/base/strand.hpp>

#include <ferry/base/check.hpp>

namespace ferry {

namespace detail {
constinit thread_local ThreadStep thread_step{};
}  // namespace detail

Strand::Strand(Executor& executor, NodeCore* node) noexcept : executor_(executor), node_(node), runner_(this) {}

Strand::~Strand() {
  FERRY_CHECK(!is_current());
  if (executor_.halted()) {
    return;  // what is queued belongs to a process that was killed
  }
  // The last job may have announced its end while its thread still leaves run_steps(): a handful of instructions.
  while (incoming_.load(std::memory_order_acquire) != nullptr) {
  }
  FERRY_CHECK(ready_.empty());
}

void Strand::post(Job& job) noexcept {
  // Acquires too: who finds the strand idle hands what its last thread has left to the next one.
  Job* newest = incoming_.load(std::memory_order_relaxed);
  do {
    job.next_ = newest == &runner_ ? nullptr : newest;
  } while (!incoming_.compare_exchange_weak(newest, &job, std::memory_order_acq_rel, std::memory_order_relaxed));
  if (newest == nullptr) {
    executor_.post(runner_);
  }
}

bool Strand::withdraw(Job& job) noexcept {
  if (executor_.halted()) {
    return true;
  }
  FERRY_CHECK(is_current());
  collect();
  return ready_.remove(job);
}

void Strand::discard() noexcept {
  FERRY_CHECK(executor_.halted());
  collect();
  while (Job* job = ready_.pop()) {
    job->discard();
  }
}

// Moves what was posted to the ready queue, oldest first.
void Strand::collect() noexcept {
  Job* newest = incoming_.exchange(&runner_, std::memory_order_acquire);
  Job* oldest = nullptr;
  while (newest != nullptr && newest != &runner_) {
    Job* next = newest->next_;
    newest->next_ = oldest;
    oldest = newest;
    newest = next;
  }
  while (oldest != nullptr) {
    Job* next = oldest->next_;
    ready_.push(*oldest);
    oldest = next;
  }
}

void Strand::drop_steps(Job& job) noexcept {
  static_cast<Runner&>(job).strand->discard();
}

void Strand::run_steps(Job& job) noexcept {
  Strand& self = *static_cast<Runner&>(job).strand;
  auto& step = detail::thread_step;
  const detail::ThreadStep outer = step;
  step.strand = &self;
  step.turn_has_ended = false;
  int steps = 0;
  for (;;) {
    if (self.ready_.empty()) {
      Job* scheduled_and_empty = &self.runner_;
      if (self.incoming_.compare_exchange_strong(scheduled_and_empty, nullptr, std::memory_order_acq_rel)) {
        break;  // idle; the strand may be destroyed from here on
      }
      self.collect();
      continue;
    }
    if (steps++ == self.executor_.strand_turn() || step.turn_has_ended) {
      step = outer;
      self.executor_.post(self.runner_);
      return;
    }
    step.budget.refill();
    step.scope = nullptr;
    self.ready_.pop()->run();
  }
  step = outer;
}

}  // namespace ferry
