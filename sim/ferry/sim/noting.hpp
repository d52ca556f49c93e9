// What a world that may not come to an end of its own notes on its way: its choices, and what happens. Internal to
// explore().
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ferry/sim/choice_list.hpp>
#include <ferry/sim/crew.hpp>
#include <ferry/sim/trace.hpp>

namespace ferry::sim {

class NotingChoices final : public ChoiceSource {
 public:
  NotingChoices(ChoiceSource& source, const Crew::Note& note) : recording_(source), note_(note) {}

  std::uint64_t choose(const Question& question) noexcept override {
    const std::uint64_t answer = recording_.choose(question);
    if (answer != 0) {
      note_(to_text(ChoiceList{recording_.choices().back()}));
    }
    return answer;
  }

  // Noted as well where it is not left out: who makes the failure small has to know what could be.
  bool leaves_out(std::uint64_t subject) noexcept override {
    const bool is_left_out = recording_.leaves_out(subject);
    const std::uint64_t ordinal = parts_.next({ChoiceKind::omit, 2, subject});
    note_(to_text(ChoiceList{{ChoiceKind::omit, subject, ordinal, is_left_out ? 1U : 0U}}));
    return is_left_out;
  }

 private:
  RecordingChoices recording_;
  QuestionCounter parts_;
  const Crew::Note& note_;
};

class NotingTrace final : public TraceSink {
 public:
  explicit NotingTrace(const Crew::Note& note) : names_(1), note_(note) {}

  void on_step(const TracedStep& step) override {
    if (is_told(step.kind)) {
      note_(to_text(step, names_.processes()) + "\n");
    }
  }
  void on_event(const TracedEvent& event) override {
    names_.on_event(event);
    note_(to_text(event, names_.processes()) + "\n");
  }

 private:
  Trace names_;
  const Crew::Note& note_;
};

// The last lines that are whole.
inline std::vector<std::string> last_noted_lines(std::string_view notes, std::size_t count) {
  std::vector<std::string> lines;
  notes = notes.substr(0, notes.rfind('\n') + 1);
  while (!notes.empty() && lines.size() < count) {
    notes.remove_suffix(1);
    const std::size_t start = notes.rfind('\n') + 1;
    lines.emplace_back(notes.substr(start));
    notes = notes.substr(0, start);
  }
  std::reverse(lines.begin(), lines.end());
  return lines;
}

}  // namespace ferry::sim
