// The suite in the simulator, on NICs of every profile, each with a network that does its duty and one that loses,
// doubles and delays packets, between NICs that have flushes: every scenario over several seeds, which decide order,
// delays and tearing.
//
// The guard (ferry::sim_guard) fails whatever of it asks the real machine. With FERRY_TWICE=1 each world is run twice,
// the second time in a heap of another shape and a year later, and must take the same steps and move the same bytes.
#include <cstdlib>

#include <fmt/format.h>

#include <ferry/base/channel.hpp>
#include <ferry/sim/node_program.hpp>
#include <ferry/sim/perturbed_heap.hpp>
#include <ferry/sim/world.hpp>
#include <ferry/sim_guard/guard.hpp>

#include "scenario.hpp"

namespace ferry::conformance {
namespace {

constexpr std::uint64_t kSteps = 20'000'000;

// Seeds are cheap here: this many for each that a scenario asks for.
constexpr std::uint64_t kSeedFactor = kSanitized ? 1 : 2;

sim::FabricOptions fabric_for(const sim::NicProfile& profile, bool is_lossy) {
  sim::FabricOptions fabric{.profile = &profile};
  if (is_lossy) {
    fabric.has_flushes = true;
    fabric.drop_one_in = 20;
    fabric.few_messages = 0;
    fabric.duplicate_one_in = 20;
    fabric.delay_one_in = 20;
    fabric.stall_one_in = 50;
  }
  return fabric;
}

// What the whole run covered.
struct Tally final : testing::Environment {
  static inline std::uint64_t worlds = 0;
  static inline std::uint64_t steps = 0;
  void TearDown() override { fmt::print("simulated: {} worlds, {} steps\n", worlds, steps); }
};
const testing::Environment* const tally = testing::AddGlobalTestEnvironment(new Tally);

// FERRY_FIRST_SEED: where the seeds of each scenario begin.
std::uint64_t first_seed() {
  const char* const asked = std::getenv("FERRY_FIRST_SEED");
  return asked == nullptr ? 1 : std::strtoull(asked, nullptr, 10);
}

// FERRY_TWICE: whether each world is run again.
bool twice() {
  static const bool asked = std::getenv("FERRY_TWICE") != nullptr;
  return asked;
}

constexpr std::chrono::hours kYear{24 * 365};
constexpr std::size_t kBlocks = 200;  // enough to move what a small world allocates, and soon done

class SimCluster final : public Cluster {
 public:
  SimCluster(const sim::FabricOptions& fabric, const Traits& traits, Scenario scenario, const ScenarioOptions& options,
             std::uint64_t seed)
      : Cluster(seed),
        traits_(traits),
        scenario_(scenario),
        options_(options),
        world_({.seed = seed, .steps = kSteps, .fabric = fabric, .limits = options.limits}) {
    for (std::size_t index = 0; index < options.nodes; ++index) {
      places_.push_back(std::make_unique<Place>());
      begin_life(index, {});
    }
  }

  const Traits& traits() const noexcept override { return traits_; }
  std::size_t size() const noexcept override { return places_.size(); }
  Context context(std::size_t node) override { return *places_.at(node)->context; }
  void stop(std::size_t node) override {
    places_.at(node)->context = nullptr;
    places_.at(node)->process->kill();
  }
  Task<void> restart(std::size_t node) override {
    begin_life(node, places_.at(node)->process->port());
    auto up = wait_until_up();
    co_await up;
  }
  void freeze(std::size_t) override { std::abort(); }
  void thaw(std::size_t) override { std::abort(); }
  std::vector<std::string> log_of(std::size_t node) override {
    std::vector<std::string> lines;
    for (const sim::LogLine& line : world_.log().lines()) {
      if (line.process == places_.at(node)->process->name()) {
        lines.push_back(line.text);
      }
    }
    return lines;
  }
  std::shared_ptr<SharedMemory> shared_memory(std::size_t node) override { return this->node(node).shared_memory(); }

  sim::WorldResult run() { return world_.run(); }

 private:
  struct Place {
    sim::Process* process = nullptr;
    Context* context = nullptr;                        // once it runs
    std::vector<std::unique_ptr<Channel<bool>>> ends;  // of every life
  };

  void begin_life(std::size_t index, sim::Port port) {
    places_[index]->ends.push_back(std::make_unique<Channel<bool>>(1));
    places_[index]->process = &world_.start(
        fmt::format("node {}", index),
        sim::node_entry(options_.classes, [this, index](Context& context) { return live(index, context); }), port);
  }

