#include <ferry/sim/artefact.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include <ferry/sim/shrink.hpp>

namespace ferry::sim {
namespace {

constexpr std::string_view kSeedLine = "seed ";
constexpr std::string_view kHostsLine = "hosts ";
constexpr std::string_view kSwarmLine = "swarm ";
constexpr std::string_view kFindingsLine = "findings fail";
constexpr std::string_view kChoicesLine = "choices ";
constexpr std::size_t kToldParts = 100;

std::string_view first_line(std::string_view text) noexcept {
  return text.substr(0, text.find('\n'));
}

// "# of 12 parts of its program and plans it has 3", and these, by list.
std::string describe_parts(const std::vector<Part>& parts) {
  const auto left = std::count_if(parts.begin(), parts.end(), [](const Part& part) { return !part.is_left_out; });
  std::string text =
      parts.empty() ? "" : fmt::format("# of {} parts of its program and plans it has {}\n", parts.size(), left);
  for (std::size_t index = 0, told = 0; index < parts.size() && told < kToldParts; ++index) {
    if (const Part& part = parts[index]; !part.is_left_out) {
      text += fmt::format("#   {} {}{}{}\n", part.name, part.ordinal + 1, part.text.empty() ? "" : ": ",
                          first_line(part.text));
      ++told;
    }
  }
  return text;
}

}  // namespace

std::string failure_name(const WorldResult& result) {
  std::string name(to_string(result.outcome));
  if (result.outcome == Outcome::stuck || result.outcome == Outcome::steps || result.outcome == Outcome::wall) {
    return name;
  }
  name += ": ";
  if (result.outcome == Outcome::finding) {
    return name.append(result.what, 0, result.what.find(':'));
  }
  bool in_number = false;
  for (const char letter : first_line(result.what)) {
    const bool is_digit = letter >= '0' && letter <= '9';
    if (!is_digit || !in_number) {
      name += is_digit ? '#' : letter;
    }
    in_number = is_digit;
  }
  return name;
}

// Leaves out runs of choices, half as long each time; then lowers what is left.
ChoiceList shrink(ChoiceList choices, std::size_t runs, const std::function<bool(const ChoiceList&)>& fails) {
  const auto still_fails = [&](const ChoiceList& candidate) { return runs > 0 && (--runs, fails(candidate)); };
  for (std::size_t length = choices.size(); length > 0; length /= 2) {
    for (bool again = true; again;) {
      again = false;
      for (std::size_t start = 0; start < choices.size();) {
        ChoiceList without = choices;
        const auto from = without.begin() + static_cast<std::ptrdiff_t>(start);
        without.erase(from, from + static_cast<std::ptrdiff_t>(std::min(length, without.size() - start)));
        if (still_fails(without)) {
          choices = std::move(without);
          again = length == 1;
        } else {
          start += length;
        }
      }
    }
  }
  for (Choice& choice : choices) {
    const std::uint64_t answer = choice.answer;
    for (choice.answer = 1; choice.answer < answer && !still_fails(choices);) {
      choice.answer = answer - (answer - choice.answer) / 2;
    }
  }
  return choices;
}

std::string ExploredFailure::to_text() const {
  std::string text = fmt::format(
      "ferry-sim-failure 1\n"
      "# {}\n"
      "# found by {} with {} choices; of these are left {}\n",
      first_line(smallest.to_text()), to_string(strategy), found_choices, count_choices(choices));
  text += describe_parts(smallest.parts);
  for (const std::string& fault : smallest.faults) {
    text += fmt::format("# fault at {}\n", fault);
  }
  for (const std::string& finding : smallest.findings) {
    std::string_view rest = finding;
    for (const char* start = "# finding "; !rest.empty(); start = "# ") {
      const std::string_view line = first_line(rest);
      text += fmt::format("{}{}\n", start, line);
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    }
  }
  if (!story.empty()) {
    text += "# The last that happened:\n";
  }
  for (const std::string& line : story) {
    text += fmt::format("#   {}\n", first_line(line));
  }
  text += fmt::format("seed {}\n", smallest.seed);
  if (hosts != 1) {
    text += fmt::format("{}{}\n", kHostsLine, hosts);
  }
  if (!swarm.empty() && swarm != "none") {
    text += fmt::format("{}{}\n", kSwarmLine, swarm);
  }
  if (smallest.outcome == Outcome::finding) {
    text += fmt::format("{}\n", kFindingsLine);
  }
  return text + fmt::format("{}{}\n{}", kChoicesLine, choices.size(), sim::to_text(choices));
}

Result<WorldResult> replay(std::string_view artefact, const WorldOptions& options, const RunWorld& run) {
  const auto refuse = [](std::string_view expected, std::string_view found) {
    return Failure(errc::malformed,
                   fmt::format("the artefact: {} expected, found \"{}\"", expected, first_line(found)));
  };
  const auto next_line = [&artefact] {
    const std::string_view line = first_line(artefact);
    artefact.remove_prefix(std::min(artefact.size(), line.size() + 1));
    return line;
  };
  const auto number_behind = [](std::string_view line, std::string_view start, auto& number) {
    line.remove_prefix(std::min(line.size(), start.size()));
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    return error == std::errc() && end == line.data() + line.size() && !line.empty();
  };
  std::string_view line = next_line();
  if (line != "ferry-sim-failure 1") {
    return refuse("\"ferry-sim-failure 1\"", line);
  }
  do {
    line = next_line();
  } while (line.starts_with('#'));
  std::uint64_t seed = 0;
  if (!line.starts_with(kSeedLine) || !number_behind(line, kSeedLine, seed)) {
    return refuse("\"seed NUMBER\"", line);
  }
  std::uint64_t count = 0;
  line = next_line();
  WorldOptions again = options;
  again.seed = seed;
  again.hosts = 1;
  again.swarm = Faults::none;
  if (line.starts_with(kHostsLine)) {
    if (!number_behind(line, kHostsLine, again.hosts) || again.hosts == 0 || again.hosts > kMostHosts) {
      return refuse(fmt::format("\"hosts NUMBER\", from 1 to {},", kMostHosts), line);
    }
    line = next_line();
  }
  if (line.starts_with(kSwarmLine)) {
    const auto swarm = parse_faults(line.substr(kSwarmLine.size()));
    if (!swarm) {
      return swarm.error();
    }
    again.swarm = *swarm;
    line = next_line();
  }
  if (line == kFindingsLine) {
    again.findings = FindingMode::fail;
    line = next_line();
  }
  if (!line.starts_with(kChoicesLine) || !number_behind(line, kChoicesLine, count)) {
    return refuse("\"choices NUMBER\"", line);
  }
  const auto choices = parse_choices(artefact);
  if (!choices) {
    return choices.error();
  }
  if (choices->size() != count) {
    return Failure(errc::malformed, fmt::format("the artefact: {} choices expected, found {}", count, choices->size()));
  }
  ReplayChoices replayed(*choices);
  again.choices = &replayed;
  return run(again);
}

}  // namespace ferry::sim
