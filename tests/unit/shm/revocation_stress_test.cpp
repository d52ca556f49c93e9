// Threads of two peers read memory that its owner revokes and uses for something else at once, again and again. Every
// revocation is to find readers in the middle of a copy: they run into a page that cannot be touched (their own), and
// are let go on when the revocation begins. So each copy has a half from before and a half from during it.
#include <sys/mman.h>
#include <sys/prctl.h>

#include <csignal>

#include <fmt/format.h>

#include <sanitizers.hpp>

#include "test_node.hpp"

namespace ferry::shm {
namespace {

using namespace testing;

constexpr std::uint64_t kBusyRevocations = test::kSanitized ? 5'000 : 100'000;
constexpr std::size_t kReadersOfEach = 2;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kSize = 4 * kPage;
constexpr std::byte kReused{0xff};  // while no reference to it is good

std::byte byte_of(std::uint64_t number) {
  return static_cast<std::byte>(number % 251);
}

// Numbers count the lives of the memory.
struct Stage {
  std::mutex mutex;
  RemoteRegion region{};
  std::atomic<std::uint64_t> published{0};
  std::atomic<std::uint64_t> inside{0};  // a reader has arrived in the middle of a copy of it
  std::atomic<std::uint64_t> let_go{0};  // readers of this life and of those before need not wait any more

  static void set(std::atomic<std::uint64_t>& word, std::uint64_t number) {
    word.store(number);
    word.notify_all();
  }
  static void wait_for(const std::atomic<std::uint64_t>& word, std::uint64_t number) {
    for (std::uint64_t now = word.load(); now < number; now = word.load()) {
      word.wait(now);
    }
  }
};

// A reader's local memory, whose middle stops whoever touches it until it is let go.
class Gate {
 public:
  explicit Gate(Stage& stage) : stage_(stage) {
    void* memory = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    memory_ = static_cast<std::byte*>(memory);
  }
  ~Gate() { ::munmap(memory_, kSize); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  std::span<std::byte> memory() const { return {memory_, kSize}; }
  // For the next copy that this thread makes.
  void close(std::uint64_t number) {
    number_ = number;
    mine = this;
    ::mprotect(memory_ + kSize / 2, kPage, PROT_NONE);
  }
  void open() {
    ::mprotect(memory_ + kSize / 2, kPage, PROT_READ | PROT_WRITE);
    mine = nullptr;
  }

  static void on_fault(int, siginfo_t*, void*) {
    Gate* const gate = mine;
    if (gate == nullptr) {
      ::signal(SIGSEGV, SIG_DFL);  // not ours: it comes again
      return;
    }
    gate->open();
    Stage::set(gate->stage_.inside, gate->number_);
    Stage::wait_for(gate->stage_.let_go, gate->number_);
  }

 private:
  static thread_local Gate* mine;

  Stage& stage_;
  std::byte* memory_ = nullptr;
  std::uint64_t number_ = 0;
};
thread_local Gate* Gate::mine = nullptr;

class RevocationStress : public ::testing::Test {
 protected:
  RevocationStress() : shared_(owner_.transport->shared_memory()), block_(shared_->allocate(kSize, 64).value()) {
    struct sigaction action {};
    action.sa_sigaction = &Gate::on_fault;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGSEGV, &action, &before_);
    const TestRegion neighbour(owner_, 64);  // in the same segment, which is mapped from now on
    for (TestNode& node : peers_) {
      std::vector<std::byte> bytes(64);
      Read first(neighbour.ref(), bytes);
      EXPECT_FALSE(first.run(node.peer(owner_)));
      for (std::size_t reader = 0; reader < kReadersOfEach; ++reader) {
        threads_.emplace_back([this, &peer = node.peer(owner_)] { read_on(peer); });
      }
    }
  }
  ~RevocationStress() override {
    finish();
    ::sigaction(SIGSEGV, &before_, nullptr);
    shared_->deallocate(block_.memory, kSize, 64);
  }

  void finish() {
    over_.store(true);
    Stage::set(stage_.published, kEnd);
    for (std::thread& thread : threads_) {
      thread.join();
    }
    threads_.clear();
  }

