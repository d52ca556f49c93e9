// The texts of ferry-litmus: lines for people and for scripts, JSON lines for programs. Each ends with a new line.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <ferry/sim/litmus/explorer.hpp>
#include <ferry/sim/litmus/program.hpp>
#include <ferry/sim/litmus/runner/settings.hpp>
#include <ferry/sim/litmus/sampler.hpp>
#include <ferry/sim/litmus/verdict.hpp>
#include <ferry/sim/litmus/witness.hpp>

namespace ferry::sim::litmus::runner {

// What a strategy found out about one test under one profile.
struct Finding {
  const Program* program = nullptr;
  ProfileName profile{};
  Judgement judgement;
  std::vector<Outcome> outcomes;  // distinct, ascending
  std::vector<std::size_t> hits;  // sampled: how often each was seen
  std::size_t states = 0;         // explored
  std::size_t stuck = 0;          // states, or sampled runs
  std::size_t runs = 0;           // sampled
};

// "L09 portable forbidden ok 58 states".
std::string verdict_line(const Finding& finding, const Settings& settings);
std::string verdict_json(const Finding& finding, const Settings& settings);

// {"litmus":"L09","profile":"portable","states":58,"stuck":0,"outcomes":[{"a@A":1,…},…]}; sampled: with the strategy,
// seed, runs and hits in place of the states.
std::string outcomes_json(const Finding& finding, const Settings& settings);

struct Totals {
  std::size_t tests = 0;
  std::size_t ok = 0, differing = 0, unchecked = 0, missed = 0, unknown = 0;  // verdicts

  void count(const Judgement& judgement);
};
std::string summary(const Totals& totals, const Settings& settings);

// A run event by event.
std::string witness_text(const Machine& machine, const Witness& witness);
std::string witness_svg(const Machine& machine, const Witness& witness);

}  // namespace ferry::sim::litmus::runner
