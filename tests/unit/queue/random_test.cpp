// Random programs in random order with random faults: whatever happens, every operation ends once, says the truth about
// what it did, and leaves memory quiet.
#include <sanitizers.hpp>

#include "queue_fixture.hpp"

#include <cstdio>

#include <fmt/format.h>

#include <ferry/base/random.hpp>

namespace ferry::queue_tests {
namespace {

constexpr std::size_t kOperations = 60;
constexpr std::size_t kSlot = 10240;  // of memory that one operation has for itself
constexpr std::size_t kSmall = 8;

// One operation with memory of its own at both ends, and what was seen of it.
struct Act {
  Operation operation;
  class Program* program = nullptr;
  std::size_t index = 0;
  std::size_t length = 0;
  std::vector<std::uint64_t> local;
  std::vector<std::uint64_t> local_at_end;
  bool started = false;
  bool abandoned = false;
  bool has_good_reference = true;
  std::size_t slot = 0;   // which memory of the owner's it uses
  Act* before = nullptr;  // the member before it in its sequence
  int notifications = 0;
  std::size_t started_at = 0;  // counts of ends
  int ended = 0;
  std::size_t ended_at = 0;
  std::vector<std::byte> remote_when_silent;  // of an unknown write, when something started later had completed
};

class Program : public QueueTest, private NotificationSink {
 public:
  Program(OrderClass order, std::uint64_t seed) : QueueTest(order), order_(order), random_(seed) {
    for (Process* process : {owner_.get(), initiator_.get()}) {
      process->device.set().needs_local_keys = flip();
      process->device.set().message = 2048;
      process->device.lands_late = flip();
      process->device.loses_refusals = flip();
      process->device.tells_progress = flip() && order != OrderClass::srd && order != OrderClass::iwarp;
    }
    owner_->device.set().flush = initiator_->device.set().flush = flip();
    memory_ = std::make_unique<Memory>(*owner_, kOperations * kSlot);
    counter_ = std::make_unique<Memory>(*owner_, 8);
    bad_ = std::make_unique<Memory>(*owner_, kSlot, Access::none);
    owner_->core.regions().set_notifications(memory_->handle, this);
    for (std::size_t index = 0; index < kOperations; ++index) {
      std::memset(memory_->data() + index * kSlot, 0x40, kSlot);
    }
  }
  ~Program() override {
    memory_ = nullptr;
    counter_ = nullptr;
    bad_ = nullptr;
  }
  void TestBody() override {}

  void play() {
    while (next_ < kOperations) {
      do_something();
      for (std::uint64_t count = pick(12); count > 0; --count) {
        step();
      }
    }
    heal();
    check();
  }

 private:
  std::uint64_t pick(std::uint64_t below) { return random_.below(below); }
  bool flip() { return pick(2) == 0; }

  void step() {
    fabric_.step(static_cast<std::size_t>(random_.next()));
    executor_.run();
    for (std::size_t index = 0; index < next_; ++index) {
      Act& act = acts_[index];
      if (act.before != nullptr && act.operation.kind == OperationKind::write && has_begun_to_land(act)) {
        for (Act* earlier = act.before; earlier != nullptr; earlier = earlier->before) {
          EXPECT_TRUE(earlier->operation.kind != OperationKind::write || has_landed(*earlier))
              << name(act) << " landed before " << name(*earlier);
        }
      }
    }
  }

  // NotificationSink.
  bool on_notify(std::uint64_t tag) noexcept override {
    Act& act = acts_[tag];
    ++act.notifications;
    EXPECT_TRUE(has_landed(act)) << name(act) << ": its notification came before its bytes";
    return true;
  }

