// What real runs of litmus tests have shown, as texts: lines for people and for scripts, JSON lines for programs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <ferry/sim/litmus/program.hpp>
#include <ferry/sim/litmus/runner/settings.hpp>

namespace ferry::sim::litmus::runner {

struct RealFinding {
  struct Seen {
    Outcome outcome;
    std::size_t hits = 0;
    bool is_allowed = false;  // portable has it
  };

  const Program* program = nullptr;
  std::string why_not;  // not empty: it was not run
  std::size_t runs = 0;
  std::size_t stuck = 0;  // of the runs
  std::size_t portable_outcomes = 0;
  bool may_be_stuck = false;  // in portable
  std::vector<Seen> seen;     // distinct, ascending

  // An outcome, or a stuck run, that portable does not have.
  bool is_weaker() const;
};

// "L09 shm 100000 runs 3 outcomes (portable has 5) ok", then what more there is to say. An outcome that portable does
// not have follows on a line of its own.
std::string real_line(const RealFinding& finding, const Settings& settings);

// {"litmus":"L09","transport":"shm","seed":1,"runs":1000,"stuck":0,"portable":5,"result":"ok","outcomes":
// [{"a@A":1,…},…],"hits":[…],"weaker":[indices]}; "not_run" with the reason in place of all from the seed on.
std::string real_json(const RealFinding& finding, const Settings& settings);

struct RealTotals {
  std::size_t tests = 0;
  std::size_t ok = 0, weaker = 0, not_run = 0, unknown = 0;
  std::size_t runs = 0;

  void count(const RealFinding& finding);
};
std::string real_summary(const RealTotals& totals, const Settings& settings, std::string_view remark);

}  // namespace ferry::sim::litmus::runner
