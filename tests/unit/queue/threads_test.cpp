// Several threads start, cancel and send at one connection while another one tells what has happened, and lanes, queue
// pairs and links fail: for ThreadSanitizer, and for the promises that hold whoever comes first.
#include <sanitizers.hpp>
#include <thread_executor.hpp>

#include "queue_fixture.hpp"

#include <array>
#include <atomic>
#include <mutex>
#include <thread>

#include <ferry/base/random.hpp>
#include <ferry/queue/message_link.hpp>

namespace ferry::queue_tests {
namespace {

constexpr std::size_t kThreads = 3;
constexpr int kTurns = test::kSanitized ? 400 : 3000;
constexpr std::size_t kLarge = 10240;  // bytes

// The one thread that steps.
class Poller {
 public:
  explicit Poller(test::FakeFabric& fabric) : fabric_(fabric), thread_([this] { poll(); }) {}
  ~Poller() {
    {
      const std::lock_guard lock(fabric_.mutex);
      is_ending_ = true;
    }
    fabric_.changed.notify_all();
    thread_.join();
  }

 private:
  void poll() {
    Random random(1);
    for (;;) {
      if (!fabric_.step(random.below(1000))) {
        std::unique_lock lock(fabric_.mutex);
        fabric_.changed.wait(lock, [this] { return is_ending_ || !fabric_.empty(); });
        if (is_ending_ && fabric_.empty()) {
          return;
        }
      }
    }
  }

  test::FakeFabric& fabric_;
  bool is_ending_ = false;
  std::thread thread_;
};

struct Awaited {
  Awaited() {
    operation.starter = this;
    operation.on_complete = [](Operation& complete) noexcept {
      auto& mine = *static_cast<Awaited*>(complete.starter);
      const std::lock_guard lock(mine.mutex);
      ++mine.ends;
      mine.changed.notify_all();
    };
  }
  void wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return ends > 0; });
  }

  Operation operation;
  std::mutex mutex;
  std::condition_variable changed;
  int ends = 0;
};

class Threads : public testing::TestWithParam<OrderClass> {
 protected:
  Threads()
      : owner_(fabric_, executor_, GetParam(), ProcessId{2, 2}, listener_),
        initiator_(fabric_, executor_, GetParam(), ProcessId{1, 1}, listener_) {
    listener_ = &owner_;
    owner_.device.tells_progress = GetParam() == OrderClass::strict;
  }
  ~Threads() override {
    initiator_.core.shut_down();
    initiator_.server->shut_down();
    owner_.core.shut_down();
    owner_.server->shut_down();
  }

  test::FakeFabric fabric_;
  test::ThreadExecutor executor_;
  Poller poller_{fabric_};
  Process* listener_ = nullptr;
  Process owner_;
  Process initiator_;
};

INSTANTIATE_TEST_SUITE_P(Queue, Threads,
                         testing::Values(OrderClass::strict, OrderClass::unordered, OrderClass::iwarp, OrderClass::srd),
                         name_of_class);

