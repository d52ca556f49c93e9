#include <ferry/explorer/explore.hpp>

#include <ferry/explorer/worker_processes.hpp>

namespace ferry {

sim::Exploration explore(const sim::ExploreOptions& options, const sim::RunWorld& run) {
  if (options.workers == 1) {
    return sim::explore(options, run);
  }
  explorer::WorkerProcesses crew({.workers = options.workers, .wall = options.wall});
  return sim::explore(options, run, crew);
}

}  // namespace ferry