  void do_something() {
    switch (pick(26)) {
      case 24:
      case 25:
        return start_sequence();
      case 0:
        return cancel_one();
      case 1:
        return abandon_one();
      case 2:
        if (flip()) {
          initiator_->device.fault =
              FakeDevice::Fault{static_cast<std::size_t>(pick(8)),
                                flip() ? queue::WorkStatus::unreachable : queue::WorkStatus::flushed, flip(), pick(4)};
          if (order_ == OrderClass::srd) {
            initiator_->device.fault->behind = 0;
          } else if (order_ != OrderClass::iwarp && !initiator_->device.loses_refusals && pick(3) == 0) {
            initiator_->device.fault->status = queue::WorkStatus::remote_refusal;
            initiator_->device.fault->executes = true;
          }
        }
        return;
      case 3:
        if (pick(4) == 0) {
          initiator_->device.lose_queues(Failure(errc::peer_lost, "the port is down"));
        }
        return;
      case 4:
        if (initiator_->pipe != nullptr && pick(3) == 0) {
          pipe().cut(Failure(errc::peer_lost, "the wire was cut"), PeerState::unknown);
        }
        return;
      case 5:
        if (initiator_->pipe != nullptr) {
          pipe().hold(flip() ? FakePipe::owner : FakePipe::initiator);
        }
        return;
      case 6:
      case 7:
        return release_pipe();
      case 8:
        initiator_->device.is_held = true;
        return;
      case 9:
        return initiator_->device.release();
      case 10:
        executor_.advance(std::chrono::milliseconds(pick(60)));
        return;
      case 11:
        return owner_->device.land_one(static_cast<std::size_t>(random_.next()));
      default:
        return start_one();
    }
  }

  void release_pipe() {
    if (initiator_->pipe != nullptr) {
      pipe().release(FakePipe::owner);
      pipe().release(FakePipe::initiator);
    }
  }

  // A new one on a slot of its own, not started.
  Act& make_act(OperationKind kind) {
    Act& act = acts_[next_];
    act.program = this;
    act.index = act.slot = next_++;
    act.length = flip() ? kSmall : kSlot;
    act.local.assign(act.length / 8, 0x0101010101010101ULL * (act.index % 60 + 1));
    act.operation.kind = kind;
    act.operation.starter = &act;
    act.operation.on_complete = [](Operation& complete) noexcept {
      Act& mine = *static_cast<Act*>(complete.starter);
      mine.program->on_end(mine);
    };
    act.operation.operand = std::uint64_t{1} << act.index;
    act.operation.tag = act.index;
    return act;
  }
  void start(Act& act) {
    Operation& operation = act.operation;
    operation.region = operation.kind == OperationKind::fetch_add ? counter_->reference
                       : act.has_good_reference                   ? memory_->part(act.slot * kSlot, act.length)
                                                                  : bad_->part(0, act.length);
    operation.single = Chunk{0, reinterpret_cast<std::byte*>(act.local.data()), act.length};
    act.started = true;
    act.started_at = ends_;
    if (peer_->start(operation) == Started::complete) {
      on_end(act);
    }
  }

  void start_one() {
    const std::uint64_t kind = pick(8);
    Act& act = make_act(kind < 3   ? OperationKind::read
                        : kind < 6 ? OperationKind::write
                        : kind < 7 ? OperationKind::fetch_add
                                   : OperationKind::flush);
    act.has_good_reference = pick(8) != 0;
    if (act.operation.kind == OperationKind::write) {
      const std::uint64_t form = pick(4);
      act.operation.completion = form == 0 ? Completion::transmitted : Completion::delivered;
      act.operation.notify = form == 1;
    }
    start(act);
  }

