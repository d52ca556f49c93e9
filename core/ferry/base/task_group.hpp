// TaskGroup: any number of started tasks, as they come up: the children of a server loop.
//
//   ferry::TaskGroup group;
//   group.start(serve(request));  …  co_await group.join();
//
// The first failure cancels the others, and join() throws it when all have ended. Destroying the group cancels what
// runs and blocks until that is quiet. Used on one strand; the group outlives join(), and is neither joined nor
// destroyed by one of its own tasks. Ended tasks are freed as others start.
#pragma once

#include <cstddef>
#include <exception>
#include <list>
#include <utility>

#include <ferry/base/running.hpp>

namespace ferry {

class TaskGroup final : private detail::EndListener {
 public:
  TaskGroup() noexcept = default;
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;
  ~TaskGroup() = default;

  // Begins the awaitable now; its value is dropped. After cancel() or a failure it is not begun, until join() has
  // ended. Throws Error (invalid_argument) outside a task.
  template <Awaitable A>
  void start(A awaitable) {
    add(without_value(std::move(awaitable)));
  }

  // Asks all to stop.
  void cancel() noexcept;

  // Tasks that have not ended.
  std::size_t running() const noexcept { return tasks_.size() - ended_; }

  // Ends when all have, also those started meanwhile. Throws the exception of the first that failed. A stop or deadline
  // of the caller cancels the group.
  Task<void> join();

 private:
  class Join;

  template <class A>
  static Task<void> without_value(A awaitable) {
    static_cast<void>(co_await awaitable);
  }
  void add(Task<void> task);
  void on_end(detail::RunningBase& task) noexcept override;
  void settle(detail::RunningState<void>& task) noexcept;
  void free_ended();

  std::list<detail::RunningState<void>> tasks_;
  std::size_t ended_ = 0;  // of tasks_
  bool stopped_ = false;
  std::exception_ptr first_failure_;
  Waiter* joiner_ = nullptr;
};

}  // namespace ferry
