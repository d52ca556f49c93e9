#include <ferry/mesh/mesh_error.hpp>

#include <fmt/format.h>

namespace ferry {
namespace {

constexpr std::size_t kTold = 8;  // failures spelled out in the text

Failure summary(std::size_t ranks, const std::vector<RankFailure>& failures) {
  std::string text = fmt::format("{} of {} ranks failed", failures.size(), ranks);
  for (std::size_t index = 0; index < failures.size() && index < kTold; ++index) {
    text += fmt::format("; {}: {}", failures[index].where.empty() ? "the only one" : failures[index].where,
                        failures[index].failure.to_text());
  }
  if (failures.size() > kTold) {
    text += fmt::format("; and {} more", failures.size() - kTold);
  }
  return Failure(failures.front().failure.code(), std::move(text)).with_effect(failures.front().failure.effect());
}

}  // namespace

MeshError::MeshError(std::size_t ranks, std::vector<RankFailure> failures)
    : Error(summary(ranks, failures)), failures_(std::move(failures)) {}

}  // namespace ferry
