#include "samples.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

namespace ferry_bench {

double Series::median() const {
  if (values_.empty()) {
    return 0;
  }
  std::vector<double> sorted = values_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

void report(const std::string& name, double value) {
  fmt::print("{{\"name\": \"{}\", \"value\": {:.4f}}}\n", name, value);
  std::fflush(stdout);
}

std::string size_name(std::size_t bytes) {
  constexpr std::size_t kKi = 1024;
  return bytes % (kKi * kKi) == 0 && bytes > 0 ? fmt::format("{}Mi", bytes / (kKi * kKi))
         : bytes % kKi == 0 && bytes > 0       ? fmt::format("{}Ki", bytes / kKi)
                                               : fmt::format("{}", bytes);
}

}  // namespace ferry_bench
