#include <ferry/system/parker.hpp>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace ferry::system {
namespace {

// std::atomic::wait would spin first, which is the business of whoever decides to park.
void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value) noexcept {
  static_assert(sizeof word == sizeof(std::uint32_t) && std::atomic<std::uint32_t>::is_always_lock_free);
  ::syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

}  // namespace

void Parker::park() noexcept {
  std::uint32_t expected = kEmpty;
  if (state_.compare_exchange_strong(expected, kParked, std::memory_order_acq_rel)) {
    while (state_.load(std::memory_order_acquire) == kParked) {
      futex(state_, FUTEX_WAIT, kParked);
    }
  }
  state_.exchange(kEmpty, std::memory_order_acquire);
}

void Parker::wake() noexcept {
  if (state_.exchange(kWoken, std::memory_order_acq_rel) == kParked) {
    futex(state_, FUTEX_WAKE, 1);
  }
}

}  // namespace ferry::system
