#include <ferry/sim/process_clock.hpp>

#include <algorithm>

#include <ferry/base/check.hpp>

namespace ferry::sim {
namespace {

constexpr std::int64_t kMillion = 1'000'000;

// time * numerator / denominator, rounded down or up, without overflow; kNever stays.
TimePoint scaled(TimePoint from, TimePoint base, TimePoint new_base, std::int64_t numerator, std::int64_t denominator,
                 bool up) noexcept {
  if (from == kNever) {
    return kNever;
  }
  const std::int64_t time = (from - base).count();
  const std::int64_t whole = time / denominator;
  const std::int64_t rest = time % denominator;
  if (whole > Duration::max().count() / (2 * numerator)) {
    return kNever;  // beyond 140 years
  }
  const std::int64_t part = (rest * numerator + (up ? denominator - 1 : 0)) / denominator;
  return saturating_add(new_base, Duration(whole * numerator + part));
}

}  // namespace

void ProcessClock::set_drift(TimePoint world_now, std::int64_t drift) noexcept {
  FERRY_CHECK(drift >= -kMaxDrift && drift <= kMaxDrift);
  local_base_ = local(world_now);
  world_base_ = world_now;
  drift_ = drift;
  has_drifted_ = true;
}

TimePoint ProcessClock::local_of(TimePoint world) const noexcept {
  if (drift_ == 0) {
    return saturating_add(local_base_, world - world_base_);
  }
  return scaled(world, world_base_, local_base_, kMillion + drift_, kMillion, false);
}

TimePoint ProcessClock::world_of(TimePoint local) const noexcept {
  if (local == kNever || local <= local_base_) {
    return local == kNever ? kNever : world_base_;
  }
  if (drift_ == 0) {
    return saturating_add(world_base_, local - local_base_);
  }
  return scaled(local, local_base_, world_base_, kMillion, kMillion + drift_, true);
}

}  // namespace ferry::sim
