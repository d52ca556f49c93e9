// Time as core knows it: durations in nanoseconds and points on a clock that only an Executor can read.
//
// TimePoint has no epoch that means anything outside one executor: real transports use the monotonic clock, the
// simulator its virtual one. There is deliberately no now() here.
#pragma once

#include <chrono>
#include <cstdint>
#include <ratio>

namespace ferry {

using Duration = std::chrono::nanoseconds;

struct ExecutorClock {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = Duration;
  using time_point = std::chrono::time_point<ExecutorClock, Duration>;
  static constexpr bool is_steady = true;
};

using TimePoint = ExecutorClock::time_point;

inline constexpr TimePoint kNever = TimePoint::max();

// point + duration without overflow: a point past the end of time is kNever.
constexpr TimePoint saturating_add(TimePoint point, Duration duration) noexcept {
  if (duration > Duration::zero() && point > kNever - duration) {
    return kNever;
  }
  return point + duration;
}

}  // namespace ferry
