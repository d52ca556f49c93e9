// What the litmus tests share: programs from text and from the suite, and sets of outcomes as text.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ferry/sim/litmus/explorer.hpp>
#include <ferry/sim/litmus/narration.hpp>
#include <ferry/sim/litmus/parser.hpp>

namespace ferry::sim::litmus {

inline constexpr std::size_t kSuiteSize = 54;
inline constexpr ProfileName kBothProfiles[] = {ProfileName::strict, ProfileName::portable};

// The tests of one text, which must be right.
inline std::vector<Program> programs_of(std::string_view text, std::string_view name = "text") {
  auto parsed = parse(name, text);
  if (!parsed) {
    ADD_FAILURE() << parsed.error().detail();
    return {};
  }
  return std::move(*parsed);
}

inline Program program_of(std::string_view text) {
  return std::move(programs_of(text).at(0));
}

// All tests of the suite, file by file.
inline std::vector<Program> suite() {
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("tests/sim/litmus/suite")) {
    if (entry.path().extension() == ".litmus") {
      files.insert(entry.path());
    }
  }
  std::vector<Program> programs;
  for (const auto& path : files) {
    std::ifstream in(path);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    std::vector<Program> own = programs_of(text, path.filename().string());
    std::move(own.begin(), own.end(), std::back_inserter(programs));
  }
  return programs;
}

inline Exploration explored(const Program& program, ProfileName profile) {
  const Machine machine(program, profile_of(profile));
  auto result = explore(machine);
  EXPECT_TRUE(result);
  return std::move(*result);
}

// The program's outcomes as text, "x@B=1 A:r=0".
inline std::set<std::string> outcomes_of(const Program& program, ProfileName profile) {
  std::set<std::string> texts;
  for (const Outcome& outcome : explored(program, profile).outcomes) {
    texts.insert(to_text(program, outcome));
  }
  return texts;
}

}  // namespace ferry::sim::litmus