  // Writes, reads of what the member before has written, and additions.
  void start_sequence() {
    const std::size_t count = std::min<std::size_t>(2 + pick(3), kOperations - next_);
    if (!peer_->pipelines_sequences() || count < 2) {
      return;
    }
    const SequenceTag tag{initiator_->core.next_sequence(), 0, peer_->channel()};
    std::vector<Act*> members;
    for (std::size_t index = 0; index < count; ++index) {
      const std::uint64_t kind = pick(6);
      const bool can_read = index > 0 && members.back()->operation.kind == OperationKind::write;
      Act& act = make_act(kind == 0              ? OperationKind::fetch_add
                          : kind < 3 && can_read ? OperationKind::read
                                                 : OperationKind::write);
      act.before = index > 0 ? members.back() : nullptr;
      act.operation.sequence = tag;
      act.operation.sequence.index = static_cast<std::uint32_t>(index);
      act.has_good_reference = pick(12) != 0;
      act.operation.notify = act.operation.kind == OperationKind::write && pick(6) == 0;
      if (act.operation.kind == OperationKind::read) {
        act.slot = act.before->slot;
        act.length = act.before->length;
        act.local.assign(act.length / 8, 0);
      }
      members.push_back(&act);
    }
    for (Act* act : members) {
      start(*act);
    }
  }

  std::vector<Act*> pending() {
    std::vector<Act*> found;
    for (std::size_t index = 0; index < next_; ++index) {
      if (acts_[index].ended == 0 && !acts_[index].abandoned) {
        found.push_back(&acts_[index]);
      }
    }
    return found;
  }
  void cancel_one() {
    if (const auto all = pending(); !all.empty()) {
      peer_->cancel(all[pick(all.size())]->operation, Failure(errc::cancelled, "the user asked"));
    }
  }
  void abandon_one() {
    if (const auto all = pending(); !all.empty()) {
      Act& act = *all[pick(all.size())];
      act.abandoned = peer_->abandon(act.operation);
      EXPECT_TRUE(act.abandoned) << name(act);
      act.local_at_end = act.local;
      act.ended_at = ++ends_;
    }
  }

  std::byte* remote(const Act& act) { return memory_->data() + act.slot * kSlot; }
  std::vector<std::byte> remote_bytes(const Act& act) { return {remote(act), remote(act) + act.length}; }
  bool has_begun_to_land(const Act& act) {
    return std::any_of(remote(act), remote(act) + act.length, [](std::byte byte) { return byte != std::byte{0x40}; });
  }
  bool has_landed(const Act& act) { return std::memcmp(remote(act), act.local.data(), act.length) == 0; }
  std::string name(const Act& act) {
    return fmt::format("{}, operation {}: {} of {} bytes, {}", where_, act.index, to_string(act.operation.kind),
                       act.length,
                       act.ended == 0          ? "pending"
                       : act.operation.failure ? act.operation.failure.to_text()
                                               : "done");
  }

  void on_end(Act& act) {
    ++act.ended;
    act.ended_at = ++ends_;
    act.local_at_end = act.local;
    EXPECT_FALSE(act.abandoned) << name(act);
    if (act.operation.failure) {
      return;
    }
    EXPECT_TRUE(act.before == nullptr || act.before->ended == 0 || !act.before->operation.failure)
        << name(act) << " succeeded behind " << name(*act.before);
    const bool says_nothing = act.operation.completion == Completion::transmitted && order_ == OrderClass::iwarp;
    EXPECT_TRUE(act.has_good_reference || act.operation.kind == OperationKind::fetch_add ||
                act.operation.kind == OperationKind::flush || says_nothing)
        << name(act);
    if (act.operation.kind == OperationKind::write && act.operation.completion == Completion::delivered) {
      EXPECT_TRUE(has_landed(act)) << name(act);
    }
    if (act.operation.kind == OperationKind::read) {
      EXPECT_EQ(std::memcmp(remote(act), act.local.data(), act.length), 0) << name(act);
    }
    if (act.operation.kind == OperationKind::flush) {
      return;
    }
    // Whatever ended before this one started can have no effect any more.
    for (std::size_t index = 0; index < next_; ++index) {
      Act& other = acts_[index];
      const bool is_over = (other.ended > 0 || other.abandoned) && other.ended_at <= act.started_at;
      if (is_over && other.operation.kind == OperationKind::write && other.has_good_reference &&
          (other.operation.completion == Completion::delivered || other.before != nullptr) &&
          other.remote_when_silent.empty()) {
        other.remote_when_silent = remote_bytes(other);
      }
    }
  }

