// Histogram: counts of durations in picoseconds, in buckets that grow with the value: percentiles are right to 0.8 %,
// the least, the greatest and the mean are exact. Its size is fixed: recording allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rdma_pingpong {

class Histogram {
 public:
  Histogram();

  // `count` operations that took `total` picoseconds together: one sample, counted as that many of their mean.
  void record(std::uint64_t total, std::uint64_t count);
  void clear();

  std::uint64_t count() const noexcept { return count_; }

  // All in picoseconds; 0 while nothing is recorded.
  std::uint64_t min() const noexcept { return count_ == 0 ? 0 : min_; }
  std::uint64_t max() const noexcept { return max_; }
  double mean() const noexcept;
  // The value that a share of `quantile` (0 to 1) of the operations did not exceed.
  std::uint64_t percentile(double quantile) const noexcept;
  // The same where there are samples for it, one at least beyond the quantile: 100 for the 99th percentile.
  std::optional<std::uint64_t> tail(double quantile) const noexcept;

 private:
  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  std::uint64_t samples_ = 0;
  std::uint64_t min_ = UINT64_MAX;
  std::uint64_t max_ = 0;
  double total_ = 0;
};

}  // namespace rdma_pingpong
