// ferry-doctor: which transports work on this host, and why the others do not.

#include <cstdio>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <ferry/run/doctor/survey.hpp>
#include <ferry/run/run.hpp>
#include <ferry/transport/address.hpp>

namespace {

using ferry::doctor::Finding;

std::string yes_or_no(bool is_so) {
  return is_so ? "yes" : "no";
}

void print_table(const std::vector<Finding>& findings, const std::vector<std::string>& order) {
  fmt::print("{:10} {:7} {:12} {:12} {}\n", "transport", "usable", "cpu atomics", "nic atomics", "delivered by");
  for (const Finding& finding : findings) {
    const ferry::Capabilities& can = finding.capabilities;
    fmt::print("{:10} {:7} {:12} {:12} {}\n", ferry::to_string(finding.transport), yes_or_no(finding.is_usable),
               finding.is_usable ? yes_or_no(can.atomics_cpu) : "-",
               finding.is_usable ? yes_or_no(can.atomics_nic) : "-", finding.is_usable ? can.delivered_by : "-");
  }
  fmt::print("\n");
  for (const Finding& finding : findings) {
    fmt::print("{}: {}\n", ferry::to_string(finding.transport),
               finding.is_usable ? finding.capabilities.notes : finding.why);
    for (const std::string& remark : finding.remarks) {
      fmt::print("  {}\n", remark);
    }
  }
  fmt::print("auto takes, for each peer, the first that reaches it: {}\n", fmt::join(order, ", "));
}

void print_json(const std::vector<Finding>& findings, const std::vector<std::string>& order) {
  nlohmann::ordered_json transports = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    nlohmann::ordered_json entry{{"transport", ferry::to_string(finding.transport)}, {"usable", finding.is_usable}};
    if (finding.is_usable) {
      entry["atomics_cpu"] = finding.capabilities.atomics_cpu;
      entry["atomics_nic"] = finding.capabilities.atomics_nic;
      entry["completes_inline"] = finding.capabilities.completes_inline;
      entry["delivered_by"] = finding.capabilities.delivered_by;
      entry["notes"] = finding.capabilities.notes;
      entry["remarks"] = finding.remarks;
    } else {
      entry["why"] = finding.why;
    }
    transports.push_back(std::move(entry));
  }
  fmt::print("{}\n", nlohmann::ordered_json{{"transports", transports}, {"auto", order}}.dump());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Which transports ferry can use on this host, why it cannot use the others, and what auto would take."};
  app.name("ferry-doctor");
  bool is_json = false;
  app.add_flag("--json", is_json, "one JSON object in place of the table");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const auto findings = ferry::doctor::survey();
  const auto order = ferry::doctor::automatic_order();
  if (is_json) {
    print_json(findings, order);
  } else {
    print_table(findings, order);
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::perror("ferry-doctor: the output could not be written");
    return 1;
  }
  return 0;
}
