// World: a whole simulated job, values in and values out: seed and options; run; outcome, hashes, virtual time.
//
// The same seed, options and programs give the same hashes, in any OS process, alone or after other worlds. Worlds are
// independent of each other; each is used by one thread. Owner: the test or program that explores.
// Not here: the actors' own composition, which makes Entries.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ferry/base/task.hpp>
#include <ferry/buffer/rdma_buffer.hpp>
#include <ferry/sim/choices.hpp>
#include <ferry/sim/fabric_options.hpp>
#include <ferry/sim/fault_plan.hpp>
#include <ferry/sim/faults.hpp>
#include <ferry/sim/findings.hpp>
#include <ferry/sim/ongoing_faults.hpp>
#include <ferry/sim/parts.hpp>
#include <ferry/sim/process.hpp>
#include <ferry/sim/program.hpp>
#include <ferry/sim/scheduler.hpp>
#include <ferry/sim/sim_log.hpp>
#include <ferry/sim/swarm.hpp>
#include <ferry/sim/trace.hpp>
#include <ferry/sim/view.hpp>
#include <ferry/sim/watches.hpp>

namespace ferry::sim {

class FindingLog;
class MemoryWatch;
class SimFabric;

// Where a process lives that another one has started.
enum class Placement : std::uint8_t {
  spread,      // the hosts that are up take turns, beginning with the second
  with_parent  // on its parent's host
};

inline constexpr std::size_t kMostHosts = 4096;  // of a world

struct WorldOptions {
  std::uint64_t seed = 0;
  std::uint64_t steps = 5'000'000;  // at most
  std::size_t hosts = 1;            // 1 … 4096
  Placement placement = Placement::spread;
  Faults swarm{};  // of which the world draws some; see swarm.hpp
  FabricOptions fabric{};
  NodeLimits limits{};              // of every process that the world starts itself
  ChoiceSource* choices = nullptr;  // null: a random walk from the seed
  Log* log = nullptr;               // told every line too; null: nobody
  TraceSink* trace = nullptr;       // told what happens; null: nobody
  FindingMode findings = FindingMode::off;
  std::vector<FindingKind> expected{};  // findings that are none
};

enum class Outcome : std::uint8_t {
  passed,     // every process that the world started has ended, by exit(0) or by a crash that was asked for
  failed,     // fail() was called, or such a process exited with another status
  invariant,  // one that always() names did not hold
  finding,    // a contract race, and FindingMode::fail
  stuck,      // nothing can happen any more, and some of them live
  steps,      // the step budget is used up
  crash,      // explored in a worker process, which died: an abort, a signal, a sanitizer's report
  wall,       // same, which took longer than ExploreOptions::wall
};
std::string_view to_string(Outcome outcome) noexcept;

struct WorldResult {
  Outcome outcome{};
  // failed: what; invariant: its name; finding: its kind, both sides, then what happened last, a line each; stuck,
  // steps: who waits for what, a line each.
  std::string what;
  std::uint64_t seed = 0;
  std::uint64_t steps = 0;
  std::uint64_t hash = 0;  // of choices, ids, lengths and virtual times
  std::uint64_t data = 0;  // of the bytes that moved
  Duration virtual_time{};
  std::vector<std::string> faults;              // what struck, in words: OngoingFaults::told()
  std::map<std::string, std::uint64_t> struck;  // by kind: how often
  std::map<std::string, std::uint64_t> marks;   // of ferry::sometimes: how often each was reached
  std::vector<std::string> findings;            // the first few, in words as in `what`
  std::map<std::string, std::uint64_t> found;   // findings by kind: how many
  std::vector<Part> parts;                      // of its program and plans, the first kParts: what may be left out

  // "failed after 1234 steps and 0.000251000 s, seed=7 hash=0x… data=0x…: what".
  std::string to_text() const;
};

class World {
 public:
  // Throws Error (invalid_argument) for options out of range.
  explicit World(const WorldOptions& options);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Starts a process, in a step of its own. port: where it listens; zero for one of its own. Give a dead process's port
  // to start its next life at the same address. host: one that is up, or Error (invalid_argument).
  Process& start(std::string name, Entry entry, Port port = {}, Host host = {});

  // What SpawnRequest::program may name.
  void add_program(std::string name, Entry entry) { programs_[std::move(name)] = std::move(entry); }

  // Calls the function in a step at that virtual time (since the world's beginning), or at once if it has passed. If it
  // throws, the run fails. Throws Error (invalid_argument) for an empty function.
  void at(Duration time, std::function<void()> plan);
  // Faults at that time: world.at(3s).crash(world.host(1)).
  [[nodiscard]] FaultPlan at(Duration time);

  // Conditions are looked at after every step. One that a process adds ends with that process, to whose node the
  // references in it belong. One that throws fails the run. Throws Error (invalid_argument) for empty functions.

