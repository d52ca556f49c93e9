// The whole of a real run over queue pairs, with all nodes in this process: what a transport with a device hands in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include <ferry/litmus_run/real_processes.hpp>
#include <ferry/transport/node_core.hpp>

#include "one_process.hpp"
#include "polled_fabric.hpp"

#include "../../sim/litmus/litmus_programs.hpp"

namespace ferry::litmus_run {

// Where the memory of a reference is, for a device that reaches this process alone.
class ReferringDevice final : public test::FakeDevice {
 public:
  ReferringDevice(test::FakeFabric& fabric, queue::OrderClass order, NodeCore& node)
      : FakeDevice(fabric, order), fabric_(fabric), node_(node) {}
  Result<queue::RemoteAddress> remote_address(const RemoteRegion& region, std::uint64_t offset) const override {
    const auto local = node_.regions().find(RegionHandle{region.slot, region.generation});
    if (!local) {
      return local.error();
    }
    const std::lock_guard lock(fabric_.mutex);
    auto& [key, of] = keys_[region.slot.value()];
    if (key == 0 || of != region.generation) {
      key = const_cast<ReferringDevice*>(this)->add_region(local->base, local->size, Access::all);
      of = region.generation;
    }
    return queue::RemoteAddress{key, reinterpret_cast<std::uintptr_t>(local->base) + offset};
  }

 private:
  test::FakeFabric& fabric_;
  NodeCore& node_;
  mutable std::map<std::uint32_t, std::pair<std::uint32_t, Generation>> keys_;  // by slot
};

struct OverFake {
  static queue::Device* device(NodeCore& node) {
    static PolledFabric<ReferringDevice> fabric(node);
    return &fabric.device();
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
