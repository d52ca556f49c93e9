#include <ferry/sim/litmus/axioms/candidate_executions.hpp>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <ferry/sim/litmus/axioms/arrangement.hpp>
#include <ferry/sim/litmus/axioms/axioms.hpp>
#include <ferry/sim/litmus/axioms/event_structure.hpp>
#include <ferry/sim/litmus/axioms/execution_values.hpp>
#include <ferry/sim/litmus/axioms/partial_order.hpp>

namespace ferry::sim::litmus::axioms {
namespace {

class Enumeration {
 public:
  Enumeration(const Program& program, const EventStructure& structure, ProfileName profile, std::size_t max_candidates)
      : program_(program), structure_(structure), profile_(profile), left_(max_candidates) {
    for (const Access& one : structure.accesses) {
      for (const Access& other : structure.accesses) {
        if (one.event < other.event && one.location == other.location && (one.is_write || other.is_write)) {
          conflicts_.push_back({one.event, other.event});
        }
      }
    }
  }

  // False where there are too many candidates.
  bool run() {
    bool is_whole = true;
    for_each_arrangement(program_, structure_, [&](const Arrangement& arrangement) {
      const Axioms axioms = axioms_of(program_, structure_, profile_, arrangement);
      PartialOrder order(structure_.events.size());
      if (!axioms.is_impossible && add_all(order, axioms.order)) {
        alternatives_ = &axioms.alternatives;
        is_whole = order_conflicts(order, 0);
      }
      return is_whole;
    });
    return is_whole;
  }

  std::vector<Outcome> outcomes() const { return {found_.begin(), found_.end()}; }

 private:
  static bool add_all(PartialOrder& order, const std::vector<Edge>& edges) {
    return std::all_of(edges.begin(), edges.end(), [&](const Edge& edge) { return order.add(edge); });
  }

  static bool contradicts(const PartialOrder& order, const std::vector<Edge>& edges) {
    return std::any_of(edges.begin(), edges.end(),
                       [&](const Edge& edge) { return order.is_before(edge.after, edge.before); });
  }

  static bool holds(const PartialOrder& order, const std::vector<Edge>& edges) {
    return std::all_of(edges.begin(), edges.end(),
                       [&](const Edge& edge) { return order.is_before(edge.before, edge.after); });
  }

  // Takes every alternative of which one side has become impossible; false where both have.
  bool propagate(PartialOrder& order) const {
    for (bool is_changed = true; is_changed;) {
      is_changed = false;
      for (const Alternative& each : *alternatives_) {
        if (holds(order, each.one) || holds(order, each.other)) {
          continue;
        }
        const bool is_one_out = contradicts(order, each.one);
        const bool is_other_out = contradicts(order, each.other);
        if (is_one_out || is_other_out) {
          if ((is_one_out && is_other_out) || !add_all(order, is_one_out ? each.other : each.one)) {
            return false;
          }
          is_changed = true;
        }
      }
    }
    return true;
  }

  // Orders the conflicts from the given one on in every way; false where there are too many candidates.
  bool order_conflicts(PartialOrder order, std::size_t from) {
    if (!propagate(order)) {
      return true;
    }
    while (from < conflicts_.size() && order.is_decided(conflicts_[from].before, conflicts_[from].after)) {
      ++from;
    }
    if (from == conflicts_.size()) {
      if (left_ == 0) {
        return false;
      }
      --left_;
      judge(order);
      return true;
    }
    for (const Edge& edge : {conflicts_[from], Edge{conflicts_[from].after, conflicts_[from].before}}) {
      PartialOrder next = order;
      if (next.add(edge) && !order_conflicts(next, from + 1)) {
        return false;
      }
    }
    return true;
  }

  // All values are decided now: whether it is an execution is still open.
  void judge(const PartialOrder& order) {
    auto outcome = outcome_of(program_, structure_, order);
    if (outcome && found_.count(*outcome) == 0 && is_possible(order)) {
      found_.insert(std::move(*outcome));
    }
  }

  // Whether the alternatives that are open can be chosen without a cycle.
  bool is_possible(PartialOrder order) const {
    if (!propagate(order)) {
      return false;
    }
    const auto open = std::find_if(alternatives_->begin(), alternatives_->end(), [&](const Alternative& each) {
      return !holds(order, each.one) && !holds(order, each.other);
    });
    if (open == alternatives_->end()) {
      return true;
    }
    for (const std::vector<Edge>* side : {&open->one, &open->other}) {
      PartialOrder next = order;
      if (add_all(next, *side) && is_possible(next)) {
        return true;
      }
    }
    return false;
  }

  const Program& program_;
  const EventStructure& structure_;
  const ProfileName profile_;
  std::size_t left_;  // candidates that may still be tried
  std::vector<Edge> conflicts_;
  const std::vector<Alternative>* alternatives_ = nullptr;
  std::set<Outcome> found_;
};

}  // namespace

Result<std::vector<Outcome>> outcomes(const Program& program, ProfileName profile, std::size_t max_candidates) {
  if (profile > ProfileName::portable) {
    return Failure(errc::unsupported, fmt::format("there are no axioms of the profile {}", to_string(profile)));
  }
  const EventStructure structure(program);
  if (structure.is_too_large) {
    return Failure(errc::too_large, fmt::format("{} has more than {} events", program.name, kMaxEvents));
  }
  Enumeration enumeration(program, structure, profile, max_candidates);
  if (!enumeration.run()) {
    return Failure(errc::resource_exhausted,
                   fmt::format("{} has more than {} candidate executions", program.name, max_candidates));
  }
  return enumeration.outcomes();
}

}  // namespace ferry::sim::litmus::axioms