  // The run ends, by the name, when it does not hold.
  //   world.always("bounded", [&](const View& view) { const Server* server = view.peek(ref); return !server || …; });
  void always(std::string name, Condition holds);

  // Calls the function once, in a step of its own, after the condition has first held.
  void when(Condition condition, std::function<void()> plan);
  // Faults then: world.when(…).pause(process). The condition is copied.
  [[nodiscard]] FaultPlan when(Condition condition);

  // Awaited in a process: ends when the condition has held; the run fails by the name if it has not within that time.
  Task<void> eventually(std::string name, Duration within, Condition condition);

  // Of that number, from 0; Error (invalid_argument) for one that there is not.
  Host host(std::size_t index) const;

  // Readers and writers of these bytes know what they do (a seqlock, a flag that is polled): findings about them alone
  // are none from now on.
  void expect_races(std::span<const std::byte> bytes) noexcept;
  void expect_races(const RDMABuffer& buffer) noexcept;

  // Faults now. To be called from a plan, or a process, which is struck at the end of its step.
  OngoingFaults& faults() noexcept { return faults_; }

  // Awaited in a process: every fault ends, and none comes by itself any more. What follows must make progress.
  Task<void> heal();

  // Of a list that was put together for this world, what this run has of it: all, but for what making a failure small
  // has left out (parts.hpp). Ask in the same order for the same options, once, when the whole list is known. name:
  // tells lists apart; each has its own.
  //   for (const Command& command : world.parts("command", commands)) { … }
  template <class T>
  std::vector<T> parts(std::string_view name, const std::vector<T>& all) {
    std::vector<T> kept;
    for (const T& part : all) {
      if (!leaves_out(name, text_of_part(part))) {
        kept.push_back(part);
      }
    }
    return kept;
  }
  // The same about one; text: itself, in words.
  bool leaves_out(std::string_view name, std::string text);

  // Ends the run as failed; the first call counts.
  void fail(std::string what, Outcome outcome = Outcome::failed) noexcept;

  // Runs until every process that the world started has ended and every plan was carried out. Once.
  WorldResult run();

  TimePoint now() const noexcept { return scheduler_.now(); }
  Random& random(Purpose purpose) noexcept { return random_[static_cast<std::size_t>(purpose)]; }
  SimLog& log() noexcept { return log_; }
  const std::vector<std::unique_ptr<Process>>& processes() const noexcept { return processes_; }

  // For the simulator's own parts.
  Scheduler& scheduler() noexcept { return scheduler_; }
  Swarm& swarm() noexcept { return swarm_; }
  // Of sim_guard: what runs gives these bytes back to the allocator. A finding, if an operation still uses them.
  void memory_freed(const std::byte* bytes, std::size_t length);
  const Process* running_process() const noexcept;  // null: a step of the world itself
  SimFabric& fabric() noexcept { return *fabric_; }
  const Entry* find_program(const std::string& name) const noexcept;
  Process& start_child(Process& parent, const Bootstrap& bootstrap, const Entry& entry);
  void trace(const Process* process, TracedEvent::Kind kind, std::string_view text);
  void process_ended(Process& process, const ProcessExit& exit) noexcept;
  [[noreturn]] void cannot_wait(const Process& process, Scheduler::End end) const;

 private:
  struct Plan : Step {
    Plan(World* owner, std::function<void()> what) noexcept
        : Step(&World::carry_out), world(owner), plan(std::move(what)) {}
    World* world;
    std::function<void()> plan;
  };

  static void carry_out(Step& step) noexcept;
  Plan& add_plan(Duration time, std::function<void()> what);
  void withdraw(Plan& plan) noexcept;
  Host host_for_child(const Process& parent) noexcept;
  Process& add_process(Process* parent, Bootstrap bootstrap, Entry entry, Port port, Host host);
  void stop_if_done() noexcept;
  std::string describe_stuck() const;

  const WorldOptions options_;
  SeededChoices seeded_;
  std::array<Random, kPurposes> random_;
  Scheduler scheduler_;
  std::unique_ptr<FindingLog> finding_log_;  // null: nobody looks
  std::unique_ptr<MemoryWatch> memory_watch_;
  std::unique_ptr<SimFabric> fabric_;
  SimLog log_;
  JobSecret secret_{};
  std::map<std::string, Entry> programs_;
  std::vector<std::unique_ptr<Process>> processes_;  // by number
  std::vector<std::unique_ptr<Plan>> plans_;
  std::size_t roots_alive_ = 0;
  std::size_t plans_left_ = 0;
  std::uint32_t last_port_ = 0;
  std::size_t last_placed_ = 0;
  OngoingFaults faults_;
  Swarm swarm_{*this, options_.swarm};
  WorldAdversity adversity_{*this};
  Watches watches_{*this};
  std::vector<Part> parts_;
  std::map<std::uint64_t, std::uint64_t> parts_asked_;  // by subject
  Outcome failed_ = Outcome::passed;                    // not passed: fail() was called
  std::string what_;
};

}  // namespace ferry::sim
