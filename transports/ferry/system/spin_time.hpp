// SpinTime: how long the leader polls before it sleeps: the full time, unless that was of no use lately.
//
// A spin costs others the core: who is to bring what is waited for may be next on the very same one (a woken thread
// runs where its waker ran, and a peer where it was last), and then nothing comes until the spin is over. So after some
// spins in a row that ended in a sleep, of which none was long, they become short, but for a long one now and then that
// finds out whether it helps. Used by the thread that leads, or under the same exclusion.
#pragma once

#include <bit>
#include <chrono>
#include <cstdint>

#include <ferry/base/time.hpp>

namespace ferry::system {

class SpinTime {
 public:
  static constexpr std::uint32_t kVain = 4;       // such spins in a row before they become short
  static constexpr Duration::rep kShortOf = 16;   // a short spin is this part of the full time
  static constexpr std::uint32_t kFirstTry = 8;   // of the short spins this one is long, and at twice the number again,
  static constexpr std::uint32_t kTryEvery = 64;  // and in the end so often;
  static constexpr Duration::rep kTryLength = 2;  // twice the full time, as whoever answers may have to wake first
  static constexpr Duration kForget = std::chrono::milliseconds(1);  // after such a sleep it begins anew

  explicit SpinTime(Duration full) noexcept : full_(full) {}

  // How long the spin that begins at `now` may last.
  Duration next(TimePoint now) noexcept {
    if (now - slept_at_ >= kForget) {
      vain_ = 0;
    }
    if (vain_ < kVain) {
      return full_;
    }
    ++short_spins_;
    const bool tries =
        short_spins_ % kTryEvery == 0 || (short_spins_ >= kFirstTry && std::has_single_bit(short_spins_));
    return tries ? full_ * kTryLength : full_ / kShortOf;
  }
  // Something came after `waited`: later than a short spin would have lasted, spinning is of use.
  void found(Duration waited) noexcept {
    if (waited > full_ / kShortOf) {
      vain_ = 0;
    }
  }
  // The spin ends in a sleep now.
  void in_vain(TimePoint now) noexcept {
    slept_at_ = now;
    if (vain_ < kVain && ++vain_ == kVain) {
      short_spins_ = 0;
    }
  }

 private:
  const Duration full_;
  TimePoint slept_at_{};
  std::uint32_t vain_ = 0;
  std::uint32_t short_spins_ = 0;
};

}  // namespace ferry::system
