// The suite: every shared litmus test gets its verdict under both profiles.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ferry/sim/litmus/explorer.hpp>
#include <ferry/sim/litmus/parser.hpp>

namespace ferry::sim::litmus {
namespace {

std::vector<Program> suite() {
  std::vector<Program> programs;
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("tests/sim/litmus/suite")) {
    if (entry.path().extension() == ".litmus") {
      files.insert(entry.path());
    }
  }
  for (const auto& path : files) {
    std::ifstream in(path);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    auto parsed = parse(path.filename().string(), text);
    EXPECT_TRUE(parsed) << parsed.error().detail();
    if (parsed) {
      std::move(parsed->begin(), parsed->end(), std::back_inserter(programs));
    }
  }
  return programs;
}

TEST(LitmusSuite, Prints) {
  for (const auto& p : suite()) {
    for (auto n : {ProfileName::strict, ProfileName::portable}) {
      Machine m(p, profile_of(n));
      auto e = explore(m);
      bool allowed = false;
      for (auto& o : e->outcomes) allowed = allowed || satisfies(o, *p.question);
      auto v = allowed ? Verdict::allowed : Verdict::forbidden;
      printf("%s %s %s %s %zu states %zu stuck %zu outcomes\n", p.name.c_str(), std::string(to_string(n)).c_str(),
             std::string(to_string(v)).c_str(), p.expected_of(n) == v ? "ok" : "DIFFERS", e->states, e->stuck,
             e->outcomes.size());
    }
  }
}

}  // namespace
}  // namespace ferry::sim::litmus
