#include "real_cluster.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <poll.h>

#include <ferry/base/block_on.hpp>
#include <ferry/transport/local_transport.hpp>

#include <local_node.hpp>

namespace ferry::conformance {
namespace {

constexpr int kDriverPollMilliseconds = 20;

// Runs a node's executor on one thread that can be halted between two turns.
class Driver {
 public:
  explicit Driver(system::SystemExecutor& executor) : executor_(executor), thread_([this] { drive(); }) {}
  ~Driver() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
      frozen_ = false;
    }
    changed_.notify_all();
    thread_.join();
  }
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  void freeze() {
    std::unique_lock lock(mutex_);
    frozen_ = true;
    changed_.wait(lock, [this] { return halted_; });
  }
  void thaw() {
    {
      const std::lock_guard lock(mutex_);
      frozen_ = false;
    }
    changed_.notify_all();
  }

 private:
  void drive() {
    std::unique_lock lock(mutex_);
    while (!over_) {
      if (frozen_) {
        halted_ = true;
        changed_.notify_all();
        changed_.wait(lock, [this] { return !frozen_; });
        halted_ = false;
        continue;
      }
      lock.unlock();
      executor_.poll();
      pollfd ready{executor_.fd(), POLLIN, 0};
      ::poll(&ready, 1, kDriverPollMilliseconds);
      lock.lock();
    }
  }

  system::SystemExecutor& executor_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  bool frozen_ = false;
  bool halted_ = false;
  std::thread thread_;  // last: it uses all of the above
};

// One place of the cluster: its present life, if any, and what it keeps from life to life.
struct Place {
  bool freezable = false;
  std::vector<Address> addresses;
  test::CollectingLog log;
  test::NoProcessHost host;
  std::unique_ptr<system::SystemExecutor> executor;
  std::unique_ptr<Driver> driver;
  std::unique_ptr<NodeStack> stack;
};

class RealCluster final : public Cluster {
 public:
  RealCluster(const Traits& traits, AddTransports add, bool heap, BusyRevocations busy, const ScenarioOptions& options,
              std::uint64_t seed)
      : Cluster(seed),
        traits_(traits),
        add_(add),
        heap_(heap),
        busy_(busy),
        options_(options),
        identities_(mix64(seed)) {
    for (std::size_t index = 0; index < (traits.separate ? options.nodes : 1); ++index) {
      auto place = std::make_unique<Place>();
      place->freezable =
          std::find(options.freezable.begin(), options.freezable.end(), index) != options.freezable.end();
      places_.push_back(std::move(place));
      begin_life(index);
    }
  }
  ~RealCluster() override {
    for (std::size_t index = places_.size(); index-- > 0;) {
      end_life(*places_[index]);
    }
  }

  const Traits& traits() const noexcept override { return traits_; }
  std::size_t size() const noexcept override { return options_.nodes; }
  Context context(std::size_t node) override { return Context(*place(node).stack); }
  std::vector<std::string> log_of(std::size_t node) override { return place(node).log.lines(); }
  void stop(std::size_t node) override { end_life(place(node)); }
  Task<void> restart(std::size_t node) override {
    begin_life(node);
    co_return;
  }
  void freeze(std::size_t node) override { place(node).driver->freeze(); }
  void thaw(std::size_t node) override { place(node).driver->thaw(); }
  std::shared_ptr<SharedMemory> shared_memory(std::size_t node) override {
    return heap_ ? nullptr : this->node(node).shared_memory();
  }
  std::optional<std::uint64_t> busy_revocations(std::size_t node) override {
    return busy_ == nullptr ? std::nullopt : std::optional(busy_(this->node(node)));
  }
  void run(Scenario scenario) { block_on(*places_.front()->executor, &node(0), scenario(*this)); }

 private:
  Place& place(std::size_t node) { return *places_.at(traits_.separate ? node : 0); }

  void begin_life(std::size_t index) {
    Place& place = *places_[index];
    place.executor = system::SystemExecutor::create({.threads = 2, .driven_from_outside = place.freezable}).value();
    if (place.freezable) {
      place.driver = std::make_unique<Driver>(*place.executor);
    }
    JobSecret secret{};
    secret.fill(std::byte{0x5e});
    place.stack =
        std::make_unique<NodeStack>(NodeStack::Parts{*place.executor, place.log, place.host,
                                                     Bootstrap{secret,
                                                               ProcessId{identities_.next() | 1U, identities_.next()},
                                                               "node " + std::to_string(index),
                                                               {},
                                                               {},
                                                               options_.limits},
                                                     options_.classes, [this] { return identities_.next(); }});
    place.stack->core().add_transport(std::make_unique<LocalTransport>(place.stack->core()));
    add_(NodePlace{index, place.stack->core(), *place.executor, place.addresses});
    place.stack->start().value();
    place.addresses = place.stack->core().contact().addresses;
  }

  static void end_life(Place& place) {
    if (place.stack != nullptr) {
      if (place.driver != nullptr) {
        place.driver->thaw();
      }
      place.stack->shut_down();
      place.stack.reset();
      place.driver.reset();
      place.executor.reset();
    }
  }

  const Traits traits_;
  const AddTransports add_;
  const bool heap_;
  const BusyRevocations busy_;
  const ScenarioOptions options_;
  Random identities_;
  std::vector<std::unique_ptr<Place>> places_;
};

}  // namespace

void RealKind::play(Scenario scenario, const ScenarioOptions& options) const {
  const Watchdog watchdog(name_of_running_test());
  try {
    RealCluster cluster(traits_, add_, heap_, busy_, options, seed_from_environment());
    cluster.run(scenario);
  } catch (...) {
    ADD_FAILURE() << "the scenario threw " << describe_exception(std::current_exception(), 4096);
  }
}

}  // namespace ferry::conformance
