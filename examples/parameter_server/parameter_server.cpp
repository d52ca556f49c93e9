// parameter_server: trains softmax regression on the digits with asynchronous workers in processes of their own.
// Weights and steps move one-sided only; messages carry references. See README.md.

#include <unistd.h>

#include <cstdio>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "training.hpp"

int main(int argc, char** argv) {
  parameter_server::Settings settings;
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
  app.add_option("--seed", settings.seed, "of the order of rows, and of everything under sim")->capture_default_str();
  app.add_flag("--suppress-pushes", settings.suppress_pushes, "compute steps and throw them away: nothing is learnt");
  try {
    app.parse(argc, argv);
    if (settings.transport == "verbs") {
      throw CLI::ValidationError("--transport", "verbs is not in this build; choose auto, shm, tcp or sim");
    }
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  settings.progress_bar = isatty(STDOUT_FILENO) != 0;
  return parameter_server::run(settings);
}
