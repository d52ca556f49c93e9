// Virtual time as text.
#pragma once

#include <string>

#include <fmt/format.h>

#include <ferry/base/time.hpp>

namespace ferry::sim {

// "0.000251000 s".
inline std::string seconds(Duration time) {
  return fmt::format("{}.{:09} s", time.count() / 1'000'000'000, time.count() % 1'000'000'000);
}

}  // namespace ferry::sim
