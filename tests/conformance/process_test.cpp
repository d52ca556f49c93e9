// The contract between real processes: what needs signals, deaths and separate address spaces.
#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

#include "process_actors.hpp"

namespace ferry::conformance {
namespace {

using testing::HasSubstr;

class Process : public testing::TestWithParam<const char*> {
 protected:
  using Play = Task<void> (*)(Context);
  static void play(Play scenario, const NodeLimits& limits = {}) {
    NodeOptions options;
    options.transports = GetParam();
    options.limits = limits;
    Node node(options, kProcessActors);
    node.block_on(scenario(node.context()));
  }
};
INSTANTIATE_TEST_SUITE_P(Over, Process, testing::Values("tcp", "shm", "auto"),
                         [](const auto& parameter) { return std::string(parameter.param); });

Task<void> everybody_reads_everybody(Context context) {
  auto starting = start_residents(context, 4, 50'000);
  const Residents residents = co_await starting;
  std::vector<std::uint64_t> expected(4);
  std::iota(expected.begin(), expected.end(), 1);
  for (const ActorRef<Resident>& actor : residents.actors) {
    const auto numbers = co_await actor.call<&Resident::read_all>(residents.memories);
    EXPECT_EQ(numbers, expected);
  }
  std::vector<std::byte> local(50'000);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    co_await residents.memories[rank].read_into(std::span(local));
    EXPECT_TRUE(is_pattern(local, rank + 1));
    const BufferRef parsed = BufferRef::from_text(context, residents.memories[rank].to_text());
    co_await parsed.read_into(std::span(local));
    EXPECT_TRUE(is_pattern(local, rank + 1));
  }
}
TEST_P(Process, EveryProcessReadsTheMemoryOfEveryOther) {
  play(everybody_reads_everybody);
}

Task<void> atomics_of_processes(Context context) {
  constexpr std::uint64_t kCount = 2'000;
  auto starting = start_residents(context, 4, 64);
  const Residents residents = co_await starting;
  co_await residents.actors[0].call<&Resident::clear>();
  const BufferRef word = residents.memories[0].subrange(0, 8);
  std::vector<Running<void>> adders;
  for (std::size_t rank = 1; rank < 4; ++rank) {
    adders.push_back(start(residents.actors[rank].call<&Resident::add_ones>(word, kCount)));
  }
  adders.push_back(start(residents.actors[0].call<&Resident::add_ones_here>(20 * kCount)));
  for (std::uint64_t round = 0; round < kCount; ++round) {
    co_await word.fetch_add(1);
  }
  for (Running<void>& adder : adders) {
    co_await adder;
  }
  const std::uint64_t sum = co_await residents.actors[0].call<&Resident::first_word>();
  EXPECT_EQ(sum, 24 * kCount);
}
TEST_P(Process, AdditionsOfProcessesAndTheOwnersOwnAddUp) {
  play(atomics_of_processes);
}

// Reads again and again until the owner is noticed to be gone.
Task<Failure> read_until_lost(BufferRef memory, std::uint64_t number) {
  std::vector<std::byte> local(memory.size());
  for (;;) {
    auto outcome = as_result(memory.read_into(std::span(local)));
    const auto result = co_await outcome;
    if (!result) {
      co_return result.error();
    }
    EXPECT_TRUE(is_pattern(local, number));
    auto pause = sleep_for(std::chrono::microseconds(100));
    co_await pause;
  }
}

// A channel sees the end of a process before its parent does, which knows how it ended.
Task<Failure> told_how_it_ended(BufferRef memory) {
  std::vector<std::byte> local(memory.size());
  for (;;) {
    const Failure failure = co_await failure_of(memory.read_into(std::span(local)));
    if (!failure || failure.code() != errc::peer_lost || failure.detail().find("signal") != std::string::npos) {
      co_return failure;
    }
    auto pause = sleep_for(std::chrono::microseconds(100));
    co_await pause;
  }
}

Task<void> killed_owner(Context context) {
  auto starting = start_residents(context, 2, std::uint64_t{3} << 20);
  const Residents residents = co_await starting;
  auto lost = start(read_until_lost(residents.memories[0], 1));
  auto pending = start(failure_of(residents.actors[0].call<&Resident::never_ends>()));
  std::vector<std::byte> local(residents.memories[1].size());
  co_await residents.memories[1].read_into(std::span(local));
  ::kill(static_cast<pid_t>(residents.pids[0]), SIGKILL);
  const Failure read = co_await lost;
  const Failure call = co_await pending;
  for (const Failure& failure : {read, call}) {
    EXPECT_TRUE(failure && failure.code() == errc::peer_lost) << text_of(failure);
    EXPECT_THAT(text_of(failure), HasSubstr("procs=0")) << "it names the process";
  }
  auto telling = told_how_it_ended(residents.memories[0]);
  const Failure told = co_await telling;
  EXPECT_TRUE(told && told.code() == errc::peer_lost);
  EXPECT_THAT(text_of(told), HasSubstr("procs=0 was killed by signal 9 (Killed)"));
  std::ranges::fill(local, std::byte{0});
  co_await residents.memories[1].read_into(std::span(local));
  EXPECT_TRUE(is_pattern(local, 2)) << "the other owner";
  const std::uint64_t echo = co_await residents.actors[1].call<&Resident::echo>(std::uint64_t{5});
  EXPECT_EQ(echo, 5U);
}
TEST_P(Process, KilledOwnerFailsItsOwnOperationsAndCallsAndNoOthers) {
  play(killed_owner);
}

Task<Failure> read_until_it_fails(BufferRef memory, std::atomic<int>& reads) {
  std::vector<std::byte> local(memory.size());
  for (;; ++reads) {
    const Failure failure = co_await failure_of(memory.read_into(std::span(local)));
    if (failure) {
      co_return failure;
    }
  }
}

// At whatever moment of a read the owner dies: nobody has revoked anything.
Task<void> owner_killed_in_a_read(Context context) {
  for (int round = 0; round < 8; ++round) {
    auto starting = start_residents(context, 1, 64);
    const Residents residents = co_await starting;
    const BufferRef memory = co_await residents.actors[0].call<&Resident::other_memory>(std::uint64_t{64} << 20);
    std::atomic<int> reads{0};
    std::thread killer([&reads, pid = static_cast<pid_t>(residents.pids[0])] {
      while (reads.load() == 0) {
      }
      ::kill(pid, SIGKILL);
    });
    auto reading = read_until_it_fails(memory, reads);
    const Failure failure = co_await reading;
    killer.join();
    EXPECT_EQ(failure.code(), errc::peer_lost) << text_of(failure);
  }
}
TEST_P(Process, OwnerKilledInTheMiddleOfAReadOfOtherMemoryIsLostAndHasRevokedNothing) {
  play(owner_killed_in_a_read);
}

Task<void> killed_users(Context context) {
  for (int round = 0; round < 3; ++round) {
    auto starting = start_residents(context, 6, 4'096);
    const Residents residents = co_await starting;
    vector<std::byte> memory(std::size_t{2} << 20);
    RDMABuffer buffer = context.register_memory(std::span(memory));
    NotificationStream arrived = buffer.notifications();
    std::vector<Running<Failure>> hammering;
    for (const ActorRef<Resident>& actor : residents.actors) {
      hammering.push_back(start(failure_of(actor.call<&Resident::hammer>(buffer.ref()))));
    }
    for (std::size_t begun = 0; begun < hammering.size(); ++begun) {
      auto next = arrived.next();
      co_await next;
    }
    for (const std::int64_t pid : residents.pids) {
      ::kill(static_cast<pid_t>(pid), SIGKILL);
    }
    for (Running<Failure>& one : hammering) {
      const Failure failure = co_await one;
      EXPECT_TRUE(failure && failure.code() == errc::peer_lost) << text_of(failure);
    }
    auto revoked = buffer.revoke();
    co_await revoked;  // nobody who died inside the memory keeps it from ending
    std::ranges::fill(memory, std::byte{0x44});
  }
  auto starting = start_residents(context, 1, 64);
  const Residents fresh = co_await starting;
  const std::uint64_t echo = co_await fresh.actors[0].call<&Resident::echo>(std::uint64_t{6});
  EXPECT_EQ(echo, 6U) << "a new process works at once";
}
TEST_P(Process, ProcessesKilledInTheMiddleOfAccessesKeepNothingBusy) {
  play(killed_users);
}

Task<void> stopped_process(Context context) {
  auto starting = start_residents(context, 2, 4'096);
  const Residents residents = co_await starting;
  stop_process(residents.pids[0]);
  const Limits limit{std::chrono::milliseconds(50), {}};
  for (std::uint64_t value = 0; value < 5; ++value) {
    const Failure late = co_await failure_of(residents.actors[0].call<&Resident::echo>(value).with(limit));
    EXPECT_TRUE(late && late.code() == errc::timed_out) << text_of(late);
    const std::uint64_t other = co_await residents.actors[1].call<&Resident::echo>(value);
    EXPECT_EQ(other, value) << "a process that is not stopped";
  }
  auto waiting = start(residents.actors[0].call<&Resident::echo>(std::uint64_t{77}));
  resume_process(residents.pids[0]);
  const std::uint64_t reply = co_await waiting;
  EXPECT_EQ(reply, 77U) << "a late reply met another call";
  std::vector<std::byte> local(4'096);
  co_await residents.memories[0].read_into(std::span(local));
  EXPECT_TRUE(is_pattern(local, 1));
}
TEST_P(Process, StoppedProcessEndsCallsByTheirLimitAndGoesOnWithTheRightReplies) {
  NodeLimits limits;
  limits.failure_detection = std::chrono::seconds(600);
  play(stopped_process, limits);
}

Task<void> stopped_for_long(Context context) {
  auto starting = start_residents(context, 1, 4'096);
  const Residents residents = co_await starting;
  auto pending = start(failure_of(residents.actors[0].call<&Resident::never_ends>()));
  stop_process(residents.pids[0]);
  const Failure failure = co_await pending;  // without a limit: only detection ends it
  EXPECT_TRUE(failure && failure.code() == errc::peer_lost) << text_of(failure);
  resume_process(residents.pids[0]);
}
TEST_P(Process, ProcessStoppedForLongIsLost) {
  NodeLimits limits;
  limits.heartbeat = std::chrono::milliseconds(100);
  limits.failure_detection = std::chrono::seconds(1);
  play(stopped_for_long, limits);
}

}  // namespace
}  // namespace ferry::conformance
