#include <ferry/mesh/mesh_error.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace ferry {
namespace {

constexpr std::size_t kTold = 8;  // causes spelled out in the text, and ranks named for each

// Whether `property` of all failures is that of the first.
template <class F>
bool is_common(const std::vector<RankFailure>& failures, F property) {
  return std::all_of(failures.begin(), failures.end(), [&](const RankFailure& one) {
    return property(one.failure) == property(failures.front().failure);
  });
}

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t index = 0; index < names.size() && index < kTold; ++index) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", names[index]);
  }
  return names.size() > kTold ? fmt::format("{} and {} more", text, names.size() - kTold) : text;
}

// What the failures have in common stands in front, once; ranks that failed alike share a sentence; the rank says
// where.
Failure summary(std::size_t ranks, const std::vector<RankFailure>& failures) {
  const Failure& first = failures.front().failure;
  if (ranks == 1) {
    return first;
  }
  const bool one_operation = is_common(failures, [](const Failure& failure) { return failure.operation(); });
  const bool one_code = is_common(failures, [](const Failure& failure) { return failure.code(); });
  const bool one_effect = is_common(failures, [](const Failure& failure) { return failure.effect(); });
  struct Cause {
    std::string text;
    std::vector<std::string> where;
  };
  std::vector<Cause> causes;
  for (const RankFailure& one : failures) {
    Failure told = one.failure.with_peer({});
    told = one_operation ? told.during({}) : told;
    told = one_effect ? told.with_effect(Effect::none) : told;
    std::string text = told.to_text();
    if (const std::string code = fmt::format("{}: ", to_string(first.code())); one_code && text.starts_with(code)) {
      text.erase(0, code.size());
    }
    const auto known =
        std::find_if(causes.begin(), causes.end(), [&](const Cause& cause) { return cause.text == text; });
    if (known == causes.end()) {
      causes.push_back({std::move(text), {one.where}});
    } else {
      known->where.push_back(one.where);
    }
  }
  const bool all = failures.size() == ranks;
  std::string text =
      all ? fmt::format("all {} ranks failed", ranks) : fmt::format("{} of {} ranks failed", failures.size(), ranks);
  for (std::size_t index = 0; index < causes.size() && index < kTold; ++index) {
    const Cause& cause = causes[index];
    text += fmt::format("{} {}{}", index == 0 ? ":" : ";", all && causes.size() == 1 ? "" : list_of(cause.where) + ": ",
                        cause.text);
  }
  if (causes.size() > kTold) {
    text += fmt::format("; and {} more causes", causes.size() - kTold);
  }
  const bool may_have = std::any_of(failures.begin(), failures.end(),
                                    [](const RankFailure& one) { return one.failure.effect() == Effect::unknown; });
  return Failure(first.code(), std::move(text))
      .during(one_operation ? first.operation() : std::string())
      .with_effect(may_have ? Effect::unknown : Effect::none);
}

}  // namespace

MeshError::MeshError(std::size_t ranks, std::vector<RankFailure> failures)
    : Error(summary(ranks, failures)), failures_(std::move(failures)) {}

}  // namespace ferry
