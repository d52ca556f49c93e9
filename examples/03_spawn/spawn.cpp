// spawn_procs starts processes: this same executable again. An actor in each makes a mesh that is called as one.

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <set>

#include <ferry/ferry.hpp>

#include "../output/output.hpp"

class Worker : public ferry::Actor {
 public:
  explicit Worker(ferry::ActorContext&) {}

  std::int64_t process() { return getpid(); }
  std::uint64_t work(std::uint64_t amount) { return done_ += amount; }

  static constexpr auto endpoints = ferry::endpoints<&Worker::process, &Worker::work>;

 private:
  std::uint64_t done_ = 0;
};

// In a spawned process run() serves its parent and never returns: what follows is executed by the root alone.
int main(int argc, char** argv) {
  return printed(ferry::run(argc, argv, ferry::actors<Worker>, [](ferry::Context& context) -> ferry::Task<int> {
    auto procs = co_await context.this_host().spawn_procs({{"rows", 2}, {"columns", 3}});
    auto workers = co_await procs.spawn<Worker>("worker");

    // A call of a mesh runs on all its actors at once, and gives a value for each.
    const auto processes = co_await workers.call<&Worker::process>();
    std::printf("%zu workers in %zu processes\n", workers.size(), std::set(processes.begin(), processes.end()).size());

    // A slice is a mesh too: the two workers of column 1.
    co_await workers.slice("columns", 1).call<&Worker::work>(5);
    const auto done = co_await workers.call<&Worker::work>(1);
    for (std::size_t rank = 0; rank < done.size(); ++rank) {
      std::printf("%s: %llu\n", done.shape().describe(rank).c_str(), static_cast<unsigned long long>(done[rank]));
    }

    // Without it they would be stopped when the root ends.
    co_await procs.stop();
    co_return 0;
  }));
}
