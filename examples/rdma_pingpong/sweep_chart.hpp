// The chart of a sweep: latency and bandwidth over the size.
#pragma once

#include <vector>

#include "chart.hpp"
#include "requester.hpp"

namespace rdma_pingpong {

// Of at least one measurement.
Chart sweep_chart(const std::vector<Measurement>& measurements);

}  // namespace rdma_pingpong
