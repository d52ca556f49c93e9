#include <ferry/base/task_group.hpp>

#include <ferry/base/result.hpp>

namespace ferry {

// Waits until nothing of the group runs.
class TaskGroup::Join final : private Waiter {
 public:
  // Each task has the same stop token and deadline of its own: it ends by itself.
  explicit Join(TaskGroup& group) noexcept : Waiter(&cannot_give_up), group_(group) {}
  ~Join() { leave(); }

  bool await_ready() const noexcept { return group_.running() == 0; }
  bool await_suspend(std::coroutine_handle<> handle) {
    begin(handle, {});
    group_.joiner_ = this;
    return commit();
  }
  void await_resume() noexcept { leave(); }

 private:
  void leave() noexcept {
    end();
    if (group_.joiner_ == this) {
      group_.joiner_ = nullptr;
    }
  }

  TaskGroup& group_;
};

void TaskGroup::add(Task<void> task) {
  static_cast<void>(TaskScope::require("a task group"));
  if (stopped_) {
    return;
  }
  free_ended();
  detail::EndListener* listener = this;
  detail::RunningState<void>& started = tasks_.emplace_back(std::move(task), listener);
  if (started.is_done()) {
    settle(started);
  } else if (stopped_) {  // in its first step
    started.cancel();
  }
}

void TaskGroup::on_end(detail::RunningBase& task) noexcept {
  settle(static_cast<detail::RunningState<void>&>(task));
}

void TaskGroup::settle(detail::RunningState<void>& task) noexcept {
  ++ended_;
  try {
    task.take();
  } catch (...) {
    if (!first_failure_) {
      first_failure_ = std::current_exception();
      cancel();
    }
  }
  if (running() == 0 && joiner_ != nullptr) {
    std::exchange(joiner_, nullptr)->wake();
  }
}

void TaskGroup::cancel() noexcept {
  stopped_ = true;
  for (detail::RunningState<void>& task : tasks_) {
    task.cancel();
  }
}

// Not while fewer than half have ended: so that it costs a constant time per task.
void TaskGroup::free_ended() {
  if (ended_ * 2 > tasks_.size()) {
    std::erase_if(tasks_, [](const auto& task) { return task.is_done(); });
    ended_ = 0;
  }
}

Task<void> TaskGroup::join() {
  while (running() > 0) {
    Join ended(*this);
    co_await ended;
  }
  tasks_.clear();
  ended_ = 0;
  stopped_ = false;
  if (first_failure_) {
    std::rethrow_exception(std::exchange(first_failure_, nullptr));
  }
}

}  // namespace ferry
