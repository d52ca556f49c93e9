#include "histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace rdma_pingpong {
namespace {

// Each power of two is cut into 2^kBits buckets; below 2^kBits a bucket is one picosecond.
constexpr unsigned kBits = 7;
constexpr std::size_t kSteps = std::size_t{1} << kBits;
constexpr std::size_t kBuckets = (64 - kBits + 1) * kSteps;

std::size_t bucket_of(std::uint64_t value) noexcept {
  if (value < kSteps) {
    return value;
  }
  const auto shift = static_cast<unsigned>(std::bit_width(value)) - kBits - 1;
  return (shift + 1) * kSteps + ((value >> shift) - kSteps);
}

// The middle of a bucket.
std::uint64_t value_of(std::size_t bucket) noexcept {
  if (bucket < kSteps) {
    return bucket;
  }
  const std::size_t shift = bucket / kSteps - 1;
  const std::uint64_t low = (bucket % kSteps + kSteps) << shift;
  return low + ((std::uint64_t{1} << shift) >> 1);
}

}  // namespace

Histogram::Histogram() : buckets_(kBuckets) {}

void Histogram::record(std::uint64_t total, std::uint64_t count) {
  const std::uint64_t value = total / count;
  buckets_[bucket_of(value)] += count;
  count_ += count;
  ++samples_;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
  total_ += static_cast<double>(total);
}

void Histogram::clear() {
  std::fill(buckets_.begin(), buckets_.end(), 0);
  count_ = 0;
  samples_ = 0;
  min_ = UINT64_MAX;
  max_ = 0;
  total_ = 0;
}

double Histogram::mean() const noexcept {
  return count_ == 0 ? 0 : total_ / static_cast<double>(count_);
}

std::uint64_t Histogram::percentile(double quantile) const noexcept {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(quantile * static_cast<double>(count_)));
  // The first and the last are known exactly.
  if (wanted <= 1) {
    return min();
  }
  if (wanted >= count_) {
    return max_;
  }
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    seen += buckets_[bucket];
    if (seen >= wanted) {
      return std::clamp(value_of(bucket), min_, max_);
    }
  }
  return max_;
}

std::optional<std::uint64_t> Histogram::tail(double quantile) const noexcept {
  const auto needed = static_cast<std::uint64_t>(std::llround(1 / (1 - quantile)));
  return samples_ < needed ? std::nullopt : std::optional(percentile(quantile));
}

}  // namespace rdma_pingpong
