#include <ferry/sim/litmus/runner/session.hpp>

#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>

#include <ferry/sim/litmus/program_text.hpp>
#include <ferry/sim/litmus/runner/files.hpp>

namespace ferry::sim::litmus::runner {
namespace {

// Two tests of one name, from different files, would write the same diagrams.
std::optional<std::string> repeated_name(const std::vector<Program>& programs) {
  std::set<std::string_view> names;
  for (const Program& program : programs) {
    if (!names.insert(program.name).second) {
      return program.name;
    }
  }
  return std::nullopt;
}

}  // namespace

int Session::run() {
  auto programs = read_tests(settings_.files);
  if (!programs) {
    complain(programs.error().detail());
    return kFailed;
  }
  if (settings_.explain) {
    std::erase_if(*programs, [&](const Program& program) { return program.name != *settings_.explain; });
    if (programs->empty()) {
      complain(
          fmt::format("no test of the files is called {}: give --explain the name after `litmus`", *settings_.explain));
      return kFailed;
    }
    for (const Program& program : *programs) {
      if (!program.question) {
        complain(fmt::format("{} asks nothing, so there is nothing to explain: add a line `ask`", program.name));
        return kFailed;
      }
    }
  }
  if (settings_.svg_directory) {
    if (const auto name = repeated_name(*programs)) {
      complain(
          fmt::format("two tests are called {} and would write the same diagrams: give one file at a time", *name));
      return kFailed;
    }
    if (const auto made = make_directory(*settings_.svg_directory); !made) {
      complain(made.error().detail());
      return kFailed;
    }
  }
  bool is_whole = true;
  for (const Program& program : *programs) {
    ++totals_.tests;
    for (const ProfileName profile : settings_.profiles) {
      is_whole = (settings_.explain ? explain(program, profile) : run_test(program, profile)) && is_whole;
      output_.flush();
    }
  }
  if (!settings_.explain && !settings_.outcomes && !settings_.json) {
    output_.write(summary(totals_, settings_));
  }
  return output_.finish(!is_whole ? kFailed : totals_.differing > 0 ? kDiffers : 0);
}

// False, with a complaint, where there is no result.
bool Session::run_test(const Program& program, ProfileName profile) {
  const auto finding = find(program, profile);
  if (!finding) {
    ++totals_.unknown;
    return false;
  }
  if (settings_.outcomes) {
    output_.write(outcomes_json(*finding, settings_));
    return true;
  }
  totals_.count(finding->judgement);
  output_.write(settings_.json ? verdict_json(*finding, settings_) : verdict_line(*finding, settings_));
  if (!settings_.svg_directory || finding->judgement.verdict != Verdict::allowed) {
    return true;
  }
  const Machine machine(program, profile_of(profile));
  const auto witness = search(machine);
  return witness && write_diagram(machine, **witness);
}

bool Session::explain(const Program& program, ProfileName profile) {
  const Machine machine(program, profile_of(profile));
  const auto witness = search(machine);
  if (!witness) {
    return false;
  }
  if (!*witness) {
    const auto explored = explore(machine, explore_options(machine));
    const std::size_t stuck = explored && explored->outcomes.empty() ? explored->stuck : 0;
    output_.write(fmt::format("{} {}: forbidden. No outcome satisfies {}{}.\n", program.name, to_string(profile),
                              to_text(program, *program.question),
                              stuck == 0 ? ""
                                         : fmt::format(": no run ends, for a thread waits or polls for what never "
                                                       "comes ({} stuck)",
                                                       stuck)));
    return true;
  }
  output_.write(witness_text(machine, **witness));
  return !settings_.svg_directory || write_diagram(machine, **witness);
}

std::optional<Finding> Session::find(const Program& program, ProfileName profile) {
  const Machine machine(program, profile_of(profile));
  Finding finding{&program, profile, {}, {}, {}, 0, 0, 0};
  if (settings_.strategy) {
    const Sample sampled = sample(machine, {*settings_.strategy, settings_.runs, settings_.seed});
    for (const auto& [outcome, count] : sampled.hits) {
      finding.outcomes.push_back(outcome);
      finding.hits.push_back(count);
    }
    finding.runs = sampled.runs;
    finding.stuck = sampled.stuck;
    finding.judgement = judge_sampled(program, profile, finding.outcomes);
    return finding;
  }
  auto explored = explore(machine, explore_options(machine));
  progress_.clear();
  if (!explored) {
    report_failure(explored.error());
    return std::nullopt;
  }
  states_ += explored->states;
  finding.outcomes = std::move(explored->outcomes);
  finding.states = explored->states;
  finding.stuck = explored->stuck;
  finding.judgement = judge(program, profile, finding.outcomes);
  return finding;
}

// None, with a complaint, where the search came to its limit.
std::optional<std::optional<Witness>> Session::search(const Machine& machine) {
  auto witness = find_witness(machine, explore_options(machine));
  progress_.clear();
  if (!witness) {
    report_failure(witness.error());
    return std::nullopt;
  }
  return std::move(*witness);
}

bool Session::write_diagram(const Machine& machine, const Witness& witness) {
  const std::string path =
      fmt::format("{}/{}.{}.svg", *settings_.svg_directory, machine.program().name, to_string(machine.profile().name));
  const auto written = write_file(path, witness_svg(machine, witness));
  if (!written) {
    complain(written.error().detail());
  }
  return written.has_value();
}

ExploreOptions Session::explore_options(const Machine& machine) {
  const auto show = [this, &machine](std::size_t states) {
    progress_.show(fmt::format("{} {}: {} states", machine.program().name, to_string(machine.profile().name), states));
  };
  return {settings_.max_states, show, settings_.max_mebibytes << 20};
}

void Session::report_failure(const Failure& failure) {
  complain(failure.detail() + ": raise --max-states or --max-memory, or sample it with --strategy random");
}

}  // namespace ferry::sim::litmus::runner
