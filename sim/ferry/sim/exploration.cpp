// What an exploration found, as lists and text.
#include <fmt/format.h>

#include <ferry/sim/explore.hpp>

namespace ferry::sim {
namespace {

std::string counts(const std::map<std::string, std::uint64_t>& counted) {
  std::string text;
  for (const auto& [name, count] : counted) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  }
  return text;
}

}  // namespace

std::vector<std::string> Exploration::unreached() const {
  std::vector<std::string> names;
  for (const auto& [name, count] : marks) {
    if (count == 0) {
      names.push_back(name);
    }
  }
  return names;
}

std::string Exploration::to_text() const {
  const bool lacks_marks = requires_marks && !failure && !unreached().empty();
  std::string text = failure ? fmt::format("world {} failed: {}", worlds, failure->smallest.to_text())
                     : lacks_marks
                         ? fmt::format("failed: marks were not reached, though each of {} worlds passed", worlds)
                         : fmt::format("{} worlds passed", worlds);
  if (!struck.empty()) {
    text += "; struck: " + counts(struck);
  }
  if (!found.empty()) {
    text += "; findings: " + counts(found);
  }
  if (failure) {  // later worlds might have reached them
    return text;
  }
  std::string never;
  for (const std::string& name : unreached()) {
    never += (never.empty() ? "" : ", ") + name;
  }
  return never.empty() ? text : text + "; never reached: " + never;
}

}  // namespace ferry::sim
