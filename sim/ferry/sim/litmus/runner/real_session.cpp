#include <ferry/sim/litmus/runner/real_session.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <ferry/sim/litmus/machine.hpp>
#include <ferry/sim/litmus/profile.hpp>
#include <ferry/sim/litmus/runner/files.hpp>

namespace ferry::sim::litmus::runner {

int RealSession::run() {
  const auto programs = read_tests(settings_.files);
  if (!programs) {
    complain(programs.error().detail());
    return kFailed;
  }
  bool is_whole = true;
  for (const Program& program : *programs) {
    if (settings_.forbidden && program.expected_of(ProfileName::portable) != Verdict::forbidden) {
      continue;
    }
    ++totals_.tests;
    is_whole = run_test(program) && is_whole;
    output_.flush();
  }
  if (!settings_.outcomes && !settings_.json) {
    output_.write(real_summary(totals_, settings_, transport_.remark()));
  }
  return output_.finish(!is_whole ? kFailed : totals_.weaker > 0 ? kDiffers : 0);
}

bool RealSession::run_test(const Program& program) {
  RealFinding finding;
  finding.program = &program;
  if (auto why = transport_.why_not(program)) {
    ++totals_.not_run;
    finding.why_not = std::move(*why);
    output_.write(settings_.outcomes || settings_.json ? real_json(finding, settings_) : real_line(finding, settings_));
    return true;
  }
  const auto portable = explore_portable(program);
  if (!portable) {
    ++totals_.unknown;
    return false;
  }
  progress_.show(fmt::format("{} {}: {} runs", program.name, *settings_.transport, settings_.runs));
  auto sample = transport_.run(program, settings_.runs, settings_.seed);
  progress_.clear();
  if (!sample) {
    ++totals_.unknown;
    complain(fmt::format("{} {}: {}", program.name, *settings_.transport, sample.error().detail()));
    return false;
  }
  finding.runs = settings_.runs;
  finding.stuck = sample->stuck;
  finding.portable_outcomes = portable->outcomes.size();
  finding.may_be_stuck = portable->stuck > 0;
  for (auto& [outcome, hits] : sample->hits) {
    const bool is_allowed = std::binary_search(portable->outcomes.begin(), portable->outcomes.end(), outcome);
    finding.seen.push_back({outcome, hits, is_allowed});
  }
  totals_.count(finding);
  output_.write(settings_.outcomes || settings_.json ? real_json(finding, settings_) : real_line(finding, settings_));
  return true;
}

std::optional<Exploration> RealSession::explore_portable(const Program& program) {
  const Machine machine(program, profile_of(ProfileName::portable));
  const auto show = [this, &program](std::size_t states) {
    progress_.show(fmt::format("{} portable: {} states", program.name, states));
  };
  auto explored = explore(machine, {settings_.max_states, show, settings_.max_mebibytes << 20});
  progress_.clear();
  if (!explored) {
    complain(explored.error().detail() + ": raise --max-states or --max-memory");
    return std::nullopt;
  }
  return std::move(*explored);
}

}  // namespace ferry::sim::litmus::runner
