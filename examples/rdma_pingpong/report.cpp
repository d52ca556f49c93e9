#include "report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "units.hpp"

namespace rdma_pingpong {
namespace {

constexpr const char* kColumns = "{:>8} {:>10} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>9} {:>6}\n";

// A tenth of a nanosecond is more than was measured.
double rounded(double nanoseconds) {
  return std::round(nanoseconds * 10) / 10;
}

nlohmann::ordered_json tail_of(const std::optional<double>& nanoseconds) {
  return nanoseconds ? nlohmann::ordered_json(rounded(*nanoseconds)) : nlohmann::ordered_json();
}
std::string tail_text(const std::optional<double>& nanoseconds) {
  return nanoseconds ? duration_text(*nanoseconds) : "n/a";
}

nlohmann::ordered_json object_of(const Measurement& measurement) {
  const Latency& latency = measurement.latency;
  nlohmann::ordered_json object;
  object["transport"] = measurement.transport;
  object["op"] = to_string(measurement.workload.op);
  object["size_bytes"] = measurement.workload.size;
  object["depth"] = measurement.workload.depth;
  object["iterations"] = measurement.workload.iterations;
  object["warmup"] = measurement.workload.warmup;
  object["group_size"] = measurement.group;
  object["clock_ns"] = rounded(measurement.clock);
  object["latency_ns"] = {{"min", rounded(latency.min)}, {"p50", rounded(latency.p50)},
                          {"p99", tail_of(latency.p99)}, {"p999", tail_of(latency.p999)},
                          {"max", rounded(latency.max)}, {"mean", rounded(latency.mean)}};
  object["bandwidth_bytes_per_s"] = std::llround(measurement.bytes_per_second());
  object["ops_per_s"] = std::llround(measurement.operations_per_second());
  object["verified"] = measurement.verified;
  return object;
}

}  // namespace

std::string table_head(const Settings& settings, const Measurement& first) {
  return fmt::format("{} over {}, depth {}{}\n", to_string(settings.op), first.transport, settings.depth,
                     first.transport == "sim" ? "; times are simulated" : "") +
         fmt::format(kColumns, "size", "operations", "min", "p50", "p99", "p99.9", "max", "mean", "rate", "bandwidth",
                     "group");
}

std::string table_row(const Measurement& measurement) {
  const Latency& latency = measurement.latency;
  return fmt::format(kColumns, size_text(measurement.workload.size), measurement.workload.iterations,
                     duration_text(latency.min), duration_text(latency.p50), tail_text(latency.p99),
                     tail_text(latency.p999), duration_text(latency.max), duration_text(latency.mean),
                     rate_text(measurement.operations_per_second()), bandwidth_text(measurement.bytes_per_second()),
                     measurement.group);
}

std::string table_foot(const std::vector<Measurement>& measurements) {
  const Measurement& last = measurements.back();
  std::string text;
  const bool grouped = std::any_of(measurements.begin(), measurements.end(),
                                   [](const Measurement& measurement) { return measurement.group > 1; });
  if (grouped) {
    text += fmt::format(
        "A clock reading takes {}: shorter operations are timed in groups, and their columns are of "
        "group means.\n",
        duration_text(last.clock));
  }
  if (std::any_of(measurements.begin(), measurements.end(),
                  [](const Measurement& measurement) { return !measurement.latency.p999; })) {
    text += "n/a: p99 needs 100 timings, p99.9 needs 1000; give --iterations.\n";
  }
  if (last.verified) {
    text += "verified: contents and guard bytes\n";
  }
  return text;
}

std::string to_json(const Settings& settings, const std::vector<Measurement>& measurements) {
  if (!settings.sweep) {
    return object_of(measurements.front()).dump();
  }
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Measurement& measurement : measurements) {
    list.push_back(object_of(measurement));
  }
  return nlohmann::ordered_json{{"sweep", list}}.dump();
}

}  // namespace rdma_pingpong
