// Parker: where one thread sleeps until another wakes it. A wake before the sleep is kept; two count as one.
//
// Owner: the thread that sleeps in it. One futex call for a sleep and one for a wake; none if the wake comes first.
#pragma once

#include <atomic>
#include <cstdint>

namespace ferry::system {

class Parker {
 public:
  // The owner. Returns after a wake().
  void park() noexcept;

  // Any thread.
  void wake() noexcept;

 private:
  enum : std::uint32_t { kEmpty, kWoken, kParked };

  std::atomic<std::uint32_t> state_{kEmpty};
};

}  // namespace ferry::system
