#include <ferry/sim/choices.hpp>

#include <utility>

namespace ferry::sim {
namespace {

template <std::size_t... I>
std::array<Random, kChoiceKinds> streams_for(std::uint64_t seed, std::index_sequence<I...>) noexcept {
  return {stream_of(seed, 1, I)...};
}

}  // namespace

std::string_view to_string(ChoiceKind kind) noexcept {
  constexpr std::array<std::string_view, kChoiceKinds> kNames{"next",  "latency",   "cut",    "remains", "place",
                                                              "drop",  "duplicate", "delay",  "stall",   "early",
                                                              "swarm", "fault",     "moment", "buggify", "omit"};
  return kNames[static_cast<std::size_t>(kind)];
}

SeededChoices::SeededChoices(std::uint64_t seed) noexcept
    : streams_(streams_for(seed, std::make_index_sequence<kChoiceKinds>())) {}

std::uint64_t SeededChoices::choose(const Question& question) noexcept {
  Random& stream = streams_[static_cast<std::size_t>(question.kind)];
  if (question.odds == 0) {
    return stream.below(question.n);
  }
  return stream.below(question.odds) == 0 ? 1 + stream.below(question.n - 1) : 0;
}

}  // namespace ferry::sim