  // The main task of every node.
  Task<int> live(std::size_t index, Context& context) {
    places_[index]->context = &context;
    if (index != 0) {
      auto end = places_[index]->ends.back()->next();
      co_await end;
      co_return 0;
    }
    auto playing = play();
    co_return co_await playing;
  }

  Task<int> play() {
    auto up = wait_until_up();
    co_await up;
    int status = 0;
    try {
      auto scene = scenario_(*this);
      co_await scene;
    } catch (...) {
      ADD_FAILURE() << "the scenario threw " << describe_exception(std::current_exception(), 4096);
      status = 1;
    }
    for (const auto& place : places_) {
      place->ends.back()->try_push(true);
    }
    co_return status;
  }

  Task<void> wait_until_up() {
    for (const auto& place : places_) {
      while (place->context == nullptr && place->process->is_alive()) {
        co_await between_looks(*this);
      }
    }
  }

  const Traits traits_;
  const Scenario scenario_;
  const ScenarioOptions options_;
  std::vector<std::unique_ptr<Place>> places_;  // before the world: its processes refer to them to the end
  sim::World world_;
};

class SimKind final : public ClusterKind {
 public:
  SimKind(const sim::NicProfile& profile, bool is_lossy)
      : fabric_(fabric_for(profile, is_lossy)),
        name_(fmt::format("sim_{}{}", profile.name, is_lossy ? "_lossy" : "")),
        traits_{.threads = false,
                .completes_inline = false,
                .can_restart = true,
                .owner_checks_generations = false,
                .has_nic_atomics = profile.has_atomics,
                .transmits_unseen = profile.completes_unaccepted} {}

  std::string_view name() const noexcept override { return name_; }
  const Traits& traits() const noexcept override { return traits_; }

  void play(Scenario scenario, const ScenarioOptions& options) const override {
    const bool one = std::getenv("FERRY_SEED") != nullptr;
    const std::uint64_t first = one ? seed_from_environment() : first_seed();
    const Watchdog watchdog(name_of_running_test());
    for (std::uint64_t seed = first; seed < first + (one ? 1 : kSeedFactor * options.seeds); ++seed) {
      const sim::WorldResult result = run(scenario, options, seed);
      if (result.outcome != sim::Outcome::passed) {
        ADD_FAILURE() << result.to_text();
      }
      if (twice() && !testing::Test::HasFailure()) {
        const sim::PerturbedHeap heap(seed, kBlocks);
        sim_guard::shift_wall_clock(kYear);
        EXPECT_EQ(run(scenario, options, seed).to_text(), result.to_text()) << "the same world, run again";
        sim_guard::shift_wall_clock({});
      }
      if (testing::Test::HasFailure()) {
        fmt::print("  replay: FERRY_SEED={} conformance_sim_test --gtest_filter={}\n", seed, name_of_running_test());
        return;
      }
    }
  }

 private:
  sim::WorldResult run(Scenario scenario, const ScenarioOptions& options, std::uint64_t seed) const {
    SimCluster cluster(fabric_, traits_, scenario, options, seed);
    sim::WorldResult result = cluster.run();
    ++Tally::worlds;
    Tally::steps += result.steps;
    return result;
  }

  const sim::FabricOptions fabric_;
  const std::string name_;
  const Traits traits_;
};

Task<int> read_a_real_clock() {
  co_return std::chrono::steady_clock::now().time_since_epoch().count() == 0 ? 1 : 0;
}

// The canary of the guard: no promise of it is worth anything where it is not linked.
TEST(SimGuard, FailsAWorldOfThisProgramThatReadsARealClock) {
  sim::World world({.seed = 1});
  world.start("node", sim::node_entry({}, [](Context&) { return read_a_real_clock(); }));
  const sim::WorldResult result = world.run();
  EXPECT_EQ(result.outcome, sim_guard::is_on() ? sim::Outcome::failed : sim::Outcome::passed) << result.to_text();
  EXPECT_NE(sim_guard::is_on(), kSanitized) << sim_guard::why_off();
}

}  // namespace

std::vector<const ClusterKind*> cluster_kinds() {
  static const std::vector<SimKind> kinds = [] {
    std::vector<SimKind> made;
    for (const sim::NicProfile& profile : sim::kNicProfiles) {
      made.emplace_back(profile, false);
      made.emplace_back(profile, true);
    }
    return made;
  }();
  std::vector<const ClusterKind*> all;
  for (const SimKind& kind : kinds) {
    all.push_back(&kind);
  }
  return all;
}

}  // namespace ferry::conformance
