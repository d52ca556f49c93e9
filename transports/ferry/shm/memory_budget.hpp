// MemoryBudget: how much more memory this process may take before the kernel kills instead of refusing.
//
// Looks at the host (MemAvailable) and at every memory cgroup from the process's own up to the root, of both versions.
// An answer of this moment: others take memory too, so large reservations ask again as they go. Any thread. Costs a
// few file reads (some 100 µs), so it is asked once for each segment, not for each allocation.
#pragma once

#include <cstdint>
#include <string>

#include <ferry/base/result.hpp>

namespace ferry::shm {

struct MemoryRoom {
  std::uint64_t bytes = UINT64_MAX;
  std::string limit;  // which limit says so, for people; empty: none is known
};

class MemoryBudget {
 public:
  // Kept free for what the kernel and others charge meanwhile.
  static constexpr std::uint64_t kMargin = std::uint64_t{16} << 20;

  // root: put before every path that is read; for tests.
  explicit MemoryBudget(std::string root = {}) : root_(std::move(root)) {}

  // The least room that any limit leaves, less kMargin.
  MemoryRoom room() const;

  // resource_exhausted, naming the bytes needed, those free, the limit and the remedy, if there is not so much room.
  Result<void> check(std::uint64_t bytes) const;

 private:
  std::string root_;
};

}  // namespace ferry::shm
