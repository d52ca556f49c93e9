#include <ferry/sim/litmus/program.hpp>

#include <algorithm>
#include <array>

namespace ferry::sim::litmus {
namespace {

constexpr std::array<std::string_view, kProfiles> kProfileNames = {"strict", "portable", "relaxed", "unordered"};
constexpr std::array<std::string_view, 2> kVerdictNames = {"allowed", "forbidden"};

template <class Enumeration, std::size_t size>
std::optional<Enumeration> find(const std::array<std::string_view, size>& names, std::string_view name) noexcept {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    return std::nullopt;
  }
  return static_cast<Enumeration>(found - names.begin());
}

Value value_of(const Term& term, const Outcome& outcome) {
  switch (term.kind) {
    case Term::Kind::location:
      return outcome.memory[term.index];
    case Term::Kind::register_value:
      return outcome.registers[term.index];
    case Term::Kind::integer:
      break;
  }
  return term.value;
}

}  // namespace

std::string_view to_string(ProfileName profile) noexcept {
  return kProfileNames[static_cast<std::size_t>(profile)];
}

std::string_view to_string(Verdict verdict) noexcept {
  return kVerdictNames[static_cast<std::size_t>(verdict)];
}

std::optional<ProfileName> profile_from(std::string_view name) noexcept {
  return find<ProfileName>(kProfileNames, name);
}

std::optional<Verdict> verdict_from(std::string_view name) noexcept {
  return find<Verdict>(kVerdictNames, name);
}

std::string location_name(const Program& program, LocationIndex location) {
  const Location& found = program.locations[location];
  return found.name + "@" + program.nodes[found.node];
}

std::string register_name(const Program& program, RegisterIndex register_index) {
  const Register& found = program.registers[register_index];
  return program.threads[found.thread].name + ":" + found.name;
}

bool satisfies(const Outcome& outcome, const Condition& question) {
  using Connective = Condition::Connective;
  std::vector<bool> holds;
  holds.reserve(question.nodes.size());
  for (const Condition::Node& node : question.nodes) {
    switch (node.connective) {
      case Connective::equal:
        holds.push_back(value_of(node.left, outcome) == value_of(node.right, outcome));
        break;
      case Connective::unequal:
        holds.push_back(value_of(node.left, outcome) != value_of(node.right, outcome));
        break;
      case Connective::negation:
        holds.push_back(!holds[node.first]);
        break;
      case Connective::conjunction:
        holds.push_back(holds[node.first] && holds[node.second]);
        break;
      case Connective::disjunction:
        holds.push_back(holds[node.first] || holds[node.second]);
        break;
    }
  }
  return holds.back();
}

}  // namespace ferry::sim::litmus
