#include <ferry/sim/litmus/sampler.hpp>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <ferry/base/random.hpp>
#include <ferry/sim/litmus/explorer.hpp>

namespace ferry::sim::litmus {
namespace {

// Who takes steps, for priorities: threads and their buffers, chunks, and the ends of queues.
class Actors {
 public:
  explicit Actors(const Program& program) : threads_(program.threads.size()), queues_(program.queues.size()) {
    count_ = 2 * threads_ + 4 * queues_;
    for (const Operation& operation : program.operations) {
      first_chunk_.push_back(count_);
      count_ += operation.chunks.size();
    }
  }

  std::size_t count() const noexcept { return count_; }

  std::size_t of(const State& state, const Step& step) const {
    const std::size_t queue = 2 * threads_ + 4 * step.actor;
    switch (step.kind) {
      case Step::Kind::execute:
        return step.actor;
      case Step::Kind::drain:
        return threads_ + step.actor;
      case Step::Kind::advance:
        return first_chunk_[state.queues[step.actor].list[step.position].operation] + step.chunk;
      case Step::Kind::immediate:
        return queue;
      case Step::Kind::retire:
        return queue + 1;
      case Step::Kind::commit_local:
        return queue + 2;
      case Step::Kind::commit_remote:
        return queue + 3;
    }
    return queue;
  }

 private:
  std::size_t threads_;
  std::size_t queues_;
  std::size_t count_ = 0;
  std::vector<std::size_t> first_chunk_;  // by operation
};

// The priorities of one PCT run. The actor with the highest goes; at each change point it falls below all others.
class Priorities {
 public:
  Priorities(const Actors& actors, std::size_t length, Random& random) : actors_(actors), priority_(actors.count()) {
    std::iota(priority_.begin(), priority_.end(), kPCTDepth);
    for (std::size_t left = priority_.size(); left > 1; --left) {
      std::swap(priority_[left - 1], priority_[random.below(left)]);
    }
    for (std::size_t change = 1; change < kPCTDepth; ++change) {
      changes_.push_back(random.below(length));
    }
  }

  const Step& choose(const State& state, const std::vector<Step>& steps, Random& random) {
    std::vector<const Step*> best;
    std::size_t actor = 0;
    for (const Step& step : steps) {
      const std::size_t its = actors_.of(state, step);
      if (best.empty() || priority_[its] > priority_[actor]) {
        best.clear();
        actor = its;
      }
      if (its == actor) {
        best.push_back(&step);
      }
    }
    for (std::size_t change = 0; change < changes_.size(); ++change) {
      if (changes_[change] == taken_) {
        priority_[actor] = change;
      }
    }
    ++taken_;
    return *best[random.below(best.size())];
  }

 private:
  const Actors& actors_;
  std::vector<std::size_t> priority_;  // by actor; distinct
  std::vector<std::size_t> changes_;   // steps after which the one who went falls
  std::size_t taken_ = 0;
};

}  // namespace

std::size_t run_length(const Program& program) {
  std::size_t length = 0;
  for (const Thread& thread : program.threads) {
    for (const Instruction& instruction : thread.instructions) {
      const bool is_buffered = instruction.opcode == Opcode::store || instruction.opcode == Opcode::post;
      length += is_buffered ? 2 : 1;
    }
  }
  for (const Operation& operation : program.operations) {
    const bool skips_a_stage =
        operation.is_inline || (is_atomic(operation.kind) && program.atomics == AtomicScope::glob);
    const std::size_t stages = last_stage(operation.kind) - (skips_a_stage ? 1U : 0U);
    length += operation.chunks.size() * (stages + 1);              // and the commit
    length += 2 + (operation.has_immediate ? std::size_t{2} : 0);  // completion and receive completion
  }
  return length;
}

Sample sample(const Machine& machine, const SampleOptions& options) {
  Random random(options.seed);
  const Actors actors(machine.program());
  const std::size_t length = std::max<std::size_t>(run_length(machine.program()), 1);
  const State initial = machine.initial();
  Sample result;
  State state;
  std::vector<Step> steps;
  for (; result.runs < options.runs; ++result.runs) {
    state = initial;
    Priorities priorities(actors, length, random);
    for (machine.find_enabled(state, steps); !steps.empty(); machine.find_enabled(state, steps)) {
      const Step step = options.strategy == SamplingStrategy::pct ? priorities.choose(state, steps, random)
                                                                  : steps[random.below(steps.size())];
      machine.take(state, step);
    }
    if (machine.is_finished(state)) {
      ++result.hits[outcome_of(state)];
    } else {
      ++result.stuck;
    }
  }
  return result;
}

}  // namespace ferry::sim::litmus
