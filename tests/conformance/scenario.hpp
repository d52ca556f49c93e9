// Scenario: one promise of the contract, written once as a coroutine. ClusterKind: a kind of cluster that plays
// scenarios. Conformance: the fixture that runs each scenario over every kind that is linked in.
//
//   Task<void> read_gives_the_bytes(Cluster& cluster) { … EXPECT_EQ(…); }
//   TEST_P(Conformance…, ReadGivesTheBytesOfTheOwner) { play(read_gives_the_bytes); }
//
// A scenario fails by a failed expectation or by an exception. One that hangs is ended by a watchdog, which says where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sanitizers.hpp>

#include "cluster.hpp"

namespace ferry::conformance {

using test::kSanitized;
using test::repetitions;

using Scenario = Task<void> (*)(Cluster&);

struct ScenarioOptions {
  std::size_t nodes = 2;
  NodeLimits limits{};
  std::vector<ActorClass> classes{};
  std::vector<std::size_t> freezable{};  // nodes that freeze() may be called for
  std::size_t seeds = 12;                // in the simulator
};

class ClusterKind {
 public:
  virtual ~ClusterKind() = default;
  virtual std::string_view name() const noexcept = 0;
  virtual const Traits& traits() const noexcept = 0;

  // Runs the scenario to its end, in the simulator once per seed until one fails; tells gtest what failed.
  virtual void play(Scenario scenario, const ScenarioOptions& options) const = 0;
};

// Defined beside each transport's composition: those that this program tests.
std::vector<const ClusterKind*> cluster_kinds();

// FERRY_SEED, if it is set; else a number that differs from run to run.
std::uint64_t seed_from_environment();

// "Over/OneSided.ReadGivesTheBytes/tcp".
std::string name_of_running_test();

// Ends the program with a message if the scope is not left within tens of seconds.
class Watchdog {
 public:
  explicit Watchdog(std::string what);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class Conformance : public testing::TestWithParam<const ClusterKind*> {
 protected:
  const Traits& traits() const { return GetParam()->traits(); }
  void play(Scenario scenario, const ScenarioOptions& options = {}) const { GetParam()->play(scenario, options); }
};

inline std::string kind_name(const testing::TestParamInfo<const ClusterKind*>& kind) {
  return std::string(kind.param->name());
}

// For gtest's messages.
inline void PrintTo(const ClusterKind* kind, std::ostream* out) {
  *out << kind->name();
}

// The outcome of one await, for expectations: the failure's code, or none.
template <class A>
Task<errc> code_of(A awaitable) {
  auto outcome = as_result(std::move(awaitable));
  const auto result = co_await outcome;
  co_return result ? errc{} : result.error().code();
}
template <class A>
Task<Failure> failure_of(A awaitable) {
  auto outcome = as_result(std::move(awaitable));
  const auto result = co_await outcome;
  co_return result ? Failure() : result.error();
}

}  // namespace ferry::conformance

// Registers the fixture NAME for every kind of cluster.
#define FERRY_CONFORMANCE(NAME)       \
  class NAME : public Conformance {}; \
  INSTANTIATE_TEST_SUITE_P(Over, NAME, testing::ValuesIn(cluster_kinds()), kind_name)
