// LinearizationSearch: looks for an order of the calls on one object that its model explains. Internal to
// linearizability.hpp.
//
// The algorithm of Wing and Gong (Testing and verifying concurrent objects, 1993) with Lowe's memory of configurations
// (Testing for linearizability, 2017): take any call that no unordered return precedes; go on from the state it leaves;
// take it back if that leads nowhere; never go on twice from the same set of ordered calls and the same state.
// A call that never returned may be taken like any other, and may be left out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ferry/base/random.hpp>
#include <ferry/sim/history/call.hpp>

namespace ferry::sim::detail {

enum class Found : std::uint8_t { order, nothing, gave_up };

template <SequentialModel Model>
class LinearizationSearch {
 public:
  // calls: pointers, so that no copy is needed; all of one object. They and the model outlive the search.
  LinearizationSearch(const Model& model, std::span<const CallOf<Model>* const> calls, std::size_t max_configurations)
      : model_(model), calls_(calls), bound_(max_configurations) {
    link();
  }

  Found run() {
    State state = model_.initial();
    std::size_t entry = next_[kHead];
    while (returns_left_ > 0) {
      if (entry != kEnd && !is_return(entry)) {
        State after = state;
        if (take(entry, after)) {
          if (seen_.size() > bound_) {
            return Found::gave_up;
          }
          state = std::move(after);
          entry = next_[kHead];
        } else {
          entry = next_[entry];
        }
        continue;
      }
      if (taken_.empty()) {
        return Found::nothing;
      }
      entry = take_back(state);
    }
    note_longest(state);
    return Found::order;
  }

  // Indices into calls: the order that was found, or the longest that came to nothing; and the state it leaves.
  const std::vector<std::size_t>& longest() const noexcept { return longest_; }
  const typename Model::State& state_after_longest() const noexcept { return longest_state_; }
  std::size_t configurations() const noexcept { return seen_.size(); }

 private:
  using State = typename Model::State;

  // Entries are calls and returns in the order of time, in a list from which a taken call is removed with its return.
  // 0 is the head; call i is 1 + 2i, its return 2 + 2i.
  static constexpr std::size_t kHead = 0;
  static constexpr std::size_t kEnd = SIZE_MAX;
  static constexpr std::size_t call_of(std::size_t entry) noexcept { return (entry - 1) / 2; }
  static constexpr bool is_return(std::size_t entry) noexcept { return entry % 2 == 0; }

  struct Taken {
    std::size_t entry;
    State before;
  };
  // A set of calls as the sum of a random 128-bit number for each: two of as many as memory holds are taken for the
  // same with a probability below 2^-80, and each step costs the same however long the history is.
  struct Set {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    friend bool operator==(const Set&, const Set&) = default;
    void toggle(std::size_t call) noexcept {
      low ^= mix64(2 * call);
      high ^= mix64(~std::uint64_t{2 * call});
    }
  };
  struct Configuration {
    Set ordered;
    State state;
    friend bool operator==(const Configuration&, const Configuration&) = default;
  };
  struct HashOf {
    const Model& model;
    std::size_t operator()(const Configuration& configuration) const {
      return mix64(configuration.ordered.low ^ model.hash(configuration.state));
    }
  };

  void link() {
    struct At {
      std::int64_t time;
      std::size_t entry;
    };
    std::vector<At> times;
    for (std::size_t index = 0; index < calls_.size(); ++index) {
      times.push_back({calls_[index]->called, 1 + 2 * index});
      if (calls_[index]->output) {
        times.push_back({calls_[index]->returned, 2 + 2 * index});
        ++returns_left_;
      }
    }
    // At one instant calls come before returns: what touches in time counts as concurrent.
    std::sort(times.begin(), times.end(), [](const At& a, const At& b) {
      return std::tuple(a.time, is_return(a.entry), a.entry) < std::tuple(b.time, is_return(b.entry), b.entry);
    });
    next_.assign(1 + 2 * calls_.size(), kEnd);
    previous_.assign(1 + 2 * calls_.size(), kEnd);
    std::size_t last = kHead;
    for (const At& at : times) {
      next_[last] = at.entry;
      previous_[at.entry] = last;
      last = at.entry;
    }
  }

  void unlink(std::size_t entry) noexcept {
    next_[previous_[entry]] = next_[entry];
    if (next_[entry] != kEnd) {
      previous_[next_[entry]] = previous_[entry];
    }
  }
  void relink(std::size_t entry) noexcept {
    next_[previous_[entry]] = entry;
    if (next_[entry] != kEnd) {
      previous_[next_[entry]] = entry;
    }
  }

  // Takes the call next, if the model allows that and leads to what was not seen; `state` is then the one it leaves.
  bool take(std::size_t entry, State& state) {
    const std::size_t index = call_of(entry);
    const CallOf<Model>& call = *calls_[index];
    State before = state;
    if (!model_.apply(state, call.input, call.output ? &*call.output : nullptr)) {
      return false;
    }
    Set with = ordered_;
    with.toggle(index);
    if (!seen_.insert({with, state}).second) {
      return false;
    }
    ordered_ = with;
    taken_.push_back({entry, std::move(before)});
    unlink(entry);
    if (call.output) {
      unlink(entry + 1);
      --returns_left_;
    }
    return true;
  }

  // The entry behind the one that was taken back.
  std::size_t take_back(State& state) {
    note_longest(state);
    Taken taken = std::move(taken_.back());
    taken_.pop_back();
    state = std::move(taken.before);
    const std::size_t index = call_of(taken.entry);
    ordered_.toggle(index);
    if (calls_[index]->output) {
      relink(taken.entry + 1);
      ++returns_left_;
    }
    relink(taken.entry);
    return next_[taken.entry];
  }

  void note_longest(const State& state) {
    if (taken_.size() > longest_.size() || returns_left_ == 0) {
      longest_.clear();
      for (const Taken& taken : taken_) {
        longest_.push_back(call_of(taken.entry));
      }
      longest_state_ = state;
    }
  }

  const Model& model_;
  const std::span<const CallOf<Model>* const> calls_;
  const std::size_t bound_;
  std::vector<std::size_t> next_;
  std::vector<std::size_t> previous_;
  std::size_t returns_left_ = 0;
  Set ordered_;
  std::vector<Taken> taken_;
  std::unordered_set<Configuration, HashOf> seen_{16, HashOf{model_}};
  std::vector<std::size_t> longest_;
  State longest_state_ = model_.initial();
};

}  // namespace ferry::sim::detail
