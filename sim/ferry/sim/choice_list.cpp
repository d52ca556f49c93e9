#include <ferry/sim/choice_list.hpp>

#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace ferry::sim {
namespace {

std::string_view take_word(std::string_view& line) noexcept {
  const std::size_t start = line.find_first_not_of(' ');
  if (start == std::string_view::npos) {
    return line = {};
  }
  line.remove_prefix(start);
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

template <class T>
bool take_number(std::string_view& line, T& number) noexcept {
  const std::string_view word = take_word(line);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return !word.empty() && error == std::errc() && end == word.data() + word.size();
}

std::optional<ChoiceKind> kind_named(std::string_view name) noexcept {
  for (std::size_t index = 0; index < kChoiceKinds; ++index) {
    const auto kind = static_cast<ChoiceKind>(index);
    if (name == to_string(kind)) {
      return kind;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string to_text(const ChoiceList& choices) {
  std::string text;
  for (const Choice& choice : choices) {
    text += fmt::format("{} {} {} {}\n", to_string(choice.kind), choice.subject, choice.ordinal, choice.answer);
  }
  return text;
}

Result<ChoiceList> parse_choices(std::string_view text) {
  ChoiceList choices;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    std::string_view rest = line;
    Choice choice;
    const auto kind = kind_named(take_word(rest));
    if (!kind || !take_number(rest, choice.subject) || !take_number(rest, choice.ordinal) ||
        !take_number(rest, choice.answer) || !take_word(rest).empty()) {
      return Failure(
          errc::malformed,
          fmt::format("\"{}\" is no choice; expected KIND SUBJECT ORDINAL ANSWER, as in \"next 0 17 2\"", line));
    }
    choice.kind = *kind;
    choices.push_back(choice);
  }
  return choices;
}

std::uint64_t RecordingChoices::choose(const Question& question) noexcept {
  const std::uint64_t ordinal = counter_.next(question);
  const std::uint64_t answer = source_.choose(question);
  if (answer != 0) {
    choices_.push_back({question.kind, question.subject, ordinal, answer});
  }
  return answer;
}

bool RecordingChoices::leaves_out(std::uint64_t subject) noexcept {
  const std::uint64_t ordinal = counter_.next({ChoiceKind::omit, 2, subject});
  const bool is_left_out = source_.leaves_out(subject);
  if (is_left_out) {
    choices_.push_back({ChoiceKind::omit, subject, ordinal, 1});
  }
  return is_left_out;
}

ReplayChoices::ReplayChoices(const ChoiceList& choices) {
  for (const Choice& choice : choices) {
    answers_[{choice.kind, choice.subject}][choice.ordinal] = choice.answer;
  }
}

std::uint64_t ReplayChoices::choose(const Question& question) noexcept {
  const std::uint64_t ordinal = counter_.next(question);
  const auto of_subject = answers_.find({question.kind, question.subject});
  if (of_subject == answers_.end()) {
    return 0;
  }
  const auto found = of_subject->second.find(ordinal);
  return found == of_subject->second.end() || found->second >= question.n ? 0 : found->second;
}

bool ReplayChoices::leaves_out(std::uint64_t subject) noexcept {
  return choose({ChoiceKind::omit, 2, subject}) != 0;
}

}  // namespace ferry::sim
