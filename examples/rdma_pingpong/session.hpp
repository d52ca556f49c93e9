// A session: the root's part of the program: finds its responder, measures, reports. Or: is the responder of another.
#pragma once

#include <ferry/ferry.hpp>

#include "settings.hpp"

namespace rdma_pingpong {

// Measures against a process of its own, or the server that settings.connect names; prints what was measured.
ferry::Task<int> measure_all(ferry::Context context, Settings settings);

// Prints its reference, serves one session of another host, and ends.
ferry::Task<int> serve(ferry::Context context);

}  // namespace rdma_pingpong
