// What shared memory promises between real processes: some are killed, stopped or denied by the kernel.
#include <fcntl.h>
#include <sys/mman.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include <ferry/shm/segment_allocator.hpp>

#include <sanitizers.hpp>

#include "child_process.hpp"
#include "test_node.hpp"

namespace ferry::shm {
namespace {

using namespace testing;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr std::size_t kLong = 64 * kMiB;  // of a copy that is long enough to be stopped inside
constexpr Duration kSoon = std::chrono::milliseconds(50);

SegmentAllocator::Usage usage_of(const TestNode& node) {
  return static_cast<const SegmentAllocator&>(*node.transport->shared_memory()).usage();
}

std::string ended_with(errc code) {
  return fmt::format("ended {}", static_cast<int>(code));
}

// What a read of these bytes is answered with.
std::string read_of(std::span<const std::byte> bytes) {
  return fmt::format("0 {} {} {}", static_cast<unsigned>(bytes.front()), static_cast<unsigned>(bytes.back()),
                     checksum(bytes));
}

// A child that is stopped inside a copy of the region, as a revocation shows that gives up.
struct Stopped {
  std::unique_ptr<ChildProcess> child;
  std::unique_ptr<TestRegion> region;
};
Stopped stop_inside(TestNode& owner, const std::string& command, const std::string& answer) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    Stopped made{std::make_unique<ChildProcess>(), std::make_unique<TestRegion>(owner, kLong)};
    EXPECT_EQ(made.child->ask(command, to_hex(made.region->ref()), 0x5a), answer);
    made.child->stop();
    const auto revoked = made.region->revoke(kSoon);
    if (!revoked) {
      EXPECT_EQ(revoked.error().code(), errc::timed_out) << revoked.error().to_text();
      EXPECT_NE(revoked.error().detail().find(std::to_string(made.child->pid())), std::string::npos)
          << "it names the process: " << revoked.error().to_text();
      return made;
    }
    made.child->kill();  // it was between two copies
  }
  ADD_FAILURE() << "no process was stopped inside of a copy";
  return {};
}

TEST(Process, OwnerThatDiesBeforeItsChannelIsWholeIsLostAndNothingElseHappens) {
  TestNode initiator;
  TestNode owner;
  TestRegion region(owner, 64);
  for (int round = 0; round < 20; ++round) {
    for (const std::uint64_t stage : {1U, 2U}) {  // with the greeting; with the proof that would open the channel
      const ProcessId id = unique_id();
      ChildProcess child;
      ASSERT_EQ(child.ask("die_meeting", id.id, id.incarnation, stage), "listening");
      RemoteRegion lost = region.ref();
      lost.owner = id;
      std::vector<std::byte> bytes(lost.length);
      Read read(lost, bytes);
      read.run(initiator.peer(id));
      EXPECT_EQ(read.code(), errc::peer_unreachable) << "stage " << stage << ": " << read.failure.to_text();
      EXPECT_NE(read.failure.to_text().find("has ended"), std::string::npos) << read.failure.to_text();
    }
  }
  EXPECT_EQ(read_once(initiator.peer(owner), region.ref()), errc{});
}

TEST(Process, KilledInsideACopyLetsTheRevocationSucceed) {
  TestNode owner;
  for (const bool writes : {false, true}) {
    Stopped stopped = stop_inside(owner, writes ? "write_on" : "read_on", writes ? "writing" : "reading");
    ASSERT_NE(stopped.child, nullptr);
    EXPECT_TRUE(WIFSIGNALED(stopped.child->kill()));
    const auto revoked = stopped.region->revoke();
    EXPECT_TRUE(revoked) << revoked.error().to_text();
    stopped.region.reset();
    EXPECT_EQ(usage_of(owner).quarantined, 0U);
    EXPECT_EQ(usage_of(owner).parked, 0U);
  }
}

TEST(Process, KilledAtAnyMomentKeepsNothingBusy) {
  TestNode owner;
  for (int round = 0; round < 10; ++round) {
    ChildProcess reader;
    ChildProcess writer;
    TestRegion region(owner, kLong);
    EXPECT_EQ(reader.ask("read_on", to_hex(region.ref())), "reading");
    EXPECT_EQ(writer.ask("write_on", to_hex(region.ref()), 1), "writing");
    reader.kill();
    writer.kill();
    EXPECT_TRUE(region.revoke());
  }
  EXPECT_EQ(usage_of(owner).quarantined, 0U);
}

