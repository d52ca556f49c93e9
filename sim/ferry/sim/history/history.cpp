#include <ferry/sim/history/history.hpp>

#include <fmt/format.h>

#include <ferry/base/check.hpp>

namespace ferry::sim {
namespace {

std::int64_t count_of(TimePoint time) noexcept {
  return time.time_since_epoch().count();
}

}  // namespace

History::Open History::begin(std::uint32_t caller, std::uint64_t key, ObjectInput input, TimePoint now) {
  input.caller = caller;
  calls_.push_back({caller, key, std::move(input), std::nullopt, count_of(now), 0});
  withdrawn_.push_back(false);
  return calls_.size() - 1;
}

void History::end(Open call, ObjectOutput output, TimePoint now) {
  FERRY_CHECK(call < calls_.size() && !calls_[call].output && !withdrawn_[call]);
  calls_[call].output = std::move(output);
  calls_[call].returned = count_of(now);
}

void History::withdraw(Open call) {
  FERRY_CHECK(call < calls_.size() && !calls_[call].output);
  withdrawn_[call] = true;
}

std::vector<ObjectCall> History::calls() const {
  std::vector<ObjectCall> calls;
  for (std::size_t index = 0; index < calls_.size(); ++index) {
    if (!withdrawn_[index]) {
      calls.push_back(calls_[index]);
    }
  }
  return calls;
}

std::string History::lines_behind(std::string text) const {
  for (const ObjectCall& call : calls()) {
    text += fmt::format(R"({{"caller":{},"key":{},"call":"{}")", call.caller, call.key, to_string(call.input.method));
    if (!call.input.argument.empty()) {
      text += fmt::format(R"(,"value":{})", ObjectModel::json_of(call.input.argument));
    }
    if (!call.input.expected.empty()) {
      text += fmt::format(R"(,"expected":{})", ObjectModel::json_of(call.input.expected));
    }
    text += fmt::format(R"(,"called":{})", call.called);
    if (call.output) {
      text += fmt::format(R"(,"returned":{},"result":{})", call.returned, ObjectModel::json_of(*call.output));
    }
    text += "}\n";
  }
  return text;
}

}  // namespace ferry::sim
