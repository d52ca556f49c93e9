// block_on: runs a task from outside of any coroutine and waits for its end. For main functions, tests, other runtimes.
//
// The task runs on a strand of its own and its frame ends there, like everything that it awaited. Throws what the task
// throws; Error (invalid_argument) for an empty task and inside a task, whose executor it would block; wrong_process in
// a fork.
#pragma once

#include <exception>
#include <optional>
#include <utility>
#include <variant>

#include <ferry/base/result.hpp>
#include <ferry/base/root_task.hpp>

namespace ferry {

namespace detail {

template <class T>
class BlockingRoot final : private Job {
 public:
  BlockingRoot(Executor& executor, NodeCore* node, Task<T> task)
      : Job(&BlockingRoot::finish),
        strand_(executor, node),
        root_(std::in_place, strand_, std::move(task), &done, this) {}

  T run() {
    root_->post();
    strand_.executor().wait(ended_);
    if (exception_) {
      std::rethrow_exception(std::exchange(exception_, nullptr));
    }
    if constexpr (!std::is_void_v<T>) {
      return std::move(*value_);
    }
  }

 private:
  static void done(RootTask<T>&, void* user) noexcept {
    auto& self = *static_cast<BlockingRoot*>(user);
    self.strand_.post(self);
  }
  // A step of its own: the task's last one has left the frame.
  static void finish(Job& job) noexcept {
    auto& self = static_cast<BlockingRoot&>(job);
    try {
      if constexpr (std::is_void_v<T>) {
        self.root_->take();
      } else {
        self.value_.emplace(self.root_->take());
      }
    } catch (...) {
      self.exception_ = std::current_exception();
    }
    self.root_.reset();
    self.ended_.set();
  }

  Latch ended_;
  std::exception_ptr exception_;
  std::optional<std::conditional_t<std::is_void_v<T>, std::monostate, T>> value_;
  Strand strand_;  // its destructor waits until the thread that set ended_ has left
  std::optional<RootTask<T>> root_;
};

}  // namespace detail

template <class T>
T block_on(Executor& executor, NodeCore* node, Task<T> task) {
  if (Strand::current() != nullptr) {
    throw Error(Failure(errc::invalid_argument, "block_on inside a task would block its own executor; use co_await"));
  }
  if (!task) {
    throw Error(Failure(errc::invalid_argument, "block_on of an empty task (moved from)"));
  }
  if (!executor.is_of_this_process()) {
    throw Error(made_before_fork());
  }
  detail::BlockingRoot<T> root(executor, node, std::move(task));
  return root.run();
}

}  // namespace ferry
