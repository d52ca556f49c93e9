// parameter_server: trains softmax regression on the digits with asynchronous workers in processes of their own.
// Weights and steps move one-sided only; messages carry references. See README.md.

#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <ferry/run/router.hpp>
#include <ferry/run/run.hpp>

#include "../command_line/check_determinism.hpp"
#include "../command_line/command_line.hpp"
#include "dataset.hpp"
#include "training.hpp"

namespace {

ferry::sim::Faults parse_faults(const std::string& text) {
  using ferry::sim::Fault;
  const ferry::Result<ferry::sim::Faults> faults = ferry::sim::parse_faults(text);
  if (!faults || !faults->without(Fault::crash | Fault::partition | Fault::loss).is_empty()) {
    throw CLI::ValidationError("--faults", "any of crash, partition and loss, with commas between them, or none");
  }
  return *faults;
}

}  // namespace

int main(int argc, char** argv) {
  parameter_server::Settings settings;
  settings.data = parameter_server::default_data();
  CLI::App app("Trains softmax regression on handwritten digits; weights and gradients move one-sided.");
  app.add_option("--workers", settings.workers, "worker processes")->check(CLI::Range(1, 256))->capture_default_str();
  app.add_option("--epochs", settings.epochs, "passes over the training rows")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--data", settings.data, "the digits as CSV: 64 pixels of 0 to 16, then the label")
      ->capture_default_str();
  app.add_option("--transport", settings.transport, "auto, shm, tcp, verbs or sim")
      ->check(CLI::IsMember({"auto", "shm", "tcp", "verbs", "sim"}))
      ->capture_default_str();
  app.add_option("--seed", settings.seed, "of the order of rows, and of everything under sim")
      ->check(command_line::refuse_sign)
      ->capture_default_str();
  command_line::add_profile(app, settings.profile);
  std::string faults = "none";
  app.add_option("--faults", faults, "that strike workers under sim: any of crash, partition and loss, with commas")
      ->capture_default_str();
  command_line::add_check_determinism(app, settings.check_determinism, settings.transport);
  app.add_flag("--suppress-pushes", settings.suppress_pushes, "compute steps and throw them away: nothing is learnt");
  try {
    app.parse(argc, argv);
    settings.faults = parse_faults(faults);
    if (settings.transport != "sim" && (app.count("--faults") > 0 || app.count("--profile") > 0)) {
      throw CLI::ValidationError(app.count("--faults") > 0 ? "--faults" : "--profile",
                                 "faults and profiles are simulated; they go with --transport sim");
    }
    if (settings.transport == "verbs" && !ferry::has_verbs()) {
      throw CLI::ValidationError(
          "--transport", "verbs is not in this build (libibverbs-dev was missing); choose auto, shm, tcp or sim");
    }
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? printed(0) : 2;
  }
  if (!ferry::is_child()) {
    try {
      // Before any process is started for it.
      settings.training_rows = parameter_server::Dataset::load(settings.data).training().size();
    } catch (const std::exception& error) {
      fmt::print(stderr, "FAILED {}\n", error.what());
      return 1;
    }
  }
  settings.progress_bar = isatty(STDOUT_FILENO) != 0;
  return printed(parameter_server::run(settings));
}
