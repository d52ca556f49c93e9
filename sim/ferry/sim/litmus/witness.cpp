#include <ferry/sim/litmus/witness.hpp>

#include <algorithm>
#include <deque>
#include <string>

#include <ferry/sim/litmus/state_codec.hpp>
#include <ferry/sim/litmus/state_table.hpp>

namespace ferry::sim::litmus {
namespace {

// A state together with who took the last step. Searched breadth first by changes of who goes: a step of the same one
// costs nothing and goes to the front, any other goes to the back.
class WitnessSearch {
 public:
  WitnessSearch(const Machine& machine, const ExploreOptions& options)
      : machine_(machine),
        options_(options),
        actors_(machine.program().threads.size() + machine.program().queues.size()) {}

  Result<std::optional<Witness>> run() {
    add(machine_.initial(), {kNone, {}, kNobody});
    while (!open_.empty()) {
      const NodeNumber number = open_.front();
      open_.pop_front();
      const Node node = nodes_[number];
      if (!close(node)) {
        continue;
      }
      decode(machine_.program(), seen_[node.state], state_);
      machine_.find_enabled(state_, steps_);
      if (steps_.empty() && machine_.is_finished(state_)) {
        Outcome outcome = outcome_of(state_);
        if (satisfies(outcome, *machine_.program().question)) {
          return std::optional(Witness{path_to(number), std::move(outcome)});
        }
      }
      for (const Step& step : steps_) {
        next_ = state_;
        machine_.take(next_, step);
        add(next_, {number, step, actor_of(step)});
      }
      if (is_too_much(options_, seen_.size(), seen_.bytes() + nodes_.capacity() * sizeof(Node))) {
        return too_much(machine_, options_, seen_.size());
      }
    }
    return std::optional<Witness>();
  }

 private:
  using NodeNumber = std::size_t;
  static constexpr NodeNumber kNone = static_cast<NodeNumber>(-1);
  static constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

  struct Arrival {
    NodeNumber parent;
    Step step;
    std::size_t actor;
  };
  struct Node {
    Arrival arrival;
    StateNumber state;
  };

  std::size_t actor_of(const Step& step) const {
    const bool is_thread = step.kind == Step::Kind::execute || step.kind == Step::Kind::drain;
    return step.actor + (is_thread ? 0 : machine_.program().threads.size());
  }

  void add(const State& state, const Arrival& arrival) {
    encode(machine_.program(), state, encoding_);
    const auto [number, is_new] = seen_.insert(encoding_);
    if (is_new) {
      closed_.resize(closed_.size() + actors_ + 1);
      if (seen_.size() % kProgressInterval == 0 && options_.progress) {
        options_.progress(seen_.size());
      }
    }
    const bool is_change = arrival.parent == kNone || nodes_[arrival.parent].arrival.actor != arrival.actor;
    const Node node{arrival, number};
    if (closed_[place_of(node)]) {
      return;
    }
    nodes_.push_back(node);
    if (is_change) {
      open_.push_back(nodes_.size() - 1);
    } else {
      open_.push_front(nodes_.size() - 1);
    }
  }

  std::size_t place_of(const Node& node) const {
    return node.state * (actors_ + 1) + (node.arrival.actor == kNobody ? actors_ : node.arrival.actor);
  }

  // Whether the node is the first of its state and actor to be visited: it came with the fewest changes.
  bool close(const Node& node) {
    if (closed_[place_of(node)]) {
      return false;
    }
    closed_[place_of(node)] = true;
    return true;
  }

  std::vector<Step> path_to(NodeNumber number) const {
    std::vector<Step> steps;
    for (; nodes_[number].arrival.parent != kNone; number = nodes_[number].arrival.parent) {
      steps.push_back(nodes_[number].arrival.step);
    }
    std::reverse(steps.begin(), steps.end());
    return steps;
  }

  const Machine& machine_;
  const ExploreOptions& options_;
  const std::size_t actors_;
  StateTable seen_;
  std::vector<Node> nodes_;
  std::vector<bool> closed_;  // by state and actor
  std::deque<NodeNumber> open_;
  State state_, next_;
  std::vector<Step> steps_;
  std::string encoding_;
};

}  // namespace

Result<std::optional<Witness>> find_witness(const Machine& machine, const ExploreOptions& options) {
  return WitnessSearch(machine, options).run();
}

}  // namespace ferry::sim::litmus
