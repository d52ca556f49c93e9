// check_linearizable: does a history look as if each call had taken effect at one instant between its call and its
// return? The contract of every object that several callers share.
//
//   Verdict verdict = check_linearizable(RegisterModel{}, calls);
//   if (!verdict) { std::puts(verdict.text.c_str()); }
//
// Objects (Call::key) are judged one by one, which is sound (Herlihy and Wing, 1990, locality). Calls of unknown
// outcome may take effect later or never. Calls that touch in time (one returns when another is made) count as
// concurrent. The search is exponential at worst, in the number of calls that overlap; max_configurations bounds its
// memory, and a history that needs more is `undecided`, never passed. Any thread; nothing is kept.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <ferry/base/result.hpp>
#include <ferry/sim/history/call.hpp>
#include <ferry/sim/history/linearization_search.hpp>

namespace ferry::sim {

struct Verdict {
  enum class Kind : std::uint8_t { linearizable, not_linearizable, undecided };
  Kind kind = Kind::linearizable;
  // Not linearizable: the first return that no order explains, what could be ordered, and the state then. Undecided:
  // how far the search came.
  std::string text{};
  std::uint64_t key = 0;  // of the object that decided it
  std::size_t configurations = 0;

  explicit operator bool() const noexcept { return kind == Kind::linearizable; }
};

// Of one check.
struct LinearizabilityOptions {
  std::size_t max_configurations = 4'000'000;  // of one object; a hundred bytes each, or so
};

namespace detail {

template <SequentialModel Model>
std::string text_of(const Model& model, const CallOf<Model>& call) {
  const std::string what = model.text(call.input, call.output ? &*call.output : nullptr);
  return call.output ? fmt::format("caller {}: {}  [{}, {}]", call.caller, what, call.called, call.returned)
                     : fmt::format("caller {}: {}  [{}, never returned]", call.caller, what, call.called);
}

// What was called by that time: of what had not returned by then the outcome is unknown. Every part of a linearizable
// history is linearizable.
template <SequentialModel Model>
std::vector<CallOf<Model>> part_until(std::span<const CallOf<Model>* const> calls, std::int64_t time) {
  std::vector<CallOf<Model>> part;
  for (const CallOf<Model>* call : calls) {
    if (call->called <= time) {
      part.push_back(*call);
      if (call->output && call->returned > time) {
        part.back().output.reset();
      }
    }
  }
  return part;
}

template <SequentialModel Model>
std::vector<const CallOf<Model>*> pointers_to(const std::vector<CallOf<Model>>& calls) {
  std::vector<const CallOf<Model>*> pointers;
  for (const CallOf<Model>& call : calls) {
    pointers.push_back(&call);
  }
  return pointers;
}

// The shortest part that no order explains, by halving: it ends with the return that is to be explained.
template <SequentialModel Model>
std::string explain(const Model& model, std::span<const CallOf<Model>* const> calls, std::size_t bound) {
  std::vector<std::int64_t> returns;
  for (const CallOf<Model>* call : calls) {
    if (call->output) {
      returns.push_back(call->returned);
    }
  }
  std::sort(returns.begin(), returns.end());
  std::size_t good = 0;  // as many returns are explained
  std::size_t bad = returns.size();
  while (bad - good > 1) {
    const std::size_t middle = (good + bad) / 2;
    const auto part = part_until<Model>(calls, returns[middle - 1]);
    const auto pointers = pointers_to<Model>(part);
    (LinearizationSearch<Model>(model, pointers, bound).run() == Found::nothing ? bad : good) = middle;
  }
  const std::int64_t time = returns[bad - 1];
  const auto part = part_until<Model>(calls, time);
  const auto pointers = pointers_to<Model>(part);
  LinearizationSearch<Model> search(model, pointers, bound);
  static_cast<void>(search.run());
  std::string text = "no order explains how this ended:\n";
  for (const CallOf<Model>& call : part) {
    if (call.output && call.returned == time) {
      text += "  " + text_of(model, call) + "\n";
    }
  }
  constexpr std::size_t kShown = 12;
  const auto& order = search.longest();
  const std::size_t from = order.size() > kShown ? order.size() - kShown : 0;
  text += fmt::format("the longest order of the calls until then, {} of {}{}:\n", order.size(), part.size(),
                      from > 0 ? fmt::format(", the last {} of them", kShown) : "");
  for (std::size_t index = from; index < order.size(); ++index) {
    text += "  " + text_of(model, part[order[index]]) + "\n";
  }
  return text + "leaves " + model.text(search.state_after_longest()) + "\n";
}

}  // namespace detail

// Throws Error (invalid_argument) for a call that returned before it was made.
template <SequentialModel Model>
Verdict check_linearizable(const Model& model, std::span<const CallOf<Model>> calls,
                           const LinearizabilityOptions& options = {}) {
  std::map<std::uint64_t, std::vector<const CallOf<Model>*>> objects;
  for (const CallOf<Model>& call : calls) {
    if (call.output && call.returned < call.called) {
      throw Error(Failure(errc::invalid_argument,
                          fmt::format("a call returned before it was made: {}", detail::text_of(model, call))));
    }
    objects[call.key].push_back(&call);
  }
  Verdict undecided;
  Verdict all;
  for (const auto& [key, of_object] : objects) {
    detail::LinearizationSearch<Model> search(model, of_object, options.max_configurations);
    const detail::Found found = search.run();
    all.configurations += search.configurations();
    if (found == detail::Found::nothing) {
      return {Verdict::Kind::not_linearizable, detail::explain<Model>(model, of_object, options.max_configurations),
              key, all.configurations};
    }
    if (found == detail::Found::gave_up && undecided) {
      undecided = {Verdict::Kind::undecided,
                   fmt::format("undecided after {} configurations, {} of {} calls ordered at most; more are allowed by "
                               "LinearizabilityOptions::max_configurations\n",
                               search.configurations(), search.longest().size(), of_object.size()),
                   key, 0};
    }
  }
  if (!undecided) {
    undecided.configurations = all.configurations;
    return undecided;
  }
  return all;
}

template <SequentialModel Model>
Verdict check_linearizable(const Model& model, const std::vector<CallOf<Model>>& calls,
                           const LinearizabilityOptions& options = {}) {
  return check_linearizable(model, std::span<const CallOf<Model>>(calls), options);
}

}  // namespace ferry::sim