  void heal() {
    initiator_->device.fault.reset();
    initiator_->device.release();
    for (int round = 0; round < 50; ++round) {
      release_pipe();
      while (!fabric_.empty() || executor_.ready() > 0) {
        step();
      }
      executor_.advance(10ms);
    }
    run();
  }

  void check() {
    std::uint64_t certain = 0;
    std::uint64_t possible = 0;
    owner_->device.land();
    for (std::size_t index = 0; index < next_; ++index) {
      Act& act = acts_[index];
      EXPECT_EQ(act.ended, act.abandoned ? 0 : 1) << name(act);
      const bool notified = act.ended == 1 && !act.operation.failure && act.operation.notify;
      EXPECT_GE(act.notifications, notified ? 1 : 0) << name(act);
      EXPECT_LE(act.notifications, act.operation.notify ? 1 : 0) << name(act);
      EXPECT_EQ(act.local, act.local_at_end) << name(act) << ": local memory was not quiet";
      const bool has_effect_none =
          act.ended == 1 && act.operation.failure && act.operation.failure.effect() == Effect::none;
      if (act.operation.kind == OperationKind::fetch_add) {
        possible |= has_effect_none ? 0 : act.operation.operand;
        certain |= act.ended == 1 && !act.operation.failure ? act.operation.operand : 0;
      }
      if (act.operation.kind != OperationKind::write || !act.has_good_reference) {
        continue;
      }
      if (has_effect_none) {
        EXPECT_EQ(act.notifications, 0) << name(act);
        EXPECT_EQ(std::count(remote(act), remote(act) + act.length, std::byte{0x40}),
                  static_cast<std::ptrdiff_t>(act.length))
            << name(act) << ": it had an effect";
      }
      if (!act.remote_when_silent.empty()) {
        EXPECT_EQ(remote_bytes(act), act.remote_when_silent) << name(act) << ": a ghost write";
      }
    }
    EXPECT_EQ(counter_->words[0] & ~possible, 0U) << where_ << ": an addition happened that was said not to have";
    EXPECT_EQ(certain & ~counter_->words[0], 0U) << where_ << ": an addition is missing";
    std::map<std::uint64_t, int> puts;
    for (const queue::WorkRequest& request : initiator_->device.executed) {
      if (request.verb == queue::Verb::put && request.length > 0) {
        EXPECT_EQ(++puts[request.remote.address], 1) << where_ << ": a put was executed twice";
      }
    }
    auto local = pattern(8, 0);
    Tracked& last = read(memory_->part(0, 8), local);
    run();
    EXPECT_TRUE(last.succeeded()) << where_ << ": " << last.text();
  }

 public:
  std::string where_;

 private:
  OrderClass order_;
  Random random_;
  std::array<Act, kOperations> acts_;
  std::size_t next_ = 0;
  std::size_t ends_ = 0;
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<Memory> counter_;
  std::unique_ptr<Memory> bad_;
};

class RandomPrograms : public testing::TestWithParam<OrderClass> {};

INSTANTIATE_TEST_SUITE_P(Queue, RandomPrograms,
                         testing::Values(OrderClass::strict, OrderClass::unordered, OrderClass::iwarp, OrderClass::srd),
                         name_of_class);

TEST_P(RandomPrograms, EndOnceTellTheTruthAndLeaveMemoryQuiet) {
  const char* const fixed = std::getenv("FERRY_SEED");
  const std::uint64_t first = fixed == nullptr ? 1 : std::strtoull(fixed, nullptr, 10);
  const std::uint64_t count = fixed == nullptr ? (test::kSanitized ? 25 : 100) : 1;
  std::printf("seeds %llu to %llu; one again: FERRY_SEED=N queue_random_test\n", static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(first + count - 1));
  for (std::uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    Program program(GetParam(), seed);
    program.where_ = fmt::format("FERRY_SEED={} {}", seed, to_text(GetParam()));
    program.play();
  }
}

}  // namespace
}  // namespace ferry::queue_tests