// The owner gives up at its deadline and the memory is kept out of use, until the writer that wakes up has left it.
TEST(Process, StoppedInsideACopyCannotBeSilencedSoItsMemoryIsQuarantined) {
  TestNode owner;
  Stopped stopped = stop_inside(owner, "write_on", "writing");
  ASSERT_NE(stopped.child, nullptr);
  EXPECT_EQ(usage_of(owner).quarantined, 1U);
  const std::byte* const kept = stopped.region->data();
  stopped.region.reset();  // deallocates it
  EXPECT_EQ(usage_of(owner).parked, 1U);

  std::vector<std::unique_ptr<TestRegion>> others;
  for (int count = 0; count < 3; ++count) {
    others.push_back(std::make_unique<TestRegion>(owner, kLong));
    const bool overlaps = others.back()->data() < kept + kLong && kept < others.back()->data() + kLong;
    EXPECT_FALSE(overlaps) << "memory that a peer may still write was handed out";
    std::memset(others.back()->data(), 0x77, kLong);
  }
  stopped.child->resume();
  EXPECT_EQ(stopped.child->hear(), ended_with(errc::revoked));
  eventually([&] { return usage_of(owner).quarantined == 0 && usage_of(owner).parked == 0; });
  for (const auto& other : others) {
    const std::span<const std::byte> bytes(other->data(), kLong);
    EXPECT_TRUE(std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{0x77}; }));
  }
  EXPECT_EQ(stopped.child->ask("read", to_hex(others[0]->part(8, 1'000))), read_of({others[0]->data() + 8, 1'000}))
      << "the process that was stopped goes on";
}

// Nobody but its own process writes other memory, so whoever is stopped there holds nothing up.
TEST(Process, StoppedReaderOfOtherMemoryDoesNotHoldARevocationUp) {
  TestNode owner;
  std::vector<std::byte> other(kLong, std::byte{1});
  int found_inside = 0;
  for (int round = 0; round < 5; ++round) {
    ChildProcess child;
    TestRegion region(owner, other);
    EXPECT_EQ(child.ask("read_on", to_hex(region.ref())), "reading");
    child.stop();
    const auto looked = region.revoke(Duration::zero());
    EXPECT_TRUE(looked || looked.error().code() == errc::timed_out) << looked.error().to_text();
    found_inside += looked ? 0 : 1;
    const auto revoked = region.revoke(kSoon);
    EXPECT_TRUE(revoked) << revoked.error().to_text();
    std::fill(other.begin(), other.end(), std::byte{0xee});
    child.resume();
    EXPECT_EQ(child.hear(), ended_with(errc::revoked));
    std::fill(other.begin(), other.end(), std::byte{1});
  }
  EXPECT_GT(found_inside, 0) << "who only looks is told of a reader that is inside";
}

