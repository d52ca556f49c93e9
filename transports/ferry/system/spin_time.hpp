// SpinTime: how long the leader polls before it sleeps: the full time, unless that was of no use lately.
//
// A spin costs others the core: who is to bring what is waited for may be next on the very same one (a woken thread runs
// where its waker ran, and a peer where it was last), and then nothing comes until the spin is over. So after some spins
// in a row that ended in a sleep they become short, but for a long one now and then that finds out whether it helps.
// Used by the thread that leads, or under the same exclusion.
#pragma once

#include <cstdint>

#include <ferry/base/time.hpp>

namespace ferry::system {

class SpinTime {
 public:
  static constexpr std::uint32_t kVain = 4;         // such spins in a row before they become short
  static constexpr std::uint32_t kTryEvery = 16;    // of short spins one is long,
  static constexpr Duration::rep kTryLength = 2;    // twice as long as usual: whoever answers may have to wake first
  static constexpr Duration::rep kShortOf = 16;     // a short spin is this part of the full time

  explicit SpinTime(Duration full) noexcept : full_(full) {}

  // How long the spin that begins now may last.
  Duration next() noexcept {
    if (vain_ < kVain) {
      return full_;
    }
    return ++short_spins_ % kTryEvery == 0 ? full_ * kTryLength : full_ / kShortOf;
  }
  // Something came after `waited`: later than a short spin would have lasted, spinning is of use.
  void found(Duration waited) noexcept {
    if (waited > full_ / kShortOf) {
      vain_ = 0;
    }
  }
  // It ended in a sleep.
  void in_vain() noexcept { vain_ += vain_ < kVain ? 1 : 0; }

 private:
  const Duration full_;
  std::uint32_t vain_ = 0;
  std::uint32_t short_spins_ = 0;
};

}  // namespace ferry::system
