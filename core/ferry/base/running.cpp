#include <ferry/base/running.hpp>

#include <string>

namespace ferry::detail {

RunningBase::RunningBase(EndListener* listener) : listener_(listener) {
  const TaskScope& outer = TaskScope::require("start");
  scope_ = outer;
  scope_.stop = source_.get_token();
  if (outer.stop.stop_possible()) {
    outer_stop_.emplace(outer.stop, StopForward<StopSource>{&source_});
  }
}

void RunningBase::on_task_done() noexcept {
  done_ = true;
  if (listener_ != nullptr) {
    listener_->on_end(*this);
  }
  if (waiter_ != nullptr) {
    std::exchange(waiter_, nullptr)->wake();
  }
}

void RunningBase::set_waiter(Waiter& waiter) {
  if (waiter_ != nullptr) {
    throw Error(Failure(errc::invalid_argument, "another task already waits for the end of this one"));
  }
  waiter_ = &waiter;
}

void RunningBase::check_untaken() {
  if (std::exchange(taken_, true)) {
    throw Error(Failure(errc::invalid_argument, "the outcome of a started task can be awaited once"));
  }
}

bool EndAwaiter::await_suspend(std::coroutine_handle<> handle) {
  task_.set_waiter(*this);
  waits_ = true;
  begin(handle, {});
  return commit();
}

void EndAwaiter::leave() noexcept {
  end();
  if (std::exchange(waits_, false)) {
    task_.clear_waiter();
  }
}

void EndAwaiter::give_up(Waiter& waiter, errc reason) noexcept {
  auto& self = static_cast<EndAwaiter&>(waiter);
  if (reason == errc::timed_out) {
    self.timed_out_.store(true, std::memory_order_relaxed);
  }
  self.task_.cancel();
}

bool FirstEndAwaiter::await_ready() const noexcept {
  for (const RunningBase* task : tasks_) {
    if (task->is_done()) {
      return true;
    }
  }
  return false;
}

bool FirstEndAwaiter::await_suspend(std::coroutine_handle<> handle) {
  for (RunningBase* task : tasks_) {
    task->set_waiter(*this);
    ++waits_;
  }
  begin(handle, {});
  return commit();
}

void FirstEndAwaiter::leave() noexcept {
  end();
  for (RunningBase* task : tasks_.first(std::exchange(waits_, 0))) {
    task->clear_waiter();
  }
}

void FirstEndAwaiter::give_up(Waiter& waiter, errc) noexcept {
  for (RunningBase* task : static_cast<FirstEndAwaiter&>(waiter).tasks_) {
    task->cancel();
  }
}

void rethrow_as_timed_out() {
  try {
    throw;
  } catch (const Error& error) {
    const Failure& failure = error.failure();
    if (failure.code() != errc::cancelled) {
      throw;
    }
    throw Error(Failure(errc::timed_out, "the limit of the task that waits for it passed: " + failure.to_text())
                    .with_effect(failure.effect()));
  }
}

}  // namespace ferry::detail
