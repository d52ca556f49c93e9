// TaskScope: what a chain of awaiting tasks shares and child tasks inherit: strand, stop token, deadline, call.
// Limits: what a user may set for one await.
//
// The scope of the step that runs is thread-local (current()); every resumption restores its own. Owner: the root
// task, Started task or `with` that opened it, which outlives all tasks inside.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

#include <ferry/base/stop_token.hpp>
#include <ferry/base/strand.hpp>
#include <ferry/base/time.hpp>

namespace ferry {

// Limits of one operation, call or task: `.with({.timeout = 2s, .stop = token})`. Both are optional, and add to what
// the enclosing tasks set: the earlier deadline wins and either stop token stops.
struct Limits {
  std::optional<Duration>
      timeout{};  // absolute, from the await; below zero is zero: it ends timed_out unless it ends at once
  StopTokenView stop{};
};
static_assert(std::is_trivially_copyable_v<Limits>);

struct TaskScope {
  Strand* strand = nullptr;
  StopToken stop{};
  TimePoint deadline = kNever;
  std::uint64_t call = 0;  // the call that this chain serves; 0: none

  // Null outside any task.
  static TaskScope* current() noexcept { return detail::thread_step.scope; }

  // The current scope; throws Error (invalid_argument) where there is none, naming what was attempted.
  static TaskScope& require(const char* attempted);
};

// Makes `scope` current until it is left; for the places that enter a scope and return.
class ScopeGuard {
 public:
  explicit ScopeGuard(TaskScope* scope) noexcept : outer_(detail::thread_step.scope) {
    detail::thread_step.scope = scope;
  }
  ~ScopeGuard() { detail::thread_step.scope = outer_; }
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;

 private:
  TaskScope* outer_;
};

}  // namespace ferry
