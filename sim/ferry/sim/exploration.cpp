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
  std::string text = failure ? fmt::format("world {} failed: {}", worlds, failure->smallest.to_text())
                             : fmt::format("{} worlds passed", worlds);
  if (!struck.empty()) {
    text += "; struck: " + counts(struck);
  }
  if (!found.empty()) {
    text += "; findings: " + counts(found);
  }
  std::string never;
  for (const std::string& name : unreached()) {
    never += (never.empty() ? "" : ", ") + name;
  }
  return never.empty() ? text : text + "; never reached: " + never;
}

}  // namespace ferry::sim
