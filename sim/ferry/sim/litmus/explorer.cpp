#include <ferry/sim/litmus/explorer.hpp>

#include <set>
#include <string>

#include <fmt/format.h>

#include <ferry/base/check.hpp>
#include <ferry/sim/litmus/state_codec.hpp>
#include <ferry/sim/litmus/state_table.hpp>

namespace ferry::sim::litmus {
namespace {

class Explorer {
 public:
  Explorer(const Machine& machine, const ExploreOptions& options) : machine_(machine), options_(options) {}

  Result<Exploration> run() {
    discover(machine_.initial());
    while (!open_.empty()) {
      const StateNumber number = open_.back();
      open_.pop_back();
      decode(machine_.program(), seen_[number], state_);
      machine_.find_enabled(state_, steps_);
      if (steps_.empty()) {
        end();
      }
      for (const Step& step : steps_) {
        next_ = state_;
        machine_.take(next_, step);
        discover(next_);
      }
      if (is_too_much(options_, seen_.size(), seen_.bytes() + open_.capacity() * sizeof(StateNumber))) {
        return too_much(machine_, options_, seen_.size());
      }
    }
    result_.states = seen_.size();
    result_.outcomes.assign(outcomes_.begin(), outcomes_.end());
    return std::move(result_);
  }

 private:
  void discover(const State& state) {
    encode(machine_.program(), state, encoding_);
    const auto [number, is_new] = seen_.insert(encoding_);
    if (!is_new) {
      return;
    }
    open_.push_back(number);
    if (seen_.size() % kProgressInterval == 0 && options_.progress) {
      options_.progress(seen_.size());
    }
  }

  void end() {
    if (machine_.is_finished(state_)) {
      outcomes_.insert(outcome_of(state_));
    } else {
      ++result_.stuck;
    }
  }

  const Machine& machine_;
  const ExploreOptions& options_;
  StateTable seen_;
  std::vector<StateNumber> open_;  // discovered, not visited yet
  std::set<Outcome> outcomes_;
  Exploration result_;
  // Used again for every state, so that the loop seldom allocates.
  State state_, next_;
  std::vector<Step> steps_;
  std::string encoding_;
};

}  // namespace

Result<Exploration> explore(const Machine& machine, const ExploreOptions& options) {
  return Explorer(machine, options).run();
}

bool is_too_much(const ExploreOptions& options, std::size_t states, std::size_t bytes) noexcept {
  return states > options.max_states || bytes > options.max_bytes;
}

Failure too_much(const Machine& machine, const ExploreOptions& options, std::size_t states) {
  const auto& name = machine.program().name;
  const auto profile = to_string(machine.profile().name);
  return Failure(errc::resource_exhausted,
                 states > options.max_states
                     ? fmt::format("{} has more than {} states under {}", name, options.max_states, profile)
                     : fmt::format("the states of {} under {}, {} so far, take more than {} MiB", name, profile, states,
                                   options.max_bytes >> 20));
}

Outcome outcome_of(const State& state) {
  for (const QueueState& queue : state.queues) {  // nothing can stay behind where no step can be next
    FERRY_CHECK(queue.list.empty() && queue.to_local.empty() && queue.to_remote.empty());
  }
  return {state.memory, state.registers};
}

}  // namespace ferry::sim::litmus
