#include <ferry/tcp/dial_plan.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace ferry::tcp {
namespace {

constexpr int kRepeats = 6;
constexpr Duration kFirstRepeat = std::chrono::milliseconds(2);

}  // namespace

void DialPlan::begin(std::vector<std::string> targets, TimePoint until) {
  *this = DialPlan();
  targets_ = std::move(targets);
  until_ = until;
}

DialPlan::Attempt DialPlan::next(TimePoint now) {
  const Duration limit = std::max<Duration>((until_ - now) / static_cast<int>(targets_.size() - next_), Duration(1));
  return {targets_[next_++], limit};
}

std::optional<TimePoint> DialPlan::failed(const DialFailure& failure, TimePoint now) {
  const TimePoint again = saturating_add(now, kFirstRepeat * (1 << repeats_));
  if (failure.interrupted && repeats_ < kRepeats && again < until_) {
    return again;
  }
  failures_ += fmt::format("{}{}", failures_.empty() ? "" : "; ", failure.why.detail());
  all_refused_ &= failure.refused;
  if (is_an_answer(failure.why.code())) {
    answered_ = failure.why.code();
  }
  return std::nullopt;
}

void DialPlan::repeat() noexcept {
  ++repeats_;
  --next_;
}

Failure DialPlan::verdict(bool was_open, std::string nowhere) const {
  if (targets_.empty()) {
    return Failure(errc::peer_unreachable, std::move(nowhere));
  }
  return Failure(!was_open ? answered_ : is_refused() ? errc::peer_lost : errc::peer_unreachable, failures_);
}

// A process listens as long as it lives.
PeerState DialPlan::fate() const noexcept {
  return is_refused() ? PeerState::gone : PeerState::unknown;
}

}  // namespace ferry::tcp
