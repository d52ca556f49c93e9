// Whether a thread makes a system call.
#pragma once

namespace ferry::run_tests {

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