// As Yama's default does to siblings.
TEST(Process, WhereTheKernelDeniesOtherMemoryTheOwnerServesIt) {
  TestNode owner;
  auto other = pattern(3 * kMiB + 17);
  TestRegion region(owner, other);
  const std::vector<std::size_t> sizes{1, 8, 4'096, 4'097, 100'000, other.size()};
  for (const bool denied : {false, true}) {
    ChildProcess child;
    if (denied) {
      ASSERT_EQ(child.ask("deny"), "denied");
    }
    const std::uint64_t served = owner.transport->stats().commands_served;
    for (const std::size_t size : sizes) {
      EXPECT_EQ(child.ask("read", to_hex(region.part(3, size - (size == other.size() ? 3 : 0)))),
                read_of(std::span(other).subspan(3, size - (size == other.size() ? 3 : 0))));
    }
    EXPECT_EQ(owner.transport->stats().commands_served > served, denied);
    std::istringstream stats(child.ask("stats"));
    std::uint64_t foreign_reads = 0;
    std::uint64_t commands = 0;
    stats >> foreign_reads >> commands;
    EXPECT_EQ(commands > 0, denied);
    EXPECT_EQ(foreign_reads == 1, denied) << "it is tried once";
    TestRegion mapped(owner, 4'096);
    std::memset(mapped.data(), 0x21, 4'096);
    EXPECT_EQ(child.ask("read", to_hex(mapped.ref())), read_of({mapped.data(), 4'096}));
    EXPECT_EQ(child.ask("write", to_hex(region.part(0, 9)), 0x44), "0");
    EXPECT_TRUE(std::all_of(other.begin(), other.begin() + 9, [](std::byte byte) { return byte == std::byte{0x44}; }));
  }
}

TEST(Process, OffsetsBeyond4GiBReachTheirBytesAndNotTheirAliases) {
  TestNodeOptions options;
  options.shm.reserve = false;  // pages come when they are touched
  TestNode owner(options);
  constexpr std::uint64_t kSize = 5 * kGiB;
  TestRegion mapped(owner, kSize);
  void* const addresses =
      ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(addresses, MAP_FAILED);
  {
    TestRegion elsewhere(owner, std::span(static_cast<std::byte*>(addresses), kSize));
    ChildProcess child;
    for (TestRegion* region : {&mapped, &elsewhere}) {
      unsigned value = 1;
      for (const std::uint64_t offset : {std::uint64_t{0}, 2 * kGiB - 32, 4 * kGiB - 32, 4 * kGiB, kSize - 64}) {
        const std::span<std::byte> there(region->data() + offset, 64);
        EXPECT_EQ(child.ask("write", to_hex(region->part(offset, 64)), value), "0");
        EXPECT_TRUE(std::all_of(there.begin(), there.end(), [value](std::byte byte) {
          return byte == static_cast<std::byte>(value);
        })) << offset;
        EXPECT_EQ(child.ask("read", to_hex(region->part(offset, 64))), read_of(there));
        EXPECT_EQ(region->data()[offset % (4 * kGiB)] == static_cast<std::byte>(value), offset < 4 * kGiB)
            << "what a truncated offset would have hit";
        std::memset(there.data(), 0, there.size());
        ++value;
      }
    }
  }
  ::munmap(addresses, kSize);
}

TEST(Process, ForkedChildIsRefusedAndItsParentNotDisturbed) {
  TestNode owner;
  TestNode reader;
  TestRegion region(owner, 64);
  Peer& peer = reader.peer(owner);
  std::vector<std::byte> bytes(64);
  Read first(region.ref(), bytes);
  ASSERT_FALSE(first.run(peer));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Read read(region.ref(), bytes);
    Atomic add(OperationKind::fetch_add, region.ref(), 0, 1);
    std::uint64_t old = 0;
    const bool refused = peer.start(read) == Started::complete && read.code() == errc::wrong_process &&
                         peer.start(add) == Started::complete && add.code() == errc::wrong_process &&
                         !peer.try_transfer(OperationKind::read, region.ref(), bytes.data()) &&
                         !peer.try_atomic(add, old);
    ::_exit(refused ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(*region.word(0), 0U);
  Read again(region.ref(), bytes);
  EXPECT_FALSE(again.run(peer));
}

#if !FERRY_TEST_SANITIZED  // sanitizers need more memory than the cgroup grants

// A memory cgroup of its own for a child; its folder is removed with it.
class Cage {
 public:
  explicit Cage(std::uint64_t limit) {
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
      const auto first = line.find(':');
      const auto second = line.find(':', first + 1);
      const bool v2 = line.starts_with("0::");
      if (v2 || line.substr(first + 1, second - first - 1) == "memory") {
        const std::string root = v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
        const std::string path =
            fmt::format("{}{}/ferry-test-{}", root, line.substr(second + 1), static_cast<int>(::getpid()));
        std::error_code failed;
        if (path_.empty() && std::filesystem::create_directory(path, failed)) {
          path_ = path;
          can_limit_ = put(v2 ? "memory.max" : "memory.limit_in_bytes", limit);
        }
        if (!can_limit_ && !path_.empty()) {
          std::filesystem::remove(std::exchange(path_, {}), failed);
        }
      }
    }
  }
  ~Cage() {
    std::error_code failed;
    for (int attempt = 0; !path_.empty() && attempt < 1'000'000 && !std::filesystem::remove(path_, failed); ++attempt) {
      std::this_thread::yield();  // the kernel is not through with the process that has ended
    }
  }
  Cage(const Cage&) = delete;
  Cage& operator=(const Cage&) = delete;

  bool take(pid_t pid) const { return can_limit_ && put("cgroup.procs", static_cast<std::uint64_t>(pid)); }

 private:
  bool put(const char* file, std::uint64_t value) const {
    std::ofstream out(path_ + "/" + file);
    out << value << std::endl;
    return static_cast<bool>(out);
  }

  std::string path_;
  bool can_limit_ = false;
};

TEST(Process, SharedMemoryBeyondTheCgroupsLimitIsRefusedAndNeverKills) {
  const Cage cage(128 * kMiB);
  ChildProcess child;
  if (!cage.take(child.pid())) {
    GTEST_SKIP() << "no memory cgroup can be made here";
  }
  EXPECT_EQ(child.ask("allocate", 32 * kMiB), "0");
  const std::string refused = child.ask("allocate", 120 * kMiB);
  EXPECT_TRUE(refused.starts_with(fmt::format("{} ", static_cast<int>(errc::resource_exhausted)))) << refused;
  EXPECT_NE(refused.find("cgroup"), std::string::npos) << refused;
  EXPECT_EQ(child.ask("allocate", 16 * kMiB), "0") << "and it lives on";
}

#endif

}  // namespace
}  // namespace ferry::shm

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == ferry::shm::testing::kChildRole) {
    return ferry::shm::testing::run_child_node();
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
