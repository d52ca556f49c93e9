// Report: what was measured, as a table for people or as one JSON object.
#pragma once

#include <string>
#include <vector>

#include "requester.hpp"
#include "settings.hpp"

namespace rdma_pingpong {

// The lines above the rows; the transport is known after the first measurement.
std::string table_head(const Settings& settings, const Measurement& first);
std::string table_row(const Measurement& measurement);
std::string table_foot(const std::vector<Measurement>& measurements);

// One measurement as an object, or those of a sweep as {"sweep": […]}. Ends without a new line.
std::string to_json(const Settings& settings, const std::vector<Measurement>& measurements);

}  // namespace rdma_pingpong
