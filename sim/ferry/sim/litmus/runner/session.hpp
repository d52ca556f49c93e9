// Session: one call of ferry-litmus, from the files to the exit status.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <ferry/sim/litmus/runner/output.hpp>
#include <ferry/sim/litmus/runner/report.hpp>
#include <ferry/sim/litmus/runner/settings.hpp>

namespace ferry::sim::litmus::runner {

class Session {
 public:
  explicit Session(const Settings& settings) : settings_(settings) {}

  int run();  // the exit status

  std::size_t states() const noexcept { return states_; }  // explored so far, of all tests

 private:
  bool run_test(const Program& program, ProfileName profile);
  bool explain(const Program& program, ProfileName profile);
  std::optional<Finding> find(const Program& program, ProfileName profile);
  bool write_diagram(const Machine& machine, const Witness& witness);
  std::optional<std::optional<Witness>> search(const Machine& machine);
  ExploreOptions explore_options(const Machine& machine);
  void report_failure(const Failure& failure);

  const Settings& settings_;
  Output output_;
  Progress progress_;
  Totals totals_;
  std::size_t states_ = 0;
};

}  // namespace ferry::sim::litmus::runner
