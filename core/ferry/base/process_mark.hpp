// The process mark: tells a fork of a process from the process itself (contract: errc::wrong_process).
//
// `system` calls mark_fork() in the child of every fork (pthread_atfork). Executors remember the mark they were made
// under; whatever runs on one of another mark refuses. Spawning by exec begins with a mark of its own. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace ferry {

class Failure;

namespace detail {
inline constinit std::atomic<std::uint32_t> process_mark_value{0};
}  // namespace detail

// How many forks lie between the program that was executed and this process. One relaxed load.
inline std::uint32_t process_mark() noexcept {
  return detail::process_mark_value.load(std::memory_order_relaxed);
}

// In the child of a fork, before anything else of ferry runs there.
inline void mark_fork() noexcept {
  detail::process_mark_value.fetch_add(1, std::memory_order_relaxed);
}

// wrong_process, with the remedy.
Failure made_before_fork();

}  // namespace ferry
