// start(x): begins an awaitable at once, beside the caller. With it comes everything else that makes tasks run
// concurrently on one strand: all(), race(), TaskGroup, as_result().
#pragma once

#include <utility>

#include <ferry/base/all.hpp>
#include <ferry/base/as_result.hpp>
#include <ferry/base/running.hpp>
#include <ferry/base/task_group.hpp>

namespace ferry {

// Runs it to its first suspension, on this strand, and gives the handle that owns it (base/running.hpp). Throws Error
// (invalid_argument) outside a task; failures of the awaitable come out of awaiting the handle.
template <Awaitable A>
auto start(A awaitable) {
  return Running<await_result_t<A>>(detail::as_task(std::move(awaitable)));
}

}  // namespace ferry
