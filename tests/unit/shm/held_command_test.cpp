// Giving up a command while its owner executes it: the owner's polling thread is held inside, before or behind the
// effect.
#include <string>

#include <ferry/memory/execute.hpp>
#include <ferry/shm/channel_layout.hpp>

#include "test_node.hpp"

namespace ferry::shm::testing {
namespace {

// Stops the first thread that comes to the given place once it is armed.
class Hold {
 public:
  enum class Place : unsigned char { before, behind };

  Hold() { current() = this; }
  ~Hold() { current() = nullptr; }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  void arm(Place place) {
    place_ = place;
    armed_.store(true);
  }
  void wait_for_thread() const { entered_.block(); }
  void release() { released_.set(); }

  static void pass(Place place) {
    Hold* const hold = current();
    if (hold->armed_.load() && hold->place_ == place && hold->armed_.exchange(false)) {
      hold->entered_.set();
      hold->released_.block();
    }
  }

 private:
  static std::atomic<Hold*>& current() {
    static constinit std::atomic<Hold*> hold{nullptr};
    return hold;
  }

  Place place_ = Place::before;
  std::atomic<bool> armed_{false};
  Latch entered_;
  Latch released_;
};

template <class F>
auto held(F&& execute) {
  Hold::pass(Hold::Place::before);
  auto outcome = execute();
  Hold::pass(Hold::Place::behind);
  return outcome;
}

}  // namespace

// What the owner executes commands with, replaced at link time (-Wl,--wrap).
#define FERRY_COPY "_ZN5ferry14copy_to_regionERNS_11RegionTableENS_12RegionHandleEmPKSt4bytem"
#define FERRY_ATOMIC "_ZN5ferry16atomic_on_regionERNS_11RegionTableENS_12RegionHandleEmNS_10AtomicKindEmm"
Result<void> real_copy(RegionTable& regions, RegionHandle region, std::uint64_t offset, const std::byte* local,
                       std::uint64_t length) __asm__("__real_" FERRY_COPY);
Result<void> held_copy(RegionTable& regions, RegionHandle region, std::uint64_t offset, const std::byte* local,
                       std::uint64_t length) __asm__("__wrap_" FERRY_COPY);
Result<std::uint64_t> real_atomic(RegionTable& regions, RegionHandle region, std::uint64_t offset, AtomicKind kind,
                                  std::uint64_t operand, std::uint64_t expected) __asm__("__real_" FERRY_ATOMIC);
Result<std::uint64_t> held_atomic(RegionTable& regions, RegionHandle region, std::uint64_t offset, AtomicKind kind,
                                  std::uint64_t operand, std::uint64_t expected) __asm__("__wrap_" FERRY_ATOMIC);

Result<void> held_copy(RegionTable& regions, RegionHandle region, std::uint64_t offset, const std::byte* local,
                       std::uint64_t length) {
  return held([&] { return real_copy(regions, region, offset, local, length); });
}
Result<std::uint64_t> held_atomic(RegionTable& regions, RegionHandle region, std::uint64_t offset, AtomicKind kind,
                                  std::uint64_t operand, std::uint64_t expected) {
  return held([&] { return real_atomic(regions, region, offset, kind, operand, expected); });
}

namespace {

const Failure kGivenUp(errc::cancelled, "a stop was requested");
constexpr std::byte kCanary{0xC5};
constexpr std::byte kLater{0xEE};  // what local memory is filled with once its operation has ended
constexpr std::size_t kAround = 4096;
constexpr std::size_t kSize = 4 * kStagingBytes;
constexpr std::uint64_t kTag = 77;

class HeldTags final : public NotificationSink {
 public:
  bool on_notify(std::uint64_t tag) noexcept override {
    return held([&] { return given_.on_notify(tag); });
  }
  std::vector<std::uint64_t> tags() const { return given_.tags(); }

 private:
  Tags given_;
};

enum class What : unsigned char { write, atomic, notify };
using Case = std::tuple<What, Hold::Place>;

TestNodeOptions with_grace(Duration grace) {
  TestNodeOptions options;
  options.limits.quiet_grace = grace;
  options.limits.failure_detection = std::chrono::minutes(5);  // it is the grace that ends a channel here
  return options;
}

class Commands {
 public:
  Commands(const Case& parameter, Duration grace) : what(std::get<0>(parameter)), initiator(with_grace(grace)) {
    owner.core.regions().set_notifications(region.handle(), &tags);
    std::vector<std::byte> bytes(8);
    Write warm(region.part(0, 8), bytes);
    EXPECT_FALSE(warm.run(to_owner()));
    hold.arm(std::get<1>(parameter));
    switch (what) {
      case What::write:  // of four commands, the first of which is held
        operation = std::make_unique<Write>(region.ref(), local);
        break;
      case What::atomic:
        operation = std::make_unique<Atomic>(OperationKind::fetch_add, region.ref(), 0, 5);
        break;
      case What::notify:
        operation = std::make_unique<Write>(region.part(0, 0), std::span<std::byte>());
        operation->notify = true;
        operation->tag = kTag;
        break;
    }
    operation->start(to_owner());
    hold.wait_for_thread();
  }
  ~Commands() { owner.core.regions().set_notifications(region.handle(), nullptr); }

