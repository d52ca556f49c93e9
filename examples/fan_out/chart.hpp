// chart: when each worker had everything, one curve for each way, as SVG: workers from left to right, time upwards on a
// logarithmic axis, and below all curves what no way can beat.
#pragma once

#include <string>
#include <vector>

#include "spread.hpp"

namespace fan_out {

std::string to_svg(const Settings& settings, const std::vector<Outcome>& outcomes);

}  // namespace fan_out
