#include <ferry/sim/litmus/runner/real_report.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ferry/sim/litmus/narration.hpp>
#include <ferry/sim/litmus/runner/texts.hpp>

namespace ferry::sim::litmus::runner {

bool RealFinding::is_weaker() const {
  return (stuck > 0 && !may_be_stuck) ||
         std::any_of(seen.begin(), seen.end(), [](const Seen& each) { return !each.is_allowed; });
}

std::string real_line(const RealFinding& finding, const Settings& settings) {
  const Program& program = *finding.program;
  if (!finding.why_not.empty()) {
    return fmt::format("{} {} not run: {}\n", program.name, *settings.transport, finding.why_not);
  }
  std::string line = fmt::format("{} {} {} {} (portable has {}) {}", program.name, *settings.transport,
                                 counted(finding.runs, "run"), counted(finding.seen.size(), "outcome"),
                                 finding.portable_outcomes, finding.is_weaker() ? "WEAKER" : "ok");
  std::size_t asked = 0;
  for (const RealFinding::Seen& each : finding.seen) {
    asked += program.question && satisfies(each.outcome, *program.question) ? each.hits : 0;
  }
  if (asked > 0) {
    line += fmt::format(", as asked in {}", asked);
  }
  if (finding.stuck > 0) {
    line += fmt::format(", {} stuck{}", finding.stuck, finding.may_be_stuck ? "" : " (portable has none)");
  }
  line += "\n";
  for (const RealFinding::Seen& each : finding.seen) {
    if (!each.is_allowed) {
      line +=
          fmt::format("  not in portable, seen in {}: {}\n", counted(each.hits, "run"), to_text(program, each.outcome));
    }
  }
  return line;
}

std::string real_json(const RealFinding& finding, const Settings& settings) {
  JSON json = {{"litmus", finding.program->name}, {"transport", *settings.transport}};
  if (!finding.why_not.empty()) {
    json["not_run"] = finding.why_not;
    return json.dump() + "\n";
  }
  json["seed"] = settings.seed;
  json["runs"] = finding.runs;
  json["stuck"] = finding.stuck;
  json["portable"] = finding.portable_outcomes;
  json["result"] = finding.is_weaker() ? "weaker" : "ok";
  json["outcomes"] = JSON::array();
  json["hits"] = JSON::array();
  json["weaker"] = JSON::array();
  for (std::size_t index = 0; index < finding.seen.size(); ++index) {
    json["outcomes"].push_back(json_of(*finding.program, finding.seen[index].outcome));
    json["hits"].push_back(finding.seen[index].hits);
    if (!finding.seen[index].is_allowed) {
      json["weaker"].push_back(index);
    }
  }
  return json.dump() + "\n";
}

void RealTotals::count(const RealFinding& finding) {
  runs += finding.runs;
  ++(finding.is_weaker() ? weaker : ok);
}

std::string real_summary(const RealTotals& totals, const Settings& settings, std::string_view remark) {
  std::string text = fmt::format("{} on {}: {} ok", counted(totals.tests, "test"), *settings.transport, totals.ok);
  for (const auto& [count, what] : {std::pair(totals.weaker, "WEAKER than portable"),
                                    std::pair(totals.not_run, "not run"), std::pair(totals.unknown, "unknown")}) {
    text += count > 0 ? fmt::format(", {} {}", count, what) : "";
  }
  text += fmt::format("; seed {}; what is not seen may still be allowed", settings.seed);
  return text + (remark.empty() ? "" : fmt::format("; {}", remark)) + "\n";
}

}  // namespace ferry::sim::litmus::runner
