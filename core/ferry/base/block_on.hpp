// block_on: runs a task from outside of any coroutine and waits for its end. For main functions, tests, other runtimes.
//
// Not from an executor thread that the task needs: that throws Error (invalid_argument).
#pragma once

#include <optional>
#include <utility>

#include <ferry/base/result.hpp>
#include <ferry/base/root_task.hpp>

namespace ferry {

template <class T>
T block_on(Executor& executor, NodeCore* node, Task<T> task) {
  if (Strand::current() != nullptr) {
    throw Error(Failure(errc::invalid_argument, "block_on inside a task would block its own executor; use co_await"));
  }
  Latch done;
  Strand strand(executor, node);
  // The frame ends on its strand, like everything that it awaited.
  std::optional<detail::RootTask<T>> root;
  root.emplace(
      strand, std::move(task), [](detail::RootTask<T>&, void* latch) noexcept { static_cast<Latch*>(latch)->set(); },
      &done);
  root->post();
  executor.wait(done);
  return root->take();
}

}  // namespace ferry
