#include "units.hpp"

#include <array>
#include <cstddef>
#include <string_view>

#include <fmt/format.h>

namespace rdma_pingpong {
namespace {

using Units = std::array<std::string_view, 5>;

constexpr Units kDuration{"ns", "us", "ms", "s", "ks"};
constexpr Units kRate{"/s", "k/s", "M/s", "G/s", "T/s"};
constexpr Units kBandwidth{"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};

// The unit that leaves less than 1000, so that 999.5 is not written as 1000.
std::size_t choose_unit(double& value, const Units& units) {
  std::size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < units.size(); ++unit) {
    value /= 1000;
  }
  return unit;
}

std::string scaled(double value, const Units& units) {
  const std::size_t unit = choose_unit(value, units);
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, decimals, units[unit]);
}

std::string mark(double value, const Units& units) {
  const std::size_t unit = choose_unit(value, units);
  return fmt::format("{:.3g} {}", value, units[unit]);
}

}  // namespace

std::string size_text(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 4> kUnits{"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

std::string duration_text(double nanoseconds) {
  return scaled(nanoseconds, kDuration);
}
std::string rate_text(double per_second) {
  return scaled(per_second, kRate);
}
std::string bandwidth_text(double per_second) {
  return scaled(per_second, kBandwidth);
}

std::string duration_mark(double nanoseconds) {
  return mark(nanoseconds, kDuration);
}
std::string bandwidth_mark(double per_second) {
  return mark(per_second, kBandwidth);
}

}  // namespace rdma_pingpong
