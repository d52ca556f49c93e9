#include <ferry/sim/explore.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <ferry/base/check.hpp>
#include <ferry/sim/noting.hpp>
#include <ferry/sim/trace.hpp>
#include <ferry/wire/codec.hpp>

namespace ferry::sim {
namespace {

constexpr Duration kShrinkWall = std::chrono::minutes(1);  // of real time, in worker processes

struct Found {
  std::uint64_t number = 0;
  WorldResult result;
  ChoiceList choices;
};

// What was found in some worlds, in a row.
struct Report {
  std::uint64_t worlds = 0;
  std::map<std::string, std::uint64_t> struck;
  std::map<std::string, std::uint64_t> marks;
  std::map<std::string, std::uint64_t> findings;
  std::map<std::string, std::string> texts;  // the first of each kind
  std::optional<Found> found;
};

template <class T>
std::string encoded(const T& value) {
  wire::Bytes bytes;
  wire::encode(bytes, value);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class T>
T decoded(std::string_view text) {
  auto value = wire::decode<T>(wire::ByteView(reinterpret_cast<const std::byte*>(text.data()), text.size()));
  FERRY_CHECK(value.has_value());
  return std::move(*value);
}

void add(std::map<std::string, std::uint64_t>& sums, const std::map<std::string, std::uint64_t>& counts) {
  for (const auto& [name, count] : counts) {
    sums[name] += count;
  }
}

class Explorer final : public CrewJob {
 public:
  Explorer(const ExploreOptions& options, const RunWorld& run, Crew& crew)
      : options_(options), run_(run), crew_(crew), world_(options.world) {
    world_.hosts = options.hosts;
    world_.swarm = options.swarm;
    world_.steps = options.steps;
    world_.findings = options.findings;
  }

  Exploration explore() {
    crew_.run(options_.seeds, *this);
    exploration_.requires_marks = options_.require_marks;
    exploration_.worlds = sum_.worlds;
    exploration_.struck = std::move(sum_.struck);
    exploration_.marks = std::move(sum_.marks);
    exploration_.found = std::move(sum_.findings);
    for (auto& [kind, text] : sum_.texts) {
      exploration_.findings.push_back(std::move(text));
    }
    if (sum_.found) {
      make_small();
      tell_story();
    }
    return std::move(exploration_);
  }

  bool work(std::uint64_t number) override {
    const auto source = source_of(number);
    RecordingChoices recording(*source);
    WorldResult result = run_with(seed_of(number), recording);
    ++news_.worlds;
    add(news_.struck, result.struck);
    add(news_.marks, result.marks);
    add(news_.findings, result.found);
    for (const std::string& text : result.findings) {
      news_.texts.emplace(text.substr(0, text.find(':')), fmt::format("seed {}: {}", result.seed, text));
    }
    if (result.outcome == Outcome::passed) {
      return true;
    }
    news_.found = Found{number, std::move(result), recording.choices()};
    return false;
  }

  std::string report() override { return encoded(std::exchange(news_, {})); }

  void take(std::string_view report) override {
    Report news = decoded<Report>(report);
    sum_.worlds += news.worlds;
    add(sum_.struck, news.struck);
    add(sum_.marks, news.marks);
    add(sum_.findings, news.findings);
    sum_.texts.insert(news.texts.begin(), news.texts.end());
    sum_.found = std::move(news.found);
  }

  void died(std::uint64_t number, const Death& death) override {
    ++sum_.worlds;
    sum_.found = Found{number, result_of(death, seed_of(number)), {}};
  }

 private:
  static WorldResult result_of(const Death& death, std::uint64_t seed) {
    WorldResult result;
    result.outcome = death.took_too_long ? Outcome::wall : Outcome::crash;
    result.what = death.how;
    result.seed = seed;
    return result;
  }

  std::uint64_t seed_of(std::uint64_t number) const noexcept { return options_.first_seed + number; }
  Strategy strategy_of(std::uint64_t number) const noexcept {
    return options_.strategies[number % options_.strategies.size()];
  }

  // PCT changes its priorities at steps among as many as the world has where everything goes in order.
  std::unique_ptr<ChoiceSource> source_of(std::uint64_t number) {
    const Strategy strategy = strategy_of(number);
    if (strategy == Strategy::pct && expected_steps_ == 0) {
      InOrderChoices in_order;
      expected_steps_ = std::max<std::uint64_t>(run_with(options_.first_seed, in_order).steps, 1);
    }
    return make_choices(strategy, seed_of(number), expected_steps_);
  }

  WorldResult run_with(std::uint64_t seed, ChoiceSource& choices) const {
    WorldOptions options = world_;
    options.seed = seed;
    options.choices = &choices;
    return run_(options);
  }

  // The same world once more, by its choices, where its death is only an answer.
  WorldResult judge(std::uint64_t seed, const ChoiceList& choices) {
    const auto answer = crew_.once(
        [&](const Crew::Note&) {
          ReplayChoices replayed(choices);
          return encoded(run_with(seed, replayed));
        },
        options_.wall);
    return answer.has_died ? result_of(answer.death, seed) : decoded<WorldResult>(answer.value);
  }

  void make_small() {
    const std::uint64_t number = sum_.found->number;
    WorldResult found = std::move(sum_.found->result);
    ChoiceList choices = std::move(sum_.found->choices);
    const bool has_died = found.outcome == Outcome::crash || found.outcome == Outcome::wall;
    if (has_died) {
      choices = choices_until_death(number);
    }
    ExploredFailure failure{strategy_of(number),     found,  choices.size(), found, options_.hosts,
                            to_text(options_.swarm), choices};
    const std::string name = failure_name(found);
    const auto same = [&](const WorldResult& result) {
      return result.outcome != Outcome::passed && failure_name(result) == name;
    };
    // A death by other choices than those that led to it is told by the next runs: each in a process of its own.
    const std::size_t runs =
        found.outcome == Outcome::wall ? std::min<std::size_t>(options_.shrink_runs, 10) : options_.shrink_runs;
    if (!has_died && shrink_at_once(runs, same, failure)) {
      exploration_.failure = std::move(failure);
      return;
    }
    failure.choices = shrink(choices, runs, [&](const ChoiceList& candidate) {
      WorldResult result = judge(seed_of(number), candidate);
      if (!same(result)) {
        return false;
      }
      failure.smallest = std::move(result);
      return true;
    });
    exploration_.failure = std::move(failure);
  }

  // Of a world that dies: as far as it came, noted line by line.
  void tell_story() {
    constexpr std::size_t kLine = 1'000;  // bytes, at most so many of which count
    ExploredFailure& failure = *exploration_.failure;
    const bool dies = failure.smallest.outcome == Outcome::crash || failure.smallest.outcome == Outcome::wall;
    const auto work = [&](const Crew::Note& note) {
      NotingTrace noting(note);
      Trace trace(options_.story_lines * 100);
      ReplayChoices replayed(failure.choices);
      WorldOptions options = world_;
      options.seed = failure.found.seed;
      options.choices = &replayed;
      options.trace = dies ? static_cast<TraceSink*>(&noting) : &trace;
      run_(options);
      return encoded(last_lines(trace, options_.story_lines));
    };
    const auto answer = crew_.once(work, options_.wall, options_.story_lines * kLine);
    failure.story = answer.has_died ? last_noted_lines(answer.notes, options_.story_lines)
                                    : decoded<std::vector<std::string>>(answer.value);
  }

  // All candidates in one process, which notes the best so far. False: one of them brought it down.
  template <class Same>
  bool shrink_at_once(std::size_t runs, const Same& same, ExploredFailure& failure) {
    const auto work = [&](const Crew::Note& note) {
      Found best{0, failure.found, failure.choices};
      best.choices = shrink(failure.choices, runs, [&](const ChoiceList& candidate) {
        ReplayChoices replayed(candidate);
        WorldResult result = run_with(failure.found.seed, replayed);
        if (!same(result)) {
          return false;
        }
        best.result = std::move(result);
        note(to_text(candidate) + "\n");
        return true;
      });
      return encoded(best);
    };
    const auto answer = crew_.once(work, kShrinkWall, 4 * (to_text(failure.choices).size() + 1));
    if (answer.has_died) {
      const ChoiceList best = last_noted(answer.notes, failure.choices);
      const WorldResult again = judge(failure.found.seed, best);
      if (!answer.death.took_too_long || !same(again)) {
        return false;
      }
      failure.choices = best;
      failure.smallest = again;
      return true;
    }
    Found best = decoded<Found>(answer.value);
    failure.smallest = std::move(best.result);
    failure.choices = std::move(best.choices);
    return true;
  }

  // Lists end with an empty line; the last one that is whole.
  static ChoiceList last_noted(std::string_view notes, const ChoiceList& none) {
    const std::size_t end = notes.rfind("\n\n");
    if (end == std::string_view::npos) {
      return none;
    }
    const std::size_t before = end == 0 ? std::string_view::npos : notes.rfind("\n\n", end - 1);
    const std::size_t start = before == std::string_view::npos ? 0 : before + 2;
    const auto choices = parse_choices(notes.substr(start, end + 1 - start));
    return choices ? *choices : none;
  }

  ChoiceList choices_until_death(std::uint64_t number) {
    const auto answer = crew_.once(
        [&](const Crew::Note& note) {
          const auto source = source_of(number);
          NotingChoices noting(*source, note);
          return encoded(run_with(seed_of(number), noting));
        },
        options_.wall);
    const std::size_t whole = answer.notes.rfind('\n');
    const auto choices = parse_choices(std::string_view(answer.notes).substr(0, whole + 1));
    return choices ? *choices : ChoiceList{};
  }

  const ExploreOptions& options_;
  const RunWorld& run_;
  Crew& crew_;
  WorldOptions world_;
  std::uint64_t expected_steps_ = 0;
  Report news_;
  Report sum_;
  Exploration exploration_;
};

}  // namespace

Exploration explore(const ExploreOptions& options, const RunWorld& run, Crew& crew) {
  if (options.strategies.empty()) {
    throw Error(Failure(errc::invalid_argument, "ExploreOptions::strategies is empty"));
  }
  return Explorer(options, run, crew).explore();
}

Exploration explore(const ExploreOptions& options, const RunWorld& run) {
  ThisProcess crew;
  return explore(options, run, crew);
}

}  // namespace ferry::sim
