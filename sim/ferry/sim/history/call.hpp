// Call: one operation of a history, as its caller saw it. SequentialModel: what an object does when calls come one
// after another; a history is linearizable if it looks as if they had.
//
// Plain values. Times are of one clock for the whole history, in any unit.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>

namespace ferry::sim {

template <class Input, class Output>
struct Call {
  std::uint32_t caller = 0;
  std::uint64_t key = 0;  // which object: each is judged by itself
  Input input{};
  // None: the caller never learned how it ended. Such a call may take effect at any time after it was made, or never.
  std::optional<Output> output{};
  std::int64_t called = 0;
  std::int64_t returned = 0;  // at or after `called`; without meaning where there is no output
};

// State: copyable and comparable. apply: what the call does to the state; false, if it could not have given this output
// in this state (null: any output will do), and then the state does not matter any more.
template <class M>
concept SequentialModel = std::copyable<typename M::State> && std::equality_comparable<typename M::State> &&
    requires(const M& model, typename M::State& state, const typename M::State& seen, const typename M::Input& input,
             const typename M::Output* output) {
  { model.initial() } -> std::same_as<typename M::State>;
  { model.apply(state, input, output) } -> std::same_as<bool>;
  { model.hash(seen) } -> std::same_as<std::uint64_t>;
  { model.text(input, output) } -> std::same_as<std::string>;
  { model.text(seen) } -> std::same_as<std::string>;
};

template <SequentialModel M>
using CallOf = Call<typename M::Input, typename M::Output>;

}  // namespace ferry::sim
