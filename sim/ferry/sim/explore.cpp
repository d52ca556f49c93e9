#include <ferry/sim/explore.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace ferry::sim {
namespace {

constexpr std::string_view kSeedLine = "seed ";
constexpr std::string_view kChoicesLine = "choices ";

WorldResult run_with(const RunWorld& run, WorldOptions options, std::uint64_t seed, ChoiceSource& choices) {
  options.seed = seed;
  options.choices = &choices;
  return run(options);
}

std::string_view first_line(std::string_view text) noexcept {
  return text.substr(0, text.find('\n'));
}

ExploredFailure make_small(const ExploreOptions& options, const RunWorld& run, Strategy strategy, WorldResult found,
                           const ChoiceList& choices) {
  const std::string name = failure_name(found);
  ExploredFailure failure{strategy, found, choices.size(), std::move(found), choices};
  const auto fails = [&](const ChoiceList& candidate) {
    ReplayChoices replayed(candidate);
    WorldResult result = run_with(run, options.world, failure.found.seed, replayed);
    if (result.outcome == Outcome::passed || failure_name(result) != name) {
      return false;
    }
    failure.smallest = std::move(result);
    return true;
  };
  failure.choices = shrink(choices, options.shrink_runs, fails);
  return failure;
}

}  // namespace

std::string failure_name(const WorldResult& result) {
  std::string name(to_string(result.outcome));
  if (result.outcome != Outcome::failed && result.outcome != Outcome::invariant) {
    return name;
  }
  name += ": ";
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

Exploration explore(const ExploreOptions& options, const RunWorld& run) {
  if (options.strategies.empty()) {
    throw Error(Failure(errc::invalid_argument, "ExploreOptions::strategies is empty"));
  }
  Exploration exploration;
  std::uint64_t expected_steps = 1000;
  for (std::uint64_t index = 0; index < options.seeds; ++index) {
    const std::uint64_t seed = options.first_seed + index;
    const Strategy strategy = options.strategies[index % options.strategies.size()];
    const auto source = make_choices(strategy, seed, expected_steps);
    RecordingChoices recording(*source);
    WorldResult result = run_with(run, options.world, seed, recording);
    ++exploration.worlds;
    expected_steps = std::max<std::uint64_t>(result.steps, 1);
    if (result.outcome != Outcome::passed) {
      exploration.failure = make_small(options, run, strategy, std::move(result), recording.choices());
      return exploration;
    }
  }
  return exploration;
}

std::string ExploredFailure::to_text() const {
  return fmt::format(
      "ferry-sim-failure 1\n"
      "# {}\n"
      "# found by {} with {} choices; of these are left {}\n"
      "seed {}\n"
      "choices {}\n"
      "{}",
      first_line(smallest.to_text()), to_string(strategy), found_choices, choices.size(), smallest.seed, choices.size(),
      sim::to_text(choices));
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
  const auto number_behind = [](std::string_view line, std::string_view start, std::uint64_t& number) {
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
  return run_with(run, options, seed, replayed);
}

}  // namespace ferry::sim
