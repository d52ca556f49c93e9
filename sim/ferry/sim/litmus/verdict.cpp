#include <ferry/sim/litmus/verdict.hpp>

#include <algorithm>

namespace ferry::sim::litmus {
namespace {

bool has_satisfying(const Condition& question, const std::vector<Outcome>& outcomes) {
  return std::any_of(outcomes.begin(), outcomes.end(), [&](const Outcome& each) { return satisfies(each, question); });
}

}  // namespace

Judgement judge(const Program& program, ProfileName profile, const std::vector<Outcome>& outcomes) {
  using enum Judgement::Comparison;
  if (!program.question) {
    return {};
  }
  const Verdict found = has_satisfying(*program.question, outcomes) ? Verdict::allowed : Verdict::forbidden;
  const auto expected = program.expected_of(profile);
  return {found, expected, !expected ? unchecked : *expected == found ? ok : differs};
}

Judgement judge_sampled(const Program& program, ProfileName profile, const std::vector<Outcome>& outcomes) {
  using enum Judgement::Comparison;
  Judgement judgement = judge(program, profile, outcomes);
  if (judgement.verdict == Verdict::forbidden) {
    judgement.verdict.reset();
    judgement.comparison = !judgement.expected ? unchecked : *judgement.expected == Verdict::forbidden ? ok : missed;
  }
  return judgement;
}

}  // namespace ferry::sim::litmus
