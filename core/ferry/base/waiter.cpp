#include <ferry/base/waiter.hpp>

#include <algorithm>
#include <string>

#include <ferry/base/check.hpp>
#include <ferry/base/failure.hpp>
#include <ferry/base/process_mark.hpp>

namespace ferry {

TaskScope& TaskScope::require(const char* attempted) {
  TaskScope* scope = current();
  if (scope == nullptr) {
    throw Error(
        Failure(errc::invalid_argument,
                std::string(attempted) + " needs a ferry task: await it inside a ferry::Task, or use block_on"));
  }
  return *scope;
}

Waiter::Waiter(GiveUp give_up, HasProgressed has_progressed) noexcept
    : Job(&Waiter::resume), Timer(&Waiter::expire), give_up_(give_up), has_progressed_(has_progressed) {}

Waiter::~Waiter() {
  FERRY_CHECK(!active_);
  if (handle_ && is_woken()) {
    // Woken but not resumed: the frame is being dropped. The waking thread may still be about to post.
    while (!scope_->strand->withdraw(*this)) {
    }
  }
}

void Waiter::begin(std::coroutine_handle<> handle, const Limits& limits, Duration check_interval) {
  bind(handle, limits);
  watch(limits, check_interval);
}

void Waiter::bind(std::coroutine_handle<> handle, const Limits& limits) {
  scope_ = &TaskScope::require("waiting");
  if (!scope_->strand->executor().is_of_this_process()) {
    throw Error(made_before_fork());
  }
  handle_ = handle;
  deadline_ = scope_->deadline;
  if (limits.timeout) {
    const TimePoint now = scope_->strand->executor().now();
    deadline_ = std::min(deadline_, saturating_add(now, std::max(*limits.timeout, Duration::zero())));
  }
}

void Waiter::watch(const Limits& limits, Duration check_interval) {
  active_ = true;
  check_interval_ = check_interval;
  if (deadline_ != kNever || check_interval != Duration::zero()) {
    timed_ = arm(check_interval == Duration::zero() ? TimePoint{} : scope_->strand->executor().now());
  }
  if (scope_->stop.stop_possible()) {
    scope_stop_.emplace(scope_->stop, Stop{this});
  }
  if (limits.stop) {
    own_stop_.emplace(limits.stop.token(), Stop{this});
  }
}

bool Waiter::arm(TimePoint now) noexcept {
  const TimePoint check = check_interval_ == Duration::zero() ? kNever : saturating_add(now, check_interval_);
  const TimePoint look = std::min(deadline_, check);
  if (look == kNever) {
    return false;
  }
  scope_->strand->executor().start_timer(*this, look);
  return true;
}

bool Waiter::commit() noexcept {
  State expected = State::idle;
  if (state_.compare_exchange_strong(expected, State::suspended, std::memory_order_acq_rel)) {
    return true;
  }
  handle_ = {};  // woken already: nothing was posted
  return false;
}

bool Waiter::others_wait() noexcept {
  const TaskScope* scope = TaskScope::current();
  if (scope == nullptr) {
    return false;
  }
  return detail::thread_step.starts > 0 || scope->strand->has_waiting() || scope->strand->executor().has_ready_work();
}

Failure Waiter::why_refused(const Limits& limits) noexcept {
  const TaskScope* const scope = TaskScope::current();
  if (limits.stop.stop_requested() || (scope != nullptr && scope->stop.stop_requested())) {
    return Failure(errc::cancelled, kStopRequested);
  }
  if (scope != nullptr && scope->deadline != kNever && scope->strand->executor().now() >= scope->deadline) {
    return Failure(errc::timed_out, "the time of the task or call was over before it began");
  }
  InlineBudget::current().refill();
  return {};
}

void Waiter::yield(std::coroutine_handle<> handle) noexcept {
  scope_ = TaskScope::current();
  handle_ = handle;
  yielded_ = true;
  state_.store(State::woken, std::memory_order_relaxed);
  scope_->strand->post(*this);
  Strand::end_turn();
}

void Waiter::wake() noexcept {
  if (state_.exchange(State::woken, std::memory_order_acq_rel) == State::suspended) {
    scope_->strand->post(*this);
  }
}

void Waiter::end() noexcept {
  if (!active_) {
    return;
  }
  active_ = false;
  own_stop_.reset();
  scope_stop_.reset();
  if (timed_) {
    scope_->strand->executor().cancel_timer(*this);
    timed_ = false;
  }
}

void Waiter::resume(Job& job) noexcept {
  auto& self = static_cast<Waiter&>(job);
  detail::thread_step.scope = self.scope_;
  if (self.yielded_) {
    detail::thread_step.budget.exhaust();
  }
  const auto handle = std::exchange(self.handle_, {});
  handle.resume();
}

void Waiter::expire(Timer& timer) noexcept {
  auto& self = static_cast<Waiter&>(timer);
  const TimePoint now = self.scope_->strand->executor().now();
  if (now >= self.deadline_ || (self.has_progressed_ != nullptr && !self.has_progressed_(self))) {
    self.give_up_(self, errc::timed_out);
  } else {
    self.arm(now);
  }
}

}  // namespace ferry
