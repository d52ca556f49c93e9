#include <ferry/shm/memory_budget.hpp>

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace ferry::shm {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// A tree of files that looks like /proc and /sys/fs/cgroup of a host with 8 GiB available.
class FakeHost : public ::testing::Test {
 protected:
  FakeHost() : root_(::testing::TempDir() + "ferry_budget_" + std::to_string(::getpid())) {
    write("/proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable:    8388608 kB\nBuffers: 1 kB\n");
  }
  ~FakeHost() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  void group1(const std::string& path, std::uint64_t limit, std::uint64_t usage, const std::string& stat = "") {
    write("/sys/fs/cgroup/memory" + path + "/memory.limit_in_bytes", std::to_string(limit) + "\n");
    write("/sys/fs/cgroup/memory" + path + "/memory.usage_in_bytes", std::to_string(usage) + "\n");
    write("/sys/fs/cgroup/memory" + path + "/memory.stat", stat);
  }
  void group2(const std::string& path, const std::string& limit, std::uint64_t usage, const std::string& stat = "") {
    write("/sys/fs/cgroup" + path + "/memory.max", limit + "\n");
    write("/sys/fs/cgroup" + path + "/memory.current", std::to_string(usage) + "\n");
    write("/sys/fs/cgroup" + path + "/memory.stat", stat);
  }
  void mounted1(const std::string& root, const std::string& own) {
    write("/proc/self/mountinfo",
          "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
          "35 31 0:32 " +
              root + " /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n");
    write("/proc/self/cgroup", "5:cpu:/else\n4:memory:" + own + "\n0::/\n");
  }
  void mounted2(const std::string& root, const std::string& own) {
    write("/proc/self/mountinfo", "35 31 0:32 " + root + " /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    write("/proc/self/cgroup", "0::" + own + "\n");
  }
  MemoryBudget budget() const { return MemoryBudget(root_); }

  const std::string root_;
};

TEST_F(FakeHost, AHostWithoutCgroupsLeavesWhatIsAvailable) {
  EXPECT_EQ(budget().room().bytes, 8192 * kMiB - MemoryBudget::kMargin);
}

TEST_F(FakeHost, TheTightestGroupOfVersionOneDecidesWhereverItStands) {
  mounted1("/", "/a/b");
  group1("", 9223372036854771712ULL, 100);
  group1("/a", 512 * kMiB, 200 * kMiB);
  group1("/a/b", 1024 * kMiB, 10 * kMiB);
  EXPECT_EQ(budget().room().bytes, 312 * kMiB - MemoryBudget::kMargin);
  group1("/a/b", 256 * kMiB, 10 * kMiB);
  EXPECT_EQ(budget().room().bytes, 246 * kMiB - MemoryBudget::kMargin);
  EXPECT_NE(budget().room().limit.find("/a/b"), std::string::npos);
}

TEST_F(FakeHost, TheTightestGroupOfVersionTwoDecidesWhereverItStands) {
  mounted2("/", "/slice/unit");
  group2("/slice", "536870912", 200 * kMiB);
  group2("/slice/unit", "max", 10 * kMiB);
  EXPECT_EQ(budget().room().bytes, 312 * kMiB - MemoryBudget::kMargin);
}

TEST_F(FakeHost, CachedFilesGiveWay) {
  mounted2("/", "/unit");
  group2("/unit", "536870912", 500 * kMiB, "anon 1\ninactive_file 104857600\nactive_file 209715200\n");
  EXPECT_EQ(budget().room().bytes, (12 + 100 + 100) * kMiB - MemoryBudget::kMargin);
}

TEST_F(FakeHost, AContainerThatSeesItsGroupAsTheRootOfTheMountIsBoundByIt) {
  mounted1("/docker/x", "/docker/x");
  group1("", 256 * kMiB, 56 * kMiB);
  EXPECT_EQ(budget().room().bytes, 200 * kMiB - MemoryBudget::kMargin);
  mounted1("/docker/x", "/else/where");
  EXPECT_EQ(budget().room().bytes, 200 * kMiB - MemoryBudget::kMargin);
}

TEST_F(FakeHost, ARefusalNamesWhatIsNeededWhatIsFreeTheLimitAndTheRemedy) {
  mounted2("/", "/unit");
  group2("/unit", std::to_string(256 * kMiB), 16 * kMiB);
  EXPECT_TRUE(budget().check(224 * kMiB));
  const auto refused = budget().check(224 * kMiB + 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), errc::resource_exhausted);
  const std::string text = refused.error().to_text();
  EXPECT_NE(text.find(std::to_string(224 * kMiB + 1) + " bytes"), std::string::npos) << text;
  EXPECT_NE(text.find(std::to_string(224 * kMiB) + " are free"), std::string::npos) << text;
  EXPECT_NE(text.find("/unit (limit 268435456 bytes)"), std::string::npos) << text;
  EXPECT_NE(text.find("raise that limit"), std::string::npos) << text;
}

TEST_F(FakeHost, AFullGroupLeavesNothing) {
  mounted2("/", "/unit");
  group2("/unit", std::to_string(256 * kMiB), 300 * kMiB);
  EXPECT_EQ(budget().room().bytes, 0U);
}

TEST_F(FakeHost, GarbageInTheFilesIsNoLimit) {
  write("/proc/self/mountinfo", "garbage\n\n1 2 3 - \n35 31 0:32 / /sys/fs/cgroup rw - cgroup2");
  write("/proc/self/cgroup", "::::\nx\n0:\n");
  EXPECT_EQ(budget().room().bytes, 8192 * kMiB - MemoryBudget::kMargin);
}

TEST(MemoryBudget, ThisHostHasRoomForAPage) {
  EXPECT_TRUE(MemoryBudget().check(4096));
}

}  // namespace
}  // namespace ferry::shm
