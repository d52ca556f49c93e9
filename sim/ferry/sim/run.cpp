#include <ferry/sim/run.hpp>

namespace ferry::sim::detail {

Report run_world(const WorldOptions& options, std::vector<ActorClass> classes, NodeProgram::Main main) {
  World world(options);
  world.start("root", node_entry(std::move(classes), std::move(main)));
  Report report;
  report.result = world.run();
  report.status = report.result.outcome == Outcome::passed ? 0 : 1;
  return report;
}

}  // namespace ferry::sim::detail
