#include <ferry/sim/litmus/runner/report.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include <ferry/sim/litmus/diagram.hpp>
#include <ferry/sim/litmus/narration.hpp>
#include <ferry/sim/litmus/program_text.hpp>
#include <ferry/sim/litmus/runner/texts.hpp>

namespace ferry::sim::litmus::runner {
namespace {

std::string_view name_of(SamplingStrategy strategy) {
  return strategy == SamplingStrategy::pct ? "pct" : "random";
}

std::string_view name_of(Judgement::Comparison comparison) {
  switch (comparison) {
    case Judgement::Comparison::ok:
      return "ok";
    case Judgement::Comparison::differs:
      return "DIFFERS";
    case Judgement::Comparison::unchecked:
      return "unchecked";
    case Judgement::Comparison::missed:
      return "missed";
  }
  return "";
}

std::string verdict_name(const Finding& finding) {
  if (finding.judgement.verdict) {
    return std::string(to_string(*finding.judgement.verdict));
  }
  return finding.program->question ? "not-seen" : "unasked";
}

std::size_t satisfying_runs(const Finding& finding) {
  std::size_t count = 0;
  for (std::size_t index = 0; index < finding.hits.size(); ++index) {
    count += satisfies(finding.outcomes[index], *finding.program->question) ? finding.hits[index] : 0;
  }
  return count;
}

void add_sampling(JSON& json, const Finding& finding, const Settings& settings) {
  json["strategy"] = name_of(*settings.strategy);
  json["seed"] = settings.seed;
  json["runs"] = finding.runs;
}

JSON json_of(const Finding& finding) {
  return {{"litmus", finding.program->name}, {"profile", to_string(finding.profile)}};
}

}  // namespace

std::string verdict_line(const Finding& finding, const Settings& settings) {
  std::string line = fmt::format("{} {} {} {} ", finding.program->name, to_string(finding.profile),
                                 verdict_name(finding), name_of(finding.judgement.comparison));
  if (settings.strategy) {
    line += counted(finding.runs, "run");
    if (finding.program->question) {
      line += fmt::format(", {} of them", satisfying_runs(finding));
    }
  } else {
    line += counted(finding.states, "state");
  }
  if (finding.stuck > 0) {
    line += fmt::format(", {} stuck", finding.stuck);
  }
  if (finding.judgement.comparison == Judgement::Comparison::differs) {
    line += fmt::format(", {} expected", to_string(*finding.judgement.expected));
  }
  return line + "\n";
}

std::string verdict_json(const Finding& finding, const Settings& settings) {
  JSON json = json_of(finding);
  json["verdict"] = verdict_name(finding);
  json["expected"] = finding.judgement.expected ? JSON(to_string(*finding.judgement.expected)) : JSON(nullptr);
  std::string result(name_of(finding.judgement.comparison));
  json["result"] = result == "DIFFERS" ? "differs" : result;
  if (settings.strategy) {
    add_sampling(json, finding, settings);
    if (finding.program->question) {
      json["satisfying_runs"] = satisfying_runs(finding);
    }
  } else {
    json["states"] = finding.states;
  }
  json["stuck"] = finding.stuck;
  return json.dump() + "\n";
}

std::string outcomes_json(const Finding& finding, const Settings& settings) {
  JSON json = json_of(finding);
  if (settings.strategy) {
    add_sampling(json, finding, settings);
  } else {
    json["states"] = finding.states;
  }
  json["stuck"] = finding.stuck;
  json["outcomes"] = JSON::array();
  for (const Outcome& outcome : finding.outcomes) {
    json["outcomes"].push_back(json_of(*finding.program, outcome));
  }
  if (settings.strategy) {
    json["hits"] = finding.hits;
  }
  return json.dump() + "\n";
}

void Totals::count(const Judgement& judgement) {
  switch (judgement.comparison) {
    case Judgement::Comparison::ok:
      ++ok;
      return;
    case Judgement::Comparison::differs:
      ++differing;
      return;
    case Judgement::Comparison::unchecked:
      ++unchecked;
      return;
    case Judgement::Comparison::missed:
      ++missed;
      return;
  }
}

std::string summary(const Totals& totals, const Settings& settings) {
  std::string text = fmt::format("{}: {} ok", counted(totals.tests, "test"), counted(totals.ok, "verdict"));
  for (const auto& [count, what] : {std::pair(totals.differing, "DIFFER"), std::pair(totals.unchecked, "unchecked"),
                                    std::pair(totals.missed, "missed"), std::pair(totals.unknown, "unknown")}) {
    text += count > 0 ? fmt::format(", {} {}", count, what) : "";
  }
  if (settings.strategy) {
    text += fmt::format("; seed {}; what {} runs do not see may still be allowed", settings.seed,
                        name_of(*settings.strategy));
  }
  return text + "\n";
}

std::string witness_text(const Machine& machine, const Witness& witness) {
  const Program& program = machine.program();
  const Narration narration = narrate(machine, witness.steps);
  std::string text =
      fmt::format("{} {}: allowed. A shortest run, of {}, to {}:\n", program.name, to_string(machine.profile().name),
                  counted(witness.steps.size(), "step"), to_text(program, *program.question));
  std::size_t width = 0;
  for (const Event& event : narration.events) {
    width = std::max(width, narration.lanes[event.lane].name.size());
  }
  std::size_t number = 0;
  for (const Event& event : narration.events) {
    text += fmt::format("{:4}  {:{}}  {}\n", ++number, narration.lanes[event.lane].name, width, event.sentence);
  }
  return text + fmt::format("final state: {}\n", to_text(program, witness.outcome));
}

std::string witness_svg(const Machine& machine, const Witness& witness) {
  const Program& program = machine.program();
  return to_svg(narrate(machine, witness.steps),
                {fmt::format("{} under the profile {}", program.name, to_string(machine.profile().name)),
                 fmt::format("{}{}a run to {}", program.doc, program.doc.empty() ? "" : ": ",
                             to_text(program, *program.question)),
                 fmt::format("final state: {}", to_text(program, witness.outcome))});
}

}  // namespace ferry::sim::litmus::runner
