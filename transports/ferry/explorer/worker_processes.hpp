// WorkerProcesses: the Crew that works in processes forked from this one, several at a time.
//
// A worker that dies, or takes longer than it may, is a finding, and another one takes its place. Owner: the caller of
// explore(). One thread; a fork copies this one alone, so no other should run then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ferry/explorer/progress_bar.hpp>
#include <ferry/explorer/worker.hpp>
#include <ferry/sim/crew.hpp>

namespace ferry::explorer {

struct CrewOptions {
  std::size_t workers = 0;                  // 0: as many as this process may use cores
  Duration wall = std::chrono::minutes(1);  // of one piece of work; zero: for ever
  std::uint64_t batch = 16;                 // pieces of work that a worker is given at a time; at least 1
};

class WorkerProcesses final : public sim::Crew {
 public:
  // Starts none yet. Throws Error (invalid_argument) for options out of range.
  explicit WorkerProcesses(const CrewOptions& options);

  // Throws Error: what work threw, spawn_failed or resource_exhausted where the system gives no process.
  void run(std::uint64_t count, sim::CrewJob& job) override;
  Answer once(const Work& work, Duration wall, std::size_t notes = 0) override;
  Duration now() const noexcept override { return Duration(monotonic_now()); }

 private:
  struct Batch {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };
  struct Busy {
    std::unique_ptr<Worker> worker;
    std::optional<Batch> batch;
  };
  struct Run;

  void assign(Run& run);
  void wait(Run& run);
  void look(Run& run, Busy& busy);
  void lost(Run& run, Busy& busy, bool took_too_long);
  void told(Run& run, Busy& busy, const Frame& frame);
  static void take(Run& run);
  static std::unique_ptr<Worker> start_worker(sim::CrewJob& job);
  static void pass_on_stderr(Worker& worker, ProgressBar* bar);

  CrewOptions options_;
};

}  // namespace ferry::explorer
