#include <ferry/sim/litmus/runner/settings.hpp>

#include <array>
#include <sstream>

#include <CLI/CLI.hpp>

#include <ferry/sim/litmus/runner/output.hpp>
#include <ferry/sim/litmus/state_table.hpp>

namespace ferry::sim::litmus::runner {
namespace {

constexpr const char* kFooter =
    "A test's line ends with ok, DIFFERS, unchecked (the test expects nothing of that profile) or, when sampling,\n"
    "missed. Exit status: 0 all as expected, 1 a verdict differs, or a real run shows what portable forbids, 2 "
    "anything\n"
    "else.";

// For numbers without a sign, before any other check: the conversion makes 18446744073709551611 of "-5".
std::string refuse_sign(const std::string& given) {
  return given.starts_with('-') ? "must not be negative: " + given : std::string();
}

// What two options together cannot mean, with the remedy; empty where all is well.
std::string impossible(const CLI::App& app, const Settings& settings) {
  const auto given = [&](const char* option) { return app.count(option) > 0; };
  if (settings.transport) {
    for (const char* option : {"--strategy", "--profile", "--explain", "--svg"}) {
      if (given(option)) {
        return std::string(option) +
               " is for the machine, and --transport for real runs, whose outcomes are held "
               "against portable: leave one out";
      }
    }
    return {};
  }
  if (settings.forbidden) {
    return "--forbidden is for real runs: add --transport, or leave it out";
  }
  if (!settings.strategy) {
    for (const char* option : {"--runs", "--seed"}) {
      if (given(option)) {
        return std::string(option) +
               " is for sampled and real runs: add --strategy random, --strategy pct or "
               "--transport, or leave it out";
      }
    }
  } else {
    for (const char* option : {"--explain", "--svg", "--max-states", "--max-memory"}) {
      if (given(option)) {
        return std::string(option) + " needs all states: leave out --strategy, or say --strategy exhaustive";
      }
    }
  }
  for (const char* option : {"--explain", "--svg"}) {
    if (settings.outcomes && given(option)) {
      return std::string("--outcomes gives no verdicts, and so nothing for ") + option + " to show: leave one out";
    }
  }
  if (settings.json && given("--explain")) {
    return "--explain is text for people: leave out --json";
  }
  return {};
}

}  // namespace

std::optional<int> parse_command_line(int argc, char** argv, Settings& settings) {
  CLI::App app("Runs litmus tests of RDMA ordering on the fabric model and compares their verdicts.", "ferry-litmus");
  app.footer(kFooter);
  std::string profile;
  std::string strategy = "exhaustive";
  std::string explain;
  std::string svg;
  app.add_option("FILE", settings.files, "files of litmus tests")->required();
  app.add_option("--profile", profile, "strict, portable, relaxed or unordered; strict and portable if absent")
      ->check(CLI::IsMember({"strict", "portable", "relaxed", "unordered"}));
  app.add_option("--strategy", strategy, "exhaustive, or sampled runs: random, pct")
      ->check(CLI::IsMember({"exhaustive", "random", "pct"}))
      ->capture_default_str();
  std::string transport;
  app.add_option("--transport", transport, "run the tests for real, in processes: shm, tcp, verbs")
      ->check(CLI::IsMember({"shm", "tcp", "verbs"}));
  app.add_flag("--forbidden", settings.forbidden,
               "of the tests run only those that expect portable to forbid something");
  app.add_option("--runs", settings.runs, "how many runs to sample, or to make for real")
      ->check(refuse_sign)
      ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000'000'000}))
      ->capture_default_str();
  app.add_option("--seed", settings.seed, "what the sampled runs, or the pauses of real ones, are drawn from")
      ->check(refuse_sign)
      ->capture_default_str();
  app.add_flag("--outcomes", settings.outcomes, "no verdicts: one JSON line per test and profile with all outcomes");
  app.add_flag("--json", settings.json, "verdicts as JSON lines");
  app.add_option("--explain", explain, "tell a shortest run to what the test NAME asks")->type_name("NAME");
  app.add_option("--svg", svg,
                 "write DIR/TEST.PROFILE.svg, the space-time diagram of such a run, for every allowed test")
      ->type_name("DIR");
  app.add_option("--max-states", settings.max_states, "give up a test that has more")
      ->check(refuse_sign)
      ->check(CLI::Range(std::size_t{1}, kMaxStates))
      ->capture_default_str();
  app.add_option("--max-memory", settings.max_mebibytes, "give up a test whose states take more, in MiB")
      ->type_name("MIB")
      ->check(refuse_sign)
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 24))
      ->capture_default_str();
  app.add_flag("--statistics", settings.statistics, "say on stderr how many states were explored, and how fast");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out, complaint;
    const int status = app.exit(error, out, complaint);
    if (status == 0) {
      Output output;
      output.write(out.str());
      return output.finish(0);
    }
    complain(complaint.str().substr(0, complaint.str().find('\n')) + " (--help lists the options)");
    return kFailed;
  }
  if (const auto only = profile_from(profile)) {
    settings.profiles = {*only};
  } else {
    settings.profiles = {ProfileName::strict, ProfileName::portable};
  }
  if (strategy != "exhaustive") {
    settings.strategy = strategy == "pct" ? SamplingStrategy::pct : SamplingStrategy::random;
  }
  if (!transport.empty()) {
    settings.transport = transport;
  }
  if (app.count("--explain") > 0) {
    settings.explain = explain;
  }
  if (app.count("--svg") > 0) {
    settings.svg_directory = svg;
  }
  if (const std::string wrong = impossible(app, settings); !wrong.empty()) {
    complain(wrong);
    return kFailed;
  }
  return std::nullopt;
}

}  // namespace ferry::sim::litmus::runner
