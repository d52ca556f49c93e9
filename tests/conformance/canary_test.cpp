// Scenarios that are wrong on purpose: each must be reported, or the harness is blind.
#include <stdexcept>
#include <string>

#include <gtest/gtest-spi.h>

#include "patterns.hpp"
#include "scenario.hpp"

namespace ferry::conformance {
namespace {

class Canary : public Conformance {
 protected:
  // True if playing the scenario reports a failure with that text in it.
  bool is_reported(Scenario scenario, const std::string& text) const {
    testing::TestPartResultArray results;
    {
      const testing::ScopedFakeTestPartResultReporter reporter(
          testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &results);
      play(scenario, {.nodes = 3, .seeds = 1});
    }
    for (int index = 0; index < results.size(); ++index) {
      const testing::TestPartResult& result = results.GetTestPartResult(index);
      if (result.failed() && std::string(result.message()).find(text) != std::string::npos) {
        return true;
      }
    }
    return false;
  }
};
INSTANTIATE_TEST_SUITE_P(Over, Canary, testing::ValuesIn(cluster_kinds()), kind_name);

Task<void> expects_other_bytes(Cluster& cluster) {
  Shared<std::byte> owner(cluster, 1, 1'000);
  fill_pattern(owner.values, 1);
  std::vector<std::byte> local(1'000);
  co_await owner.ref(cluster, 0).read_into(std::span(local));
  EXPECT_TRUE(is_pattern(local, 2)) << "canary of bytes";
}
TEST_P(Canary, WrongBytesAreReported) {
  EXPECT_TRUE(is_reported(expects_other_bytes, "canary of bytes"));
}

Task<void> one_byte_off(Cluster& cluster) {
  Shared<std::byte> owner(cluster, 1, 1'000);
  fill_pattern(owner.values, 1);
  Guarded local(1'000);
  co_await owner.ref(cluster, 0).read_into(local.bytes());
  local.data()[1'000] = std::byte{1};
  EXPECT_TRUE(local.guards_are_intact()) << "canary of guards";
}
TEST_P(Canary, OneChangedGuardByteIsReported) {
  EXPECT_TRUE(is_reported(one_byte_off, "canary of guards"));
}

Task<void> fails_on_another_node(Cluster& cluster) {
  co_await between_looks(cluster);
  ADD_FAILURE() << "canary of another node";
}
Task<void> runs_elsewhere(Cluster& cluster) {
  auto there = cluster.on(2, fails_on_another_node(cluster));
  co_await there;
}
TEST_P(Canary, FailureOnAnotherNodeIsReported) {
  EXPECT_TRUE(is_reported(runs_elsewhere, "canary of another node"));
}

Task<void> throws_on_another_node(Cluster& cluster) {
  co_await between_looks(cluster);
  throw std::runtime_error("canary of exceptions");
}
Task<void> throws_elsewhere(Cluster& cluster) {
  auto there = cluster.on(1, throws_on_another_node(cluster));
  co_await there;
}
TEST_P(Canary, ExceptionOnAnotherNodeIsReported) {
  EXPECT_TRUE(is_reported(throws_elsewhere, "canary of exceptions"));
}

Task<void> reads_what_was_revoked(Cluster& cluster) {
  Shared<std::byte> owner(cluster, 1, 100);
  const BufferRef ref = owner.ref(cluster, 0);
  auto revoked = cluster.on(1, owner.buffer.revoke());
  co_await revoked;
  std::array<std::byte, 100> local{};
  co_await ref.read_into(std::span(local));
}
TEST_P(Canary, ErrorThatNobodyExpectsIsReported) {
  EXPECT_TRUE(is_reported(reads_what_was_revoked, "revoked"));
}

}  // namespace
}  // namespace ferry::conformance
