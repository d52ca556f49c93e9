// What a program allocates: calls of operator new, which allocation_counter.cpp replaces (link
// ferry_allocation_counter).
#pragma once

#include <cstdint>

namespace ferry::test {

// Calls so far: of the process, of the calling thread.
std::uint64_t allocations() noexcept;
std::uint64_t allocations_of_thread() noexcept;
// Bytes that the process has asked for so far.
std::uint64_t allocated_bytes() noexcept;

}  // namespace ferry::test