  // One life of the memory. revokes: false uses it for something else before the revocation.
  void live_and_die(std::uint64_t number, bool revokes) {
    std::memset(block_.memory, static_cast<int>(byte_of(number)), kSize);
    LocalRegion region;
    region.base = block_.memory;
    region.size = kSize;
    region.rights = Access::read;
    region.place = block_.place;
    RegionTable& table = owner_.core.regions();
    const RegionHandle handle = table.insert(region).value();
    {
      const std::lock_guard lock(stage_.mutex);
      stage_.region = RemoteRegion{};
      stage_.region.owner = owner_.core.self();
      stage_.region.slot = handle.slot;
      stage_.region.generation = handle.generation;
      stage_.region.rights = Access::read;
      stage_.region.size = stage_.region.length = kSize;
      stage_.region.keys[0] = owner_.transport->memory()->attach(handle, region).value();
      stage_.published.store(number);
    }
    stage_.published.notify_all();
    Stage::wait_for(stage_.inside, number);
    Stage::set(stage_.let_go, number);  // they need a moment to wake up, and find the revocation begun
    if (!revokes) {
      std::memset(block_.memory, static_cast<int>(kReused), kSize);
    }
    table.revoke(handle);
    ASSERT_TRUE(owner_.transport->memory()->detach(handle, kNever));
    std::memset(block_.memory, static_cast<int>(kReused), kSize);
    table.release(handle);
  }

  std::uint64_t busy() const { return owner_.transport->stats().busy_revocations; }

  std::atomic<std::uint64_t> reads_{0};
  std::atomic<std::uint64_t> refusals_{0};
  std::atomic<std::uint64_t> wrong_bytes_{0};
  std::atomic<std::uint64_t> wrong_errors_{0};

 private:
  static constexpr std::uint64_t kEnd = ~std::uint64_t{0};

  // Each life again and again until it is refused; the gate stands in the way of the first time.
  void read_on(Peer& peer) {
    Gate gate(stage_);
    for (std::uint64_t number = 0;;) {
      Stage::wait_for(stage_.published, number + 1);
      RemoteRegion region;
      {
        const std::lock_guard lock(stage_.mutex);
        number = stage_.published.load();
        region = stage_.region;
      }
      if (over_.load()) {
        return;
      }
      gate.close(number);
      bool lives = true;
      while (lives) {
        Read read(region, gate.memory());
        lives = !read.run(peer);
        gate.open();
        if (lives) {
          const std::byte* const bytes = gate.memory().data();
          const bool right = bytes[0] == byte_of(number) && std::memcmp(bytes, bytes + 1, kSize - 1) == 0;
          reads_.fetch_add(1, std::memory_order_relaxed);
          wrong_bytes_.fetch_add(right ? 0 : 1, std::memory_order_relaxed);
        } else {
          refusals_.fetch_add(1, std::memory_order_relaxed);
          wrong_errors_.fetch_add(read.code() == errc::revoked ? 0 : 1, std::memory_order_relaxed);
        }
      }
    }
  }

  TestNode owner_;
  std::array<TestNode, 2> peers_;
  std::shared_ptr<SharedMemory> shared_;
  SharedBlock block_;
  struct sigaction before_ {};
  Stage stage_;
  std::atomic<bool> over_{false};
  std::vector<std::thread> threads_;
};

TEST_F(RevocationStress, ReadersInsideNeverSeeMemoryThatWasReused) {
  std::uint64_t number = 0;
  while (busy() < kBusyRevocations) {
    live_and_die(++number, true);
  }
  finish();
  fmt::print("  {} revocations, {} of them found a slot busy; {} reads succeeded, {} were refused\n", number, busy(),
             reads_.load(), refusals_.load());
  EXPECT_EQ(wrong_bytes_.load(), 0U) << "a read that succeeded holds bytes from after the revocation";
  EXPECT_EQ(wrong_errors_.load(), 0U) << "a stale read failed with another error than revoked";
}

TEST_F(RevocationStress, CanaryReuseBeforeTheRevocationIsNoticed) {
  for (std::uint64_t number = 1; wrong_bytes_.load() == 0; ++number) {  // ctest's limit ends it if it is never
    live_and_die(number, false);
  }
}

}  // namespace
}  // namespace ferry::shm
