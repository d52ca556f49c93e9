#include <ferry/sim/explore.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include <ferry/base/check.hpp>
#include <ferry/sim/noting.hpp>
#include <ferry/sim/shrink.hpp>
#include <ferry/sim/trace.hpp>
#include <ferry/wire/codec.hpp>

namespace ferry::sim {
namespace {

constexpr Duration kShrinkWall = std::chrono::minutes(1);  // of real time, where a crew has a clock

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
    return run_with(seed, choices, options_.hosts);
  }
  WorldResult run_with(std::uint64_t seed, ChoiceSource& choices, std::size_t hosts) const {
    WorldOptions options = world_;
    options.seed = seed;
    options.hosts = hosts;
    options.choices = &choices;
    return run_(options);
  }

  // The same world once more, by its choices, where its death is only an answer.
  WorldResult judge(std::uint64_t seed, std::size_t hosts, const ChoiceList& choices) {
    const auto answer = crew_.once(
        [&](const Crew::Note&) {
          ReplayChoices replayed(choices);
          return encoded(run_with(seed, replayed, hosts));
        },
        options_.wall);
    return answer.has_died ? result_of(answer.death, seed) : decoded<WorldResult>(answer.value);
  }

  void make_small() {
    const std::uint64_t number = sum_.found->number;
    SmallWorld world{options_.hosts, std::move(sum_.found->choices), sum_.found->result};
    const WorldResult found = std::move(sum_.found->result);
    const bool has_died = found.outcome == Outcome::crash || found.outcome == Outcome::wall;
    std::vector<Part> parts = found.parts;
    if (has_died) {
      world.choices = choices_until_death(number, parts);
    }
    ExploredFailure failure{.strategy = strategy_of(number),
                            .found = found,
                            .found_choices = count_choices(world.choices),
                            .swarm = to_text(options_.swarm)};
    const std::string name = failure_name(found);
    const auto same = [&](const WorldResult& result) {
      return result.outcome != Outcome::passed && failure_name(result) == name;
    };
    // A death by other choices than those that led to it is told by the next runs: each in a process of its own.
    const std::size_t runs =
        found.outcome == Outcome::wall ? std::min<std::size_t>(options_.shrink_runs, 10) : options_.shrink_runs;
    if (has_died || !shrink_at_once(runs, parts, same, world)) {
      const Duration begin = crew_.now();
      world = sim::make_small(std::move(world), std::move(parts), runs,
                              [&](std::size_t hosts, const ChoiceList& choices) -> std::optional<WorldResult> {
                                if (crew_.now() - begin > kShrinkWall) {
                                  return std::nullopt;
                                }
                                WorldResult result = judge(seed_of(number), hosts, choices);
                                return same(result) ? std::optional(std::move(result)) : std::nullopt;
                              });
    }
    failure.smallest = std::move(world.result);
    failure.hosts = world.hosts;
    failure.choices = std::move(world.choices);
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
      options.hosts = failure.hosts;
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
  bool shrink_at_once(std::size_t runs, const std::vector<Part>& parts, const Same& same, SmallWorld& world) {
    const auto work = [&](const Crew::Note& note) {
      return encoded(sim::make_small(world, parts, runs,
                                     [&](std::size_t hosts, const ChoiceList& choices) -> std::optional<WorldResult> {
                                       ReplayChoices replayed(choices);
                                       WorldResult result = run_with(world.result.seed, replayed, hosts);
                                       if (!same(result)) {
                                         return std::nullopt;
                                       }
                                       note(fmt::format("{}\n{}\n", hosts, to_text(choices)));
                                       return result;
                                     }));
    };
    const std::size_t most = to_text(world.choices).size() + 64 * (parts.size() + 1);  // bytes of a note
    const auto answer = crew_.once(work, kShrinkWall, 4 * most);
    if (answer.has_died) {
      const SmallWorld best = last_noted(answer.notes, world);
      WorldResult again = judge(world.result.seed, best.hosts, best.choices);
      if (!answer.death.took_too_long || !same(again)) {
        return false;
      }
      world = {best.hosts, best.choices, std::move(again)};
      return true;
    }
    world = decoded<SmallWorld>(answer.value);
    return true;
  }

  // A line of hosts, then the choices; notes end with an empty line. The last one that is whole.
  static SmallWorld last_noted(std::string_view notes, const SmallWorld& none) {
    const std::size_t end = notes.rfind("\n\n");
    if (end == std::string_view::npos) {
      return none;
    }
    const std::size_t before = end == 0 ? std::string_view::npos : notes.rfind("\n\n", end - 1);
    std::string_view note = notes.substr(before == std::string_view::npos ? 0 : before + 2);
    note = note.substr(0, note.find("\n\n") + 1);
    SmallWorld best;
    const std::size_t line = note.find('\n');
    const auto number = std::from_chars(note.data(), note.data() + line, best.hosts);
    const auto choices = parse_choices(note.substr(line + 1));
    if (!choices || number.ec != std::errc() || number.ptr != note.data() + line) {
      return none;
    }
    best.choices = *choices;
    return best;
  }

  // What could be left out of it, too.
  ChoiceList choices_until_death(std::uint64_t number, std::vector<Part>& parts) {
    const auto answer = crew_.once(
        [&](const Crew::Note& note) {
          const auto source = source_of(number);
          NotingChoices noting(*source, note);
          return encoded(run_with(seed_of(number), noting));
        },
        options_.wall);
    const std::size_t whole = answer.notes.rfind('\n');
    const auto noted = parse_choices(std::string_view(answer.notes).substr(0, whole + 1));
    ChoiceList choices;
    for (const Choice& choice : noted ? *noted : ChoiceList{}) {
      if (choice.kind == ChoiceKind::omit) {
        parts.push_back({.subject = choice.subject, .ordinal = choice.ordinal});
      } else {
        choices.push_back(choice);
      }
    }
    return choices;
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
