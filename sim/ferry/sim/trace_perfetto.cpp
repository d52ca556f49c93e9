// A trace in the JSON of Chrome's trace viewer, which Perfetto reads: "Trace Event Format", with times in microseconds.
#include <ferry/sim/trace.hpp>

#include <array>

#include <fmt/format.h>

namespace ferry::sim {
namespace {

// A string of JSON, with its quotes. What is no valid UTF-8 is the writer's affair; control characters are escaped.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') {
      out += '\\';
      out += letter;
    } else if (static_cast<unsigned char>(letter) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(letter));
    } else {
      out += letter;
    }
  }
  return out + '"';
}

std::string microseconds(TimePoint at) {
  const auto nanoseconds = at.time_since_epoch().count();
  return fmt::format("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
}

}  // namespace

std::string to_perfetto(const Trace& trace) {
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  bool is_first = true;
  const auto add = [&](const std::string& entry) {
    out += is_first ? "\n" : ",\n";
    out += entry;
    is_first = false;
  };
  add(R"({"ph":"M","pid":0,"name":"process_name","args":{"name":"world"}})");
  for (std::size_t index = 0; index < trace.processes().size(); ++index) {
    add(fmt::format(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}})", index + 1,
                    quoted(trace.processes()[index])));
  }
  std::map<std::uint64_t, const TracedStep*> kept;
  for (const TracedStep& step : trace.steps()) {
    kept.emplace(step.index, &step);
  }
  for (const TracedStep& step : trace.steps()) {
    add(fmt::format(R"({{"ph":"X","pid":{},"tid":1,"ts":{},"dur":0.001,"name":{},"args":{{"number":{},"step":{}}}}})",
                    step.process.value(), microseconds(step.at), quoted(to_string(step.kind)), step.number,
                    step.index));
    const auto cause = kept.find(step.cause.step);
    if (step.cause.process == step.process || cause == kept.end() || !is_told(step.kind)) {
      continue;
    }
    const std::string name = quoted(to_string(step.kind));
    add(fmt::format(R"({{"ph":"s","pid":{},"tid":1,"ts":{},"id":{},"name":{},"cat":"flow"}})",
                    step.cause.process.value(), microseconds(cause->second->at), step.index, name));
    add(fmt::format(R"({{"ph":"f","bp":"e","pid":{},"tid":1,"ts":{},"id":{},"name":{},"cat":"flow"}})",
                    step.process.value(), microseconds(step.at), step.index, name));
  }
  for (const TracedEvent& event : trace.events()) {
    constexpr std::array<std::string_view, 4> kKinds{"begins", "ends", "log", "fault"};
    add(fmt::format(R"({{"ph":"i","s":"p","pid":{},"tid":1,"ts":{},"name":{},"args":{{"text":{}}}}})",
                    event.process.value(), microseconds(event.at), quoted(kKinds[static_cast<std::size_t>(event.kind)]),
                    quoted(event.text)));
  }
  return out + "\n]}\n";
}

}  // namespace ferry::sim
