// ProcessClock: what one simulated process takes for the time: the world's, running faster or slower.
//
// Never goes back. A value; owner: the process's executor. One thread.
#pragma once

#include <cstdint>

#include <ferry/base/time.hpp>

namespace ferry::sim {

class ProcessClock {
 public:
  static constexpr std::int64_t kMaxDrift = 100'000;  // millionths, either way: a tenth

  // Millionths by which it is faster (or, below zero, slower) than the world's: -kMaxDrift … kMaxDrift.
  std::int64_t drift() const noexcept { return drift_; }
  void set_drift(TimePoint world_now, std::int64_t drift) noexcept;

  TimePoint local(TimePoint world) const noexcept { return has_drifted_ ? local_of(world) : world; }
  // The first moment of the world at which the process's clock shows that time or a later one.
  TimePoint world(TimePoint local) const noexcept { return has_drifted_ ? world_of(local) : local; }

 private:
  TimePoint local_of(TimePoint world) const noexcept;
  TimePoint world_of(TimePoint local) const noexcept;

  bool has_drifted_ = false;  // ever
  std::int64_t drift_ = 0;
  TimePoint world_base_{};  // at which it was set
  TimePoint local_base_{};
};

}  // namespace ferry::sim
