#include <ferry/sim/history/object_models.hpp>

#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ferry/base/random.hpp>

namespace ferry::sim {
namespace {

bool gives(const ObjectOutput* output, const Words& value) {
  return output == nullptr || *output == value;
}

std::string text_of(const Words& words) {
  return words.empty()       ? "nothing"
         : words.size() == 1 ? fmt::format("{}", words.front())
                             : fmt::format("[{}]", fmt::join(words, ", "));
}

std::int64_t wrapping_sum(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

}  // namespace

std::string_view to_string(Method method) noexcept {
  constexpr std::array<std::string_view, 10> kNames{"read",    "write",       "swap",    "fetch_add", "compare_swap",
                                                    "acquire", "try_acquire", "release", "push",      "pop"};
  return kNames[static_cast<std::size_t>(method)];
}

std::uint64_t ObjectModel::hash(const State& state) noexcept {
  std::uint64_t hash = state.size();
  for (const std::int64_t word : state) {
    hash = mix64(hash ^ static_cast<std::uint64_t>(word));
  }
  return hash;
}

std::string ObjectModel::text(const Input& input, const Output* output) {
  std::string text(to_string(input.method));
  if (!input.expected.empty()) {
    text += fmt::format(" {} ->", text_of(input.expected));
  }
  if (!input.argument.empty()) {
    text += fmt::format(" {}", text_of(input.argument));
  }
  return output == nullptr ? text + ", outcome unknown" : output->empty() ? text : text + " = " + text_of(*output);
}

std::string ObjectModel::json_of(const Words& words) {
  return words.empty()       ? "null"
         : words.size() == 1 ? fmt::format("{}", words.front())
                             : fmt::format("[{}]", fmt::join(words, ","));
}

std::string RegisterModel::to_json() const {
  return fmt::format(R"({{"model":"register","initial":{}}})", json_of(initial_));
}

std::string LockModel::to_json() const {
  return R"({"model":"lock"})";
}

std::string QueueModel::to_json() const {
  return capacity_ == SIZE_MAX ? R"({"model":"queue"})"
                               : fmt::format(R"({{"model":"queue","capacity":{}}})", capacity_);
}

bool RegisterModel::apply(State& state, const Input& input, const Output* output) const {
  switch (input.method) {
    case Method::read:
      return gives(output, state);
    case Method::write:
      state = input.argument;
      return gives(output, {});
    case Method::swap:
      if (!gives(output, state)) {
        return false;
      }
      state = input.argument;
      return true;
    case Method::fetch_add:
      if (state.size() != 1 || input.argument.size() != 1 || !gives(output, state)) {
        return false;
      }
      state.front() = wrapping_sum(state.front(), input.argument.front());
      return true;
    case Method::compare_swap:
      if (!gives(output, state)) {
        return false;
      }
      if (state == input.expected) {
        state = input.argument;
      }
      return true;
    default:
      return false;
  }
}

std::string RegisterModel::text(const State& state) const {
  return "the value " + text_of(state);
}

bool LockModel::apply(State& state, const Input& input, const Output* output) const {
  switch (input.method) {
    case Method::acquire:
      if (!state.empty()) {
        return false;
      }
      state = {input.caller};
      return gives(output, {});
    case Method::try_acquire:
      if (!state.empty()) {
        return gives(output, {0});
      }
      state = {input.caller};
      return gives(output, {1});
    case Method::release:
      if (state != State{input.caller}) {
        return false;
      }
      state.clear();
      return gives(output, {});
    default:
      return false;
  }
}

std::string LockModel::text(const State& state) const {
  return state.empty() ? "the lock free" : fmt::format("the lock held by caller {}", state.front());
}

bool QueueModel::apply(State& state, const Input& input, const Output* output) const {
  switch (input.method) {
    case Method::push:
      if (input.argument.size() != 1) {
        return false;
      }
      if (state.size() >= capacity_) {
        return gives(output, {0});
      }
      state.push_back(input.argument.front());
      return gives(output, {1});
    case Method::pop:
      if (state.empty()) {
        return gives(output, {});
      }
      if (!gives(output, {state.front()})) {
        return false;
      }
      state.erase(state.begin());
      return true;
    default:
      return false;
  }
}

std::string QueueModel::text(const State& state) const {
  return state.empty() ? "the queue empty" : fmt::format("the queue holding [{}]", fmt::join(state, ", "));
}

}  // namespace ferry::sim
