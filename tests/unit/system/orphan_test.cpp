// Decision 11: no process that a host started survives the process of that host, however it ends.
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ferry/base/random.hpp>

#include "orphans.hpp"

namespace ferry::system {
namespace {

TEST(Orphans, AKilledRootTakesEveryDescendantWithIt) {
  Tree tree({.children = 8, .grandchildren = 1});
  tree.wait_for_go();
  tree.wait_for(16);
  tree.kill_root();
  EXPECT_EQ(tree.wait_until_gone(), 0);
}

TEST(Orphans, TheDeathPipeIsEnoughWhereTheSignalIsLost) {
  Tree tree({.children = 2, .grandchildren = 2, .kind = "without signal"});
  tree.wait_for_go();
  tree.wait_for(6);
  tree.kill_root();
  EXPECT_EQ(tree.wait_until_gone(), 0);
}

TEST(Orphans, TheSignalIsEnoughForProgramsThatKnowNoFerry) {
  Tree tree({.children = 2, .kind = "foreign"});
  tree.wait_for_go();
  tree.wait_for(2);
  tree.kill_root();
  EXPECT_EQ(tree.wait_until_gone(), 0);
}

TEST(Orphans, AKilledMiddleTakesItsOwnChildrenOnly) {
  Tree tree({.children = 2, .grandchildren = 1});
  tree.wait_for_go();
  const std::vector<Member> members = tree.wait_for(4);
  const auto below = [&](pid_t parent) {
    return std::find_if(members.begin(), members.end(), [&](const Member& member) { return member.parent == parent; });
  };
  const auto middle = below(tree.root());
  ASSERT_NE(middle, members.end());
  const auto lowest = below(middle->pid);
  ASSERT_NE(lowest, members.end());
  const FileDescriptor ended(static_cast<int>(::syscall(SYS_pidfd_open, lowest->pid, 0)));
  ASSERT_EQ(::kill(middle->pid, SIGKILL), 0);
  pollfd gone{ended.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&gone, 1, -1), 1);
  for (const Member& member : members) {
    if (member.pid != middle->pid && member.pid != lowest->pid) {
      EXPECT_EQ(::kill(member.pid, 0), 0);
    }
  }
  tree.kill_root();
  EXPECT_EQ(tree.wait_until_gone(), 0);
}

// The moments at which a child has no parent to watch yet are short: many tries, at random times of a spawn.
TEST(Orphans, ARootThatIsKilledWhileItSpawnsLeavesNobody) {
  const bool nightly = std::getenv("FERRY_NIGHTLY") != nullptr;
  const int tries = nightly ? 1000 : 200;
  const auto seed = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  std::cout << "seed " << seed << '\n';
  Random random(seed);
  for (int i = 0; i < tries; ++i) {
    Tree tree({.children = 2, .grandchildren = 1});
    tree.wait_for_go();
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(50'000)));
    tree.kill_root();
    ASSERT_EQ(tree.wait_until_gone(), 0) << "try " << i;
  }
}

}  // namespace
}  // namespace ferry::system
