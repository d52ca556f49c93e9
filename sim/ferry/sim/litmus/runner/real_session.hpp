// RealSession: one call of ferry-litmus with --transport: tests run for real, their outcomes held against portable.
//
// A real transport may be stronger than portable, so an outcome that is not seen says nothing; one that portable does
// not have is a failure, and so is a run that gets stuck where portable has none.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <ferry/sim/litmus/explorer.hpp>
#include <ferry/sim/litmus/runner/output.hpp>
#include <ferry/sim/litmus/runner/real_report.hpp>
#include <ferry/sim/litmus/runner/real_transport.hpp>
#include <ferry/sim/litmus/runner/settings.hpp>

namespace ferry::sim::litmus::runner {

class RealSession {
 public:
  RealSession(const Settings& settings, RealTransport& transport) : settings_(settings), transport_(transport) {}

  int run();  // the exit status

  std::size_t runs() const noexcept { return totals_.runs; }

 private:
  bool run_test(const Program& program);  // false, with a complaint: there is no result
  std::optional<Exploration> explore_portable(const Program& program);

  const Settings& settings_;
  RealTransport& transport_;
  Output output_;
  Progress progress_;
  RealTotals totals_;
};

}  // namespace ferry::sim::litmus::runner
