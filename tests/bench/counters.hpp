// What an operation costs besides time: system calls of whole processes, allocations of this one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include <allocation_counter.hpp>

namespace ferry_bench {

using ferry::test::allocations;

// Counts the system calls that the present threads of some processes enter, from its creation on, exactly (the kernel's
// tracepoint). Needs the right to trace and /sys/kernel/tracing mounted.
class SystemCallCounter {
 public:
  // None where the kernel does not let us count.
  static std::optional<SystemCallCounter> create(std::initializer_list<pid_t> processes);
  SystemCallCounter(SystemCallCounter&& other) noexcept
      : descriptors_(std::exchange(other.descriptors_, {})), last_(other.last_), own_(other.own_) {}
  SystemCallCounter& operator=(SystemCallCounter&&) = delete;
  ~SystemCallCounter();

  // Since the creation or the last take(); the counter's own calls are not among them.
  std::uint64_t take() noexcept;

 private:
  SystemCallCounter() = default;
  std::uint64_t read_all() const noexcept;

  std::vector<int> descriptors_;
  std::uint64_t last_ = 0;
  std::uint64_t own_ = 0;  // calls that one reading adds to the next
};

}  // namespace ferry_bench
