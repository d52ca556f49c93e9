// ferry_bench SECTION: takes one sample of each figure of a section and prints them as lines of JSON. ci/bench runs it
// beside its peers, several times in turn, and makes the table.
#include <array>
#include <chrono>
#include <string_view>

#include <fmt/format.h>

#include <ferry/ferry.hpp>

#include <core_node.hpp>

#include "crossing_executor.hpp"
#include "local_actors.hpp"
#include "partner.hpp"
#include "sections.hpp"

namespace ferry_bench {
namespace {

template <ferry::Task<int> (*measure)(ferry::Context)>
int over(std::string_view transport) {
  ferry::NodeOptions options;
  options.transports = transport;
  if (transport == "verbs") {  // where the machine is emulated, a process may not be heard of for seconds
    options.limits.failure_detection = std::chrono::minutes(1);
  }
  return ferry::run(options, ferry::actors<Partner, Caller, Callee, Source, Drain>,
                    [](ferry::Context& context) -> ferry::Task<int> { return measure(context); });
}

// Whatever the executor of a real program would make of it, caller and callee run on different threads.
int across_threads(std::string_view) {
  ferry::test::CoreNode<CrossingExecutor> node(ferry::actors<Caller, Callee>);
  return node.run(measure_crossing_calls(node.context()));
}

struct Section {
  std::string_view name;
  std::string_view transport;
  int (*run)(std::string_view transport);
};

constexpr std::array<Section, 11> kSections{{
    {"shm", "shm", &over<&measure_shared_memory>},
    {"other", "shm", &over<&measure_other_memory>},
    {"tcp", "tcp", &over<&measure_tcp>},
    {"verbs", "verbs", &over<&measure_verbs>},
    {"call-shm", "shm", &over<&measure_remote_calls>},
    {"call-tcp", "tcp", &over<&measure_remote_calls>},
    {"call-local", "shm", &over<&measure_local_calls>},
    {"call-crossing", "", &across_threads},
    {"memory-shm", "shm", &over<&measure_memory>},
    {"memory-tcp", "tcp", &over<&measure_memory>},
    {"idle", "tcp", &over<&measure_idle>},
}};

}  // namespace
}  // namespace ferry_bench

int main(int argc, char** argv) {
  constexpr int kWrongUsage = 2;
  const std::string_view wanted = argc == 2 ? argv[1] : "";
  for (const ferry_bench::Section& section : ferry_bench::kSections) {
    if (section.name == wanted) {
      return section.run(section.transport);
    }
  }
  fmt::print(stderr, "usage: ferry_bench SECTION\nsections:");
  for (const ferry_bench::Section& section : ferry_bench::kSections) {
    fmt::print(stderr, " {}", section.name);
  }
  fmt::print(stderr, "\n");
  return kWrongUsage;
}