  Peer& to_owner() { return initiator.peer(owner); }

  // The channel, this one or the next, serves; then the owner is through with what it was held in.
  void expect_service() {
    Atomic next(OperationKind::fetch_add, region.ref(), kSize - 8, 0);  // a command, too
    EXPECT_FALSE(next.run(to_owner())) << next.failure.to_text();
  }
  // The held command was executed once, nothing behind it, and nothing beside it was touched.
  void expect_one_execution() const {
    const std::size_t written = what == What::write ? kStagingBytes : 0;
    const auto* const data = memory.data() + kAround;
    EXPECT_TRUE(std::equal(data, data + written, source.begin()));
    if (what == What::atomic) {
      EXPECT_EQ(*region.word(0), 5U);
    }
    EXPECT_EQ(tags.tags(), what == What::notify ? std::vector{kTag} : std::vector<std::uint64_t>());
    const std::size_t touched = what == What::atomic ? 8 : written;
    EXPECT_TRUE(std::all_of(data + touched, data + kSize, [](std::byte byte) { return byte == std::byte{0}; }));
    const auto is_canary = [](std::byte byte) { return byte == kCanary; };
    EXPECT_TRUE(std::all_of(memory.begin(), memory.begin() + kAround, is_canary));
    EXPECT_TRUE(std::all_of(memory.end() - kAround, memory.end(), is_canary));
  }

  const What what;
  Hold hold;
  std::vector<std::byte> memory = [] {
    std::vector<std::byte> bytes(kAround + kSize + kAround, kCanary);
    std::fill_n(bytes.begin() + kAround, kSize, std::byte{0});
    return bytes;
  }();
  HeldTags tags;
  TestNode owner;
  TestNode initiator;
  TestRegion region{owner, std::span(memory).subspan(kAround, kSize)};
  const std::vector<std::byte> source = pattern(kSize);
  std::vector<std::byte> local = source;
  std::unique_ptr<Call> operation;
};

class HeldCommand : public ::testing::TestWithParam<Case> {};

TEST_P(HeldCommand, GivenUpEndsOnlyWhenTheOwnerHasAnswered) {
  Commands commands(GetParam(), std::chrono::minutes(5));
  commands.to_owner().cancel(*commands.operation, kGivenUp);
  EXPECT_FALSE(commands.operation->is_done());
  commands.hold.release();
  EXPECT_EQ(commands.operation->wait().code(), errc::cancelled);
  EXPECT_EQ(commands.operation->failure.effect(), Effect::unknown) << "it was executed";
  std::fill(commands.local.begin(), commands.local.end(), kLater);
  commands.expect_service();
  commands.expect_one_execution();
  EXPECT_TRUE(commands.initiator.events.failures().empty()) << "the channel lives";
  EXPECT_EQ(commands.operation->completions.load(), 1);
}

TEST_P(HeldCommand, WithoutAnAnswerItsOutcomeIsUnknownAndItsMemoryQuiet) {
  Commands commands(GetParam(), std::chrono::milliseconds(10));
  commands.to_owner().cancel(*commands.operation, kGivenUp);
  EXPECT_EQ(commands.operation->wait().to_text(),
            "outcome_unknown: a stop was requested (cancelled), but the owner is in the middle of it: it may still be "
            "executed (it may have taken effect)");
  EXPECT_EQ(commands.operation->failure.effect(), Effect::unknown);
  std::fill(commands.local.begin(), commands.local.end(), kLater);
  commands.hold.release();
  commands.expect_service();
  commands.expect_one_execution();
  EXPECT_EQ(commands.initiator.events.failures().size(), 1U) << "the channel was given up";
  EXPECT_EQ(commands.operation->completions.load(), 1);
}

TEST_P(HeldCommand, AbandonedItsMemoryIsQuietAndItsCallbackNeverComes) {
  Commands commands(GetParam(), std::chrono::milliseconds(10));
  EXPECT_TRUE(commands.to_owner().abandon(*commands.operation));
  std::fill(commands.local.begin(), commands.local.end(), kLater);
  eventually([&] { return !commands.initiator.events.failures().empty(); });  // the channel was given up
  commands.hold.release();
  commands.expect_service();
  commands.expect_one_execution();
  EXPECT_EQ(commands.operation->completions.load(), 0);
}

INSTANTIATE_TEST_SUITE_P(Shm, HeldCommand,
                         ::testing::Combine(::testing::Values(What::write, What::atomic, What::notify),
                                            ::testing::Values(Hold::Place::before, Hold::Place::behind)),
                         [](const auto& instance) {
                           const What what = std::get<0>(instance.param);
                           return std::string(what == What::write    ? "Write"
                                              : what == What::atomic ? "Atomic"
                                                                     : "Notify") +
                                  (std::get<1>(instance.param) == Hold::Place::before ? "BeforeItsEffect"
                                                                                      : "BehindItsEffect");
                         });

}  // namespace
}  // namespace ferry::shm::testing
