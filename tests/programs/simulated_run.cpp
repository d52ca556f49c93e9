// ferry::run and ferry::sim::run for an example as it stands: linked to it, in place of the bodies in the libraries,
// they run it in a world of the test's choosing. From the environment: FERRY_SIM_PROFILE, what the NICs promise; and
// FERRY_SIM_SEED, for examples that choose none because they know of no simulator.

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ferry/run/run.hpp>
#include <ferry/sim/run.hpp>

namespace {

const char* chosen(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) {
    std::fprintf(stderr, "%s is not set\n", name);
    std::exit(2);
  }
  return value;
}

}  // namespace

namespace ferry::sim::detail {

Report run_world(const WorldOptions& options, std::vector<ActorClass> classes, const WorldMain& main) {
  WorldOptions chosen_options = options;
  chosen_options.fabric.profile = nic_profile(chosen("FERRY_SIM_PROFILE"));
  World world(chosen_options);
  const Process& root =
      world.start("root", node_entry(std::move(classes), [&](Context& context) { return main(world, context); }));
  Report report;
  report.result = world.run();
  const bool has_passed = report.result.outcome == Outcome::passed;
  report.status = has_passed ? 0 : root.state() == Process::State::exited ? root.how_ended().value : 1;
  return report;
}

}  // namespace ferry::sim::detail

namespace ferry::detail {

int run_program(const NodeOptions&, std::vector<ActorClass> classes, std::function<Task<int>(Context&)> program) {
  sim::WorldOptions options;
  options.seed = std::stoull(chosen("FERRY_SIM_SEED"));
  const sim::Report report = sim::detail::run_world(
      options, std::move(classes), [&program](sim::World&, Context& context) { return program(context); });
  if (report.result.outcome != sim::Outcome::passed) {
    std::fprintf(stderr, "%s\n", report.result.to_text().c_str());
    return 1;
  }
  return report.status;
}

}  // namespace ferry::detail
