// What a thread or the process does besides taking time, counted: allocations and system calls.
#pragma once

#include <cstdint>

namespace ferry::run_tests {

// Calls of operator new so far: of the calling thread, of the process. counted.cpp replaces it.
std::uint64_t allocations_of_thread() noexcept;
std::uint64_t allocations() noexcept;

// Notices whether the calling thread makes a system call while it lives. (The kernel hands each one to a signal
// handler: Syscall User Dispatch, Linux 5.11 on x86-64.) One at a time; made and destroyed on the same thread.
class SystemCallTrap {
 public:
  // False where the kernel cannot: nothing is noticed then.
  static bool is_supported() noexcept;

  SystemCallTrap() noexcept;
  SystemCallTrap(const SystemCallTrap&) = delete;
  SystemCallTrap& operator=(const SystemCallTrap&) = delete;
  ~SystemCallTrap();

  // The number of the first one; -1: there was none.
  long first() const noexcept;
};

}  // namespace ferry::run_tests
