// DialPlan: which address of a process is tried next and for how long, when one is tried again, and what the failures
// of all of them say. A value; guarded by the lock of whoever dials.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <ferry/tcp/dialer.hpp>

namespace ferry::tcp {

class DialPlan {
 public:
  struct Attempt {
    std::string target;
    Duration limit{};  // its share of the time that is left
  };

  // From the first address on; none is tried again after `until`.
  void begin(std::vector<std::string> targets, TimePoint until);

  bool is_over() const noexcept { return next_ == targets_.size(); }  // all were tried
  Attempt next(TimePoint now);

  // The latest attempt has failed: when it is made again, at first soon, as it was cut during its handshake; none: it
  // counts as a failure.
  std::optional<TimePoint> failed(const DialFailure& failure, TimePoint now);
  // It is to be made again now.
  void repeat() noexcept;

  // Of all attempts. was_open: the process was reached before. nowhere: what is said where it has no address.
  Failure verdict(bool was_open, std::string nowhere) const;
  PeerState fate() const noexcept;

 private:
  bool is_refused() const noexcept { return !targets_.empty() && all_refused_; }

  std::vector<std::string> targets_;
  std::size_t next_ = 0;
  TimePoint until_{};
  int repeats_ = 0;
  std::string failures_;
  bool all_refused_ = true;
  errc answered_ = errc::peer_unreachable;  // with which refusal a ferry process answered, if one did
};

}  // namespace ferry::tcp
