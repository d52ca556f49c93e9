#include <ferry/sim/trace.hpp>

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <ferry/sim/swarm.hpp>
#include <ferry/sim/virtual_time.hpp>

namespace ferry::sim {
namespace {

std::string name_of(ProcessNumber process, const std::vector<std::string>& processes) {
  if (!process) {
    return "world";
  }
  const std::size_t index = process.value() - std::size_t{1};
  return index < processes.size() ? processes[index] : fmt::format("process {}", process.value());
}

std::string_view subject_of(StepKind kind) noexcept {
  switch (kind) {
    case StepKind::connect:
    case StepKind::end_channel:
    case StepKind::message:
      return " of channel ";
    case StepKind::sample:
    case StepKind::place:
      return " of operation ";
    case StepKind::memory:
      return " of region ";
    default:
      return {};
  }
}

}  // namespace

std::string_view to_string(StepKind kind) noexcept {
  constexpr std::array<std::string_view, 14> kNames{"none",    "job",         "timer",   "plan",   "lifecycle",
                                                    "connect", "end_channel", "message", "sample", "place",
                                                    "memory",  "packet",      "retry",   "poll"};
  const auto index = static_cast<std::size_t>(kind);
  return index < kNames.size() ? kNames[index] : "step";
}

std::string short_name(const TracedStep& step) {
  if (step.kind == StepKind::plan && step.number > Swarm::kNumbers) {
    return fmt::format("swarm {}", step.number - Swarm::kNumbers);
  }
  return fmt::format("{} {}", to_string(step.kind), step.number);
}

void Trace::on_step(const TracedStep& step) {
  if (steps_.size() == capacity_) {
    steps_.pop_front();
    ++dropped_;
  }
  steps_.push_back(step);
}

void Trace::on_event(const TracedEvent& event) {
  if (event.kind == TracedEvent::Kind::begins) {
    processes_.resize(std::max<std::size_t>(processes_.size(), event.process.value()));
    processes_[event.process.value() - std::size_t{1}] = event.text;
  }
  if (events_.size() == capacity_) {
    events_.pop_front();
  }
  events_.push_back(event);
}

std::string to_text(const TracedStep& step, const std::vector<std::string>& processes) {
  const std::string_view subject = subject_of(step.kind);
  const std::string what =
      subject.empty() ? short_name(step) : fmt::format("{}{}{}", to_string(step.kind), subject, step.number);
  std::string text =
      fmt::format("{}  {}: {}", seconds(step.at.time_since_epoch()), name_of(step.process, processes), what);
  if (step.cause && step.cause.process != step.process && step.kind != StepKind::plan) {
    text += fmt::format(", from {} at {}", name_of(step.cause.process, processes),
                        seconds(step.cause.at.time_since_epoch()));
  }
  return text;
}

std::string to_text(const TracedEvent& event, const std::vector<std::string>& processes) {
  constexpr std::array<std::string_view, 4> kKinds{"begins", "ends: ", "log: ", "fault: "};
  const bool is_name = event.kind == TracedEvent::Kind::begins;
  return fmt::format("{}  {}: {}{}", seconds(event.at.time_since_epoch()), name_of(event.process, processes),
                     kKinds[static_cast<std::size_t>(event.kind)], is_name ? "" : event.text);
}

// Merged from the end, where each list is in order.
std::vector<std::string> last_lines(const Trace& trace, std::size_t lines) {
  std::vector<std::string> texts;
  auto step = trace.steps().rbegin();
  auto event = trace.events().rbegin();
  while (texts.size() < lines) {
    while (step != trace.steps().rend() && !is_told(step->kind)) {
      ++step;
    }
    const bool has_step = step != trace.steps().rend();
    const bool has_event = event != trace.events().rend();
    if (!has_step && !has_event) {
      break;
    }
    if (has_event && (!has_step || event->index >= step->index)) {
      texts.push_back(to_text(*event++, trace.processes()));
    } else {
      texts.push_back(to_text(*step++, trace.processes()));
    }
  }
  std::reverse(texts.begin(), texts.end());
  return texts;
}

}  // namespace ferry::sim
