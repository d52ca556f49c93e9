// --check-determinism: whether what a program does with --transport sim depends on nothing but its seed.
//
//   command_line::add_check_determinism(app, settings.check_determinism, settings.transport);
//   …
//   if (settings.check_determinism) {
//     return printed(command_line::report_determinism(world, classes, program));
//   }
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <ferry/sim/determinism.hpp>

namespace command_line {

// transport: what --transport says; anything but sim is refused.
inline void add_check_determinism(CLI::App& app, bool& wanted, const std::string& transport) {
  app.add_flag("--check-determinism", wanted,
               "under sim: runs the seed alone, and again after another one in a heap of another shape; fails with the "
               "first step that differs");
  app.final_callback([&wanted, &transport] {
    if (wanted && transport != "sim") {
      throw CLI::ValidationError("--check-determinism", "is of simulated runs; add --transport sim");
    }
  });
}

// While it lives, what is printed is lost.
class SilentOutput {
 public:
  SilentOutput() : kept_(::dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ::dup2(nowhere, STDOUT_FILENO);
    ::close(nowhere);
  }
  ~SilentOutput() {
    std::fflush(stdout);
    ::dup2(kept_, STDOUT_FILENO);
    ::close(kept_);
  }
  SilentOutput(const SilentOutput&) = delete;
  SilentOutput& operator=(const SilentOutput&) = delete;

 private:
  const int kept_;
};

// Exit code of the program: 0, with a line that says so, or 1 with the first step that differs, as it was alone and
// after another world.
inline int report_determinism(const ferry::sim::WorldOptions& world, const ferry::sim::RunWorld& run) {
  ferry::sim::WorldResult last;
  std::optional<ferry::sim::Difference> difference;
  {
    const SilentOutput silent;
    difference = ferry::sim::check_determinism(world, [&](const ferry::sim::WorldOptions& options) {
      last = run(options);
      return last;
    });
  }
  if (difference) {
    fmt::print(stderr, "FAILED seed {}: {} differs\n  alone:               {}\n  after another world: {}\n", world.seed,
               difference->step == 0 ? "how the world ends" : fmt::format("step {}", difference->step),
               difference->first, difference->second);
    return 1;
  }
  if (last.outcome != ferry::sim::Outcome::passed) {
    fmt::print(stderr, "FAILED the same twice, but {}\n", last.to_text());
    return 1;
  }
  fmt::print("OK the same alone and after another world: {}\n", last.to_text());
  return 0;
}

template <class... T, class F>
int report_determinism(const ferry::sim::WorldOptions& world, ferry::ActorList<T...> classes, const F& program) {
  return report_determinism(world, ferry::sim::RunWorld([&](const ferry::sim::WorldOptions& options) {
                              return ferry::sim::run(options, classes, program).result;
                            }));
}

}  // namespace command_line
