// Trace: what happened in a world, step by step, for people and for comparison.
//
//   Trace trace;
//   run({.seed = 7, .trace = &trace}, ferry::actors<…>, program);
//   write(to_html(trace));                     // or to_perfetto(trace), or to_text(trace, 40)
//
// TraceSink is who is told; a world without one pays a branch per step. Owner: the caller of the World. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <ferry/base/time.hpp>
#include <ferry/sim/ids.hpp>
#include <ferry/sim/step.hpp>

namespace ferry::sim {

struct TracedStep {
  std::uint64_t index = 0;  // from 1, of all steps of the world
  TimePoint at{};
  ProcessNumber process{};  // whose; none: the world's
  StepKind kind{};
  std::uint64_t number = 0;  // which, among those of its kind: a channel's, an operation's
  Cause cause{};             // what it comes from; none: it is told of as it happens
  std::uint64_t hash = 0;    // of the world, up to and with this step
  std::uint64_t data = 0;
};

struct TracedEvent {
  enum class Kind : std::uint8_t {
    begins,  // a process does; the text is its name
    ends,    // and how
    log,     // it wrote a line
    fault,   // what struck
  };
  TimePoint at{};
  std::uint64_t index = 0;  // behind which step
  ProcessNumber process{};  // none: the world
  Kind kind{};
  std::string text;
};

class TraceSink {
 public:
  virtual void on_step(const TracedStep& step) = 0;
  virtual void on_event(const TracedEvent& event) = 0;

 protected:
  ~TraceSink() = default;
};

class Trace final : public TraceSink {
 public:
  // Keeps the last so many steps and events each.
  explicit Trace(std::size_t capacity = 100'000) : capacity_(capacity) {}

  void on_step(const TracedStep& step) override;
  void on_event(const TracedEvent& event) override;

  const std::deque<TracedStep>& steps() const noexcept { return steps_; }
  const std::deque<TracedEvent>& events() const noexcept { return events_; }
  // By number - 1: "worker/1", of all that ever began.
  const std::vector<std::string>& processes() const noexcept { return processes_; }
  std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  std::size_t capacity_;
  std::deque<TracedStep> steps_;
  std::deque<TracedEvent> events_;
  std::vector<std::string> processes_;
  std::uint64_t dropped_ = 0;
};

// "message", "sample", …; with its number: "message 3", "plan 1", "swarm 2".
std::string_view to_string(StepKind kind) noexcept;
std::string short_name(const TracedStep& step);
// Whether people want to see it: what is neither a job nor a timer.
constexpr bool is_told(StepKind kind) noexcept {
  return kind != StepKind::job && kind != StepKind::timer;
}

// "0.000012000 s  worker/1: message of channel 3, from root at 0.000010000 s".
std::string to_text(const TracedStep& step, const std::vector<std::string>& processes);
// "0.000012000 s  worker/1: log: text".
std::string to_text(const TracedEvent& event, const std::vector<std::string>& processes);
// The last lines, in order, without jobs and timers.
std::vector<std::string> last_lines(const Trace& trace, std::size_t lines);

// The trace as Chrome and Perfetto (ui.perfetto.dev) read it: a JSON object; a track per process, arrows for messages
// and operations.
std::string to_perfetto(const Trace& trace);

// One page that needs nothing else: a space-time diagram, a lane per process, time downward, and the last events.
// rows: at most so many steps, the last ones.
std::string to_html(const Trace& trace, std::string_view title, std::size_t rows = 400);

}  // namespace ferry::sim