TEST_P(Threads, OperationsOfManyThreadsEndOnceAndTellTheTruthWhateverFails) {
  Peer& peer = initiator_.core.peers().find_or_add(ProcessId{2, 2});
  Memory memory(owner_, kThreads * kLarge);
  Memory counter(owner_, 8);
  std::array<std::uint64_t, kThreads> certain{};
  std::array<std::uint64_t, kThreads> possible{};
  std::array<std::uint64_t, kThreads> done{};
  std::atomic<std::size_t> running = kThreads;

  const auto work = [&](std::size_t self) {
    Random random(self + 10);
    for (int turn = 0; turn < kTurns; ++turn) {
      const std::uint64_t length = random.below(2) == 0 ? 8 : kLarge;
      const auto value = static_cast<std::uint8_t>(turn);
      std::vector<std::uint64_t> local = pattern(length, value);
      Awaited awaited;
      Operation& operation = awaited.operation;
      operation.kind = std::array{OperationKind::read, OperationKind::write, OperationKind::write,
                                  OperationKind::fetch_add, OperationKind::flush}[random.below(5)];
      operation.region =
          operation.kind == OperationKind::fetch_add ? counter.reference : memory.part(self * kLarge, length);
      operation.single = Chunk{0, reinterpret_cast<std::byte*>(local.data()), length};
      operation.operand = 1;
      if (peer.start(operation) != Started::complete) {
        if (random.below(8) == 0) {
          peer.cancel(operation, Failure(errc::cancelled, "the user asked"));
        }
        awaited.wait();
        EXPECT_EQ(awaited.ends, 1);
      }
      const bool succeeded = !operation.failure;
      done[self] += succeeded ? 1U : 0U;
      if (operation.kind == OperationKind::fetch_add) {
        certain[self] += succeeded ? 1U : 0U;
        possible[self] += succeeded || operation.failure.effect() == Effect::unknown ? 1U : 0U;
      } else if (operation.kind == OperationKind::write && succeeded) {
        const std::lock_guard lock(fabric_.mutex);
        EXPECT_TRUE(memory.is(value, self * kLarge, length)) << "turn " << turn;
      } else if (operation.kind == OperationKind::write && operation.failure.effect() == Effect::none) {
        EXPECT_NE(operation.failure.code(), errc::outcome_unknown);
      }
    }
    --running;
  };
  const auto disturb = [&] {
    Random random(99);
    while (running > 0) {
      const std::uint64_t what = random.below(12);
      std::shared_ptr<FakePipe> pipe;
      {
        const std::lock_guard lock(fabric_.mutex);
        if (what == 0) {
          initiator_.device.fault = FakeDevice::Fault{static_cast<std::size_t>(random.below(8)),
                                                      queue::WorkStatus::unreachable, random.below(2) == 0};
        } else if (what == 1) {
          initiator_.device.lose_queues(Failure(errc::peer_lost, "the port is down"));
        } else if (what == 2 && random.below(4) == 0) {
          pipe = initiator_.pipe;
        }
      }
      if (pipe != nullptr) {
        pipe->cut(Failure(errc::peer_lost, "the wire was cut"), PeerState::unknown);
      }
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
    const std::lock_guard lock(fabric_.mutex);
    initiator_.device.fault.reset();
  };
  std::vector<std::thread> threads;
  for (std::size_t self = 0; self < kThreads; ++self) {
    threads.emplace_back(work, self);
  }
  threads.emplace_back(disturb);
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  for (std::size_t self = 0; self < kThreads; ++self) {
    EXPECT_GT(done[self], kTurns / 2U) << "most should succeed";
    least += certain[self];
    most += possible[self];
  }
  const std::uint64_t sum = std::atomic_ref(counter.words[0]).load();
  EXPECT_GE(sum, least);
  EXPECT_LE(sum, most);
}

struct Ear final : queue::ControlEvents {
  void on_control_open() noexcept override {}
  void on_control(wire::Bytes&& message) noexcept override {
    const std::lock_guard lock(mutex);
    heard.emplace_back(wire::as_text({message.data(), message.size()}));
    changed.notify_all();
  }
  void on_control_closed(const Failure&, PeerState) noexcept override {}
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> heard;
};

TEST_P(Threads, MessagesOfManyThreadsArriveOnceAndInTheOrderOfEach) {
  auto pipe = std::make_shared<FakePipe>(fabric_);
  Ear ears[2];
  std::unique_ptr<queue::ControlLink> links[2];
  links[0] = queue::MessageLink::dial(initiator_.core, initiator_.device, ears[0], [&](queue::ControlEvents& events) {
    return pipe->end(FakePipe::initiator, events, ProcessId{2, 2});
  });
  links[1] = queue::MessageLink::accept(owner_.core, owner_.device, ears[1], [&](queue::ControlEvents& events) {
    return pipe->end(FakePipe::owner, events, ProcessId{1, 1});
  });
  links[0]->send(wire::Bytes(wire::as_bytes("0 -1")));
  std::atomic<std::size_t> running = 2 * kThreads;
  std::vector<std::thread> threads;
  for (std::size_t self = 0; self < 2 * kThreads; ++self) {
    threads.emplace_back([&, self] {
      for (int turn = 0; turn < kTurns; ++turn) {
        const std::string text = std::to_string(self) + " " + std::to_string(turn);
        EXPECT_TRUE(links[self % 2]->send(wire::Bytes(wire::as_bytes(text))));
      }
      --running;
    });
  }
  threads.emplace_back([&] {
    while (running > 0) {
      {
        const std::lock_guard lock(fabric_.mutex);
        owner_.device.lose_queues(Failure(errc::peer_lost, "the port is down"));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (int end = 0; end < 2; ++end) {
    std::unique_lock lock(ears[end].mutex);
    const std::size_t expected = kThreads * kTurns + (end == 1 ? 1 : 0);
    ears[end].changed.wait(lock, [&] { return ears[end].heard.size() >= expected; });
    EXPECT_EQ(ears[end].heard.size(), expected);
    std::array<int, 2 * kThreads> next{};
    for (const std::string& text : ears[end].heard) {
      const std::size_t self = static_cast<std::size_t>(text[0] - '0');
      const int turn = std::stoi(text.substr(2));
      if (turn >= 0) {
        EXPECT_EQ(turn, next[self]++) << "of thread " << self;
      }
    }
  }
  links[0]->close(Failure(errc::shut_down, "done"));
  links[1]->close(Failure(errc::shut_down, "done"));
}

}  // namespace
}  // namespace ferry::queue_tests
