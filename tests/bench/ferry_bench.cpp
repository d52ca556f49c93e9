// ferry_bench SECTION: takes one sample of each figure of a section and prints them as lines of JSON. ci/bench runs it
// beside its peers, several times in turn, and makes the table.
#include <array>
#include <string_view>

#include <fmt/format.h>

#include <ferry/ferry.hpp>

#include "local_actors.hpp"
#include "partner.hpp"
#include "sections.hpp"

namespace ferry_bench {
namespace {

struct Section {
  std::string_view name;
  std::string_view transport;
  ferry::Task<int> (*measure)(ferry::Context);
};

constexpr std::array<Section, 9> kSections{{
    {"shm", "shm", &measure_shared_memory},
    {"other", "shm", &measure_other_memory},
    {"tcp", "tcp", &measure_tcp},
    {"call-shm", "shm", &measure_remote_calls},
    {"call-tcp", "tcp", &measure_remote_calls},
    {"call-local", "shm", &measure_local_calls},
    {"memory-shm", "shm", &measure_memory},
    {"memory-tcp", "tcp", &measure_memory},
    {"idle", "tcp", &measure_idle},
}};

int run_section(const Section& section) {
  ferry::NodeOptions options;
  options.transports = section.transport;
  return ferry::run(options, ferry::actors<Partner, Caller, Callee, Source, Drain>,
                    [&section](ferry::Context& context) -> ferry::Task<int> { return section.measure(context); });
}

}  // namespace
}  // namespace ferry_bench

int main(int argc, char** argv) {
  constexpr int kWrongUsage = 2;
  const std::string_view wanted = argc == 2 ? argv[1] : "";
  for (const ferry_bench::Section& section : ferry_bench::kSections) {
    if (section.name == wanted) {
      return ferry_bench::run_section(section);
    }
  }
  fmt::print(stderr, "usage: ferry_bench SECTION\nsections:");
  for (const ferry_bench::Section& section : ferry_bench::kSections) {
    fmt::print(stderr, " {}", section.name);
  }
  fmt::print(stderr, "\n");
  return kWrongUsage;
}
