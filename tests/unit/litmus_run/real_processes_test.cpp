// The whole of a real run over queue pairs, with all nodes in this process: what a transport with a device hands in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ferry/litmus_run/real_processes.hpp>
#include <ferry/transport/node_core.hpp>

#include "locked_device.hpp"
#include "one_process.hpp"

#include "../../sim/litmus/litmus_programs.hpp"

namespace ferry::litmus_run {

// Where the memory of a reference is, for a device that reaches this process alone.
class ReferringDevice final : public LockedDevice {
 public:
  ReferringDevice(LockedFabric& fabric, NodeCore& node) : LockedDevice(fabric), fabric_(fabric), node_(node) {}
  Result<queue::RemoteAddress> remote_address(const RemoteRegion& region, std::uint64_t offset) const override {
    const auto local = node_.regions().find(RegionHandle{region.slot, region.generation});
    if (!local) {
      return local.error();
    }
    const std::lock_guard lock(fabric_.mutex);
    const std::uint32_t key = fabric_.inner().add_region(local->base, local->size, Access::all);
    return queue::RemoteAddress{key, reinterpret_cast<std::uintptr_t>(local->base) + offset};
  }

 private:
  LockedFabric& fabric_;
  NodeCore& node_;
};

struct OverFake {
  static queue::Device* device(NodeCore& node) {
    static LockedFabric fabric;
    static ReferringDevice device(fabric, node);
    return &device;
  }
  static constexpr bool kAtomicsWithCPU = false;
  static constexpr std::string_view kRemark = "on a fake";
};

namespace {

TEST(RealProcesses, RunsTheSuiteOverTheQueuePairsOfADevice) {
  auto opened = RealProcesses<OverFake>::open({node_options("tcp"), 6, true});
  ASSERT_TRUE(opened) << opened.error().detail();
  litmus::runner::RealTransport& transport = **opened;
  EXPECT_EQ(transport.remark(), "on a fake");
  std::size_t not_run = 0;
  for (const litmus::Program& program : litmus::suite()) {
    if (transport.why_not(program)) {
      ++not_run;
      continue;
    }
    const auto sample = transport.run(program, 50, 1);
    ASSERT_TRUE(sample) << program.name << ": " << sample.error().detail();
    Sightings seen;
    std::uint64_t runs = sample->stuck;
    for (const auto& [outcome, hits] : sample->hits) {
      std::vector<litmus::Value> values = outcome.memory;
      values.insert(values.end(), outcome.registers.begin(), outcome.registers.end());
      seen.outcomes[values] = hits;
      runs += hits;
    }
    EXPECT_EQ(runs, 50U);
    EXPECT_EQ(runs_outside_portable(program, seen), 0U) << program.name;
  }
  EXPECT_EQ(not_run, 2U);
}

}  // namespace
}  // namespace ferry::litmus_run
