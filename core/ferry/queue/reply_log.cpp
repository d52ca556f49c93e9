#include <ferry/queue/reply_log.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <ferry/queue/queue_limits.hpp>

namespace ferry::queue {

Result<const ReplyLog::Reply*> ReplyLog::find(std::uint64_t number, std::uint64_t acknowledged) {
  acknowledged_ = std::max(acknowledged_, acknowledged);
  replies_.erase(replies_.begin(), replies_.upper_bound(acknowledged_));
  if (number <= acknowledged_) {
    return Failure(errc::malformed, fmt::format("atomic {} comes again, though {} and all before it were acknowledged",
                                                number, acknowledged_));
  }
  const auto found = replies_.find(number);
  if (found != replies_.end()) {
    return &found->second;
  }
  if (replies_.size() >= 2 * kAtomics) {
    return Failure(errc::malformed,
                   fmt::format("{} atomics are unacknowledged, at most {} expected", replies_.size(), 2 * kAtomics));
  }
  return nullptr;
}

}  // namespace ferry::queue
