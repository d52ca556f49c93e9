#include "sweep_chart.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "units.hpp"

namespace rdma_pingpong {
namespace {

constexpr const char* kBlue = "#0072b2";
constexpr const char* kOrange = "#d55e00";
constexpr const char* kGreen = "#009e73";

// A curve of one latency, where there is one; nothing is 0 on a logarithmic axis.
Curve latency_curve(const std::vector<Measurement>& measurements, const char* name, const char* colour, bool dashed,
                    std::optional<double> (*latency)(const Latency&)) {
  Curve curve{name, colour, dashed, {}};
  for (const Measurement& measurement : measurements) {
    const std::optional<double> measured = latency(measurement.latency);
    if (!measured) {
      continue;
    }
    const double nanoseconds = std::max(*measured, 0.1);
    curve.points.push_back(
        {static_cast<double>(measurement.workload.size), nanoseconds,
         fmt::format("{}: {} {}", size_text(measurement.workload.size), name, duration_text(nanoseconds))});
  }
  return curve;
}

Curve bandwidth_curve(const std::vector<Measurement>& measurements) {
  Curve curve{"bandwidth", kGreen, false, {}};
  for (const Measurement& measurement : measurements) {
    const double bandwidth = std::max(measurement.bytes_per_second(), 1.0);
    curve.points.push_back({static_cast<double>(measurement.workload.size), bandwidth,
                            fmt::format("{}: {}", size_text(measurement.workload.size), bandwidth_text(bandwidth))});
  }
  return curve;
}

}  // namespace

Chart sweep_chart(const std::vector<Measurement>& measurements) {
  const Measurement& first = measurements.front();
  Chart chart;
  chart.title = fmt::format("rdma_pingpong: {} over {}", to_string(first.workload.op), first.transport);
  chart.note = fmt::format("depth {}{}", first.workload.depth,
                           first.workload.verify ? "; contents and guard bytes verified" : "");
  chart.x_name = "size of an operation";
  for (std::uint64_t mark = first.workload.size; mark <= measurements.back().workload.size; mark *= 8) {
    chart.x_marks.push_back(static_cast<double>(mark));
  }
  chart.x_label = [](double bytes) { return size_text(static_cast<std::uint64_t>(bytes)); };
  Panel latency{"latency", duration_mark, {}};
  Curve p99 = latency_curve(measurements, "p99", kOrange, true, [](const Latency& one) { return one.p99; });
  if (!p99.points.empty()) {
    latency.curves.push_back(std::move(p99));
  }
  latency.curves.push_back(
      latency_curve(measurements, "p50", kBlue, false, [](const Latency& one) { return std::optional(one.p50); }));
  chart.panels.push_back(std::move(latency));
  chart.panels.push_back({"bandwidth", bandwidth_mark, {bandwidth_curve(measurements)}});
  return chart;
}

}  // namespace rdma_pingpong
