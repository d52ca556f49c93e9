// Samples: what one run of ferry_bench measured, printed as lines of JSON that ci/bench collects.
//
// A figure is the median of several short loops; loops that are compared take turns, so that whatever else the machine
// does meets both alike. One thread.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace ferry_bench {

using Clock = std::chrono::steady_clock;

// Since `begin`, per operation.
inline double nanoseconds_each(Clock::time_point begin, double operations) noexcept {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / operations;
}

// Values of one figure.
class Series {
 public:
  void add(double value) { values_.push_back(value); }
  double median() const;  // 0 of none

 private:
  std::vector<double> values_;
};

// {"name": …, "value": …}. Nanoseconds, bytes or counts: the name's last part tells which.
void report(const std::string& name, double value);

// "8", "4Ki", "64Mi".
std::string size_name(std::size_t bytes);

}  // namespace ferry_bench
