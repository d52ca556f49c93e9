// ChoiceList: the answers that made a run what it was, written down. With the seed and options they are the run.
//
// Only answers other than 0 are listed. Each is named by kind, subject and how many questions of both came before, so
// that leaving one out leaves the others where they were; a question that the list does not answer gets 0.
// RecordingChoices writes one while another source answers; ReplayChoices answers from one. One thread.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ferry/base/result.hpp>
#include <ferry/sim/choices.hpp>

namespace ferry::sim {

struct Choice {
  ChoiceKind kind{};
  std::uint64_t subject = 0;
  std::uint64_t ordinal = 0;
  std::uint64_t answer = 0;
  friend auto operator<=>(const Choice&, const Choice&) = default;
};

// In the order of being asked where it was recorded.
using ChoiceList = std::vector<Choice>;

// A line for each: "next 0 17 2": kind, subject, ordinal, answer. malformed, with the line: anything else.
std::string to_text(const ChoiceList& choices);
Result<ChoiceList> parse_choices(std::string_view text);

// Counts questions, by kind and subject.
class QuestionCounter {
 public:
  std::uint64_t next(const Question& question) { return asked_[{question.kind, question.subject}]++; }

 private:
  std::map<std::pair<ChoiceKind, std::uint64_t>, std::uint64_t> asked_;
};

class RecordingChoices final : public ChoiceSource {
 public:
  explicit RecordingChoices(ChoiceSource& source) noexcept : source_(source) {}
  std::uint64_t choose(const Question& question) noexcept override;
  bool leaves_out(std::uint64_t subject) noexcept override;
  void only(Lane lane) noexcept override { source_.only(lane); }
  const ChoiceList& choices() const noexcept { return choices_; }

 private:
  ChoiceSource& source_;
  QuestionCounter counter_;
  ChoiceList choices_;
};

class ReplayChoices final : public ChoiceSource {
 public:
  explicit ReplayChoices(const ChoiceList& choices);
  // An answer that the question does not have (after others were left out) counts as 0.
  std::uint64_t choose(const Question& question) noexcept override;
  bool leaves_out(std::uint64_t subject) noexcept override;

 private:
  QuestionCounter counter_;
  std::map<std::pair<ChoiceKind, std::uint64_t>, std::map<std::uint64_t, std::uint64_t>> answers_;
};

}  // namespace ferry::sim
