// Connections come and go, and nothing of them stays: no queue pair, registration, session's memory or descriptor.
#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "failing_calls.hpp"
#include "verbs_node.hpp"

namespace ferry::verbs::test {
namespace {

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

bool eventually(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// A process that comes, reads, writes, and goes.
void visit(TestLoop& loop, VerbsNode& owner, const RemoteRegion& region, std::uint64_t id) {
  VerbsNode user(loop, id, failing_calls());
  ASSERT_FALSE(user.failure) << user.failure.to_text();
  Peer& peer = user.peer(owner);
  std::vector<std::byte> local(region.size);
  for (const OperationKind kind : {OperationKind::read, OperationKind::write}) {
    auto call = begin(kind, peer, region, local);
    const Failure why = call->outcome();
    ASSERT_FALSE(why) << why.to_text();
  }
}

TEST(Cycles, LeaveNothingBehind) {
  const int cycles = std::getenv("FERRY_NIGHTLY") != nullptr ? 5000 : 200;
  TestLoop loop;
  loop.start();
  {
    VerbsNode owner(loop, 1, failing_calls());
    ASSERT_FALSE(owner.failure) << owner.failure.to_text();
    std::vector<std::byte> memory(std::size_t{16} << 10, std::byte{0x31});
    const RemoteRegion region = owner.share(memory).value();
    visit(loop, owner, region, 2);  // what is made once is made now
    const auto is_alone = [&] {
      const auto held = owner.verbs->holdings();
      return held.queue_pairs == 0 && held.channels == 0;
    };
    ASSERT_TRUE(eventually(is_alone));
    const int alive_before = alive();
    const std::size_t descriptors_before = open_descriptors();
    const std::size_t local_before = owner.verbs->holdings().local_registrations;
    for (int cycle = 0; cycle < cycles; ++cycle) {
      ASSERT_NO_FATAL_FAILURE(visit(loop, owner, region, 3 + static_cast<std::uint64_t>(cycle))) << "cycle " << cycle;
    }
    EXPECT_TRUE(eventually(is_alone));
    EXPECT_TRUE(eventually([&] { return alive() == alive_before; })) << alive() << " objects, before " << alive_before;
    EXPECT_EQ(owner.verbs->holdings().local_registrations, local_before);
    EXPECT_EQ(owner.verbs->holdings().regions, 1U);
    EXPECT_TRUE(eventually([&] { return open_descriptors() == descriptors_before; }))
        << open_descriptors() << " descriptors, before " << descriptors_before;
  }
  loop.stop();
  EXPECT_EQ(alive(), 0);
}

}  // namespace
}  // namespace ferry::verbs::test
