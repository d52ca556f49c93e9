#include <ferry/sim/run.hpp>

#include <utility>

namespace ferry::sim::detail {

Report run_world(const WorldOptions& options, std::vector<ActorClass> classes, const WorldMain& main) {
  World world(options);
  const Process& root =
      world.start("root", node_entry(std::move(classes), [&](Context& context) { return main(world, context); }));
  Report report;
  report.result = world.run();
  if (report.result.outcome == Outcome::passed) {
    report.status = 0;
  } else if (root.state() == Process::State::exited && root.how_ended().value != 0) {
    report.status = root.how_ended().value;
  }
  return report;
}

}  // namespace ferry::sim::detail
