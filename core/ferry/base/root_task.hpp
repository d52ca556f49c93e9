// RootTask<T>: runs a Task on a strand with nothing awaiting it; for the edges of the library (a program's root, an
// endpoint's activation, block_on). Not for users: they start() tasks inside a task.
//
// Owner: the creator, which keeps it until `done` was called. Destroying it earlier drops the task; on its strand,
// except before post().
#pragma once

#include <utility>

#include <ferry/base/result.hpp>
#include <ferry/base/task.hpp>

namespace ferry::detail {

template <class T>
class RootTask final : private Job, private TaskObserver {
 public:
  using Done = void (*)(RootTask& self, void* user) noexcept;

  // `done` runs on the strand inside the task's last step; it may destroy the RootTask's owner only through a job.
  RootTask(Strand& strand, Task<T> task, Done done, void* user) noexcept
      : Job(&RootTask::begin), done_(done), user_(user), task_(std::move(task)) {
    scope_.strand = &strand;
  }
  ~RootTask() {
    if (is_queued_) {
      scope_.strand->withdraw(*this);
    }
  }

  TaskScope& scope() noexcept { return scope_; }

  // Queues the first step; or runs it in place, where the caller is on the strand.
  void post() noexcept {
    is_queued_ = true;
    scope_.strand->post(*this);
  }
  void run_here() noexcept { begin(*this); }

  // Once done: the value, or the task's exception.
  T take() { return task_.handle().promise().take(); }

 private:
  static void begin(Job& job) noexcept {
    auto& self = static_cast<RootTask&>(job);
    self.is_queued_ = false;
    const ScopeGuard guard(&self.scope_);
    if (PromiseBase::run_first_step(self.task_.handle(), {}, &self)) {
      self.on_task_done();
    }
  }
  void on_task_done() noexcept override { done_(*this, user_); }

  TaskScope scope_;
  Done done_;
  void* user_;
  bool is_queued_ = false;
  Task<T> task_;  // last: its frames refer to the scope
};

}  // namespace ferry::detail
