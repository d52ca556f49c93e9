// Shared memory between real processes, as users see it. What needs a look inside is in tests/unit/shm.
#include <span>
#include <vector>

#include "process_actors.hpp"

namespace ferry::conformance {
namespace {

using Play = Task<void> (*)(Context);

void play(Play scenario) {
  NodeOptions options;
  options.transports = "shm";
  options.threads = 1;
  Node node(options, kProcessActors);
  node.block_on(scenario(node.context()));
}

// The only executor thread of the owner is kept busy by user code all the while: its progress thread serves the reads.
Task<void> denied_reads(Context context) {
  constexpr std::size_t kSize = 700'000;
  auto starting = start_residents(context, 1, 64);
  const Residents residents = co_await starting;
  const bool denied = co_await residents.actors[0].call<&Resident::deny_memory_of_others>();
  EXPECT_TRUE(denied) << "no seccomp";
  const std::vector<std::byte> memory(kSize, std::byte{0x3d});
  RDMABuffer buffer = context.register_memory(std::span(memory));
  vector<std::uint64_t> word(1);
  RDMABuffer word_buffer = context.register_memory(std::span(word));
  auto counting = start(residents.actors[0].call<&Resident::count_bytes>(buffer.ref(), 0x3d, word_buffer.ref()));
  const std::atomic_ref<std::uint64_t> found(word[0]);
  while (found.load() == 0) {  // ctest's limit ends it if nobody serves
  }
  EXPECT_EQ(found.load(), kSize);
  co_await counting;
}
TEST(SharedMemory, ReadsThatTheKernelDeniesAreServedWhileUserCodeKeepsTheOwnersThreadsBusy) {
  play(denied_reads);
}

// A writer is stopped while it goes round in the memory: the revocation ends at its deadline, in one way or the other,
// and what is allocated afterwards is written by nobody else.
Task<void> stopped_writer(Context context) {
  constexpr std::size_t kSize = std::size_t{32} << 20;
  const Limits limit{std::chrono::milliseconds(100), {}};
  int timed_out = 0;
  for (int round = 0; round < 100 && timed_out < 2; ++round) {
    auto starting = start_residents(context, 1, 64);
    const Residents residents = co_await starting;
    auto memory = std::make_unique<vector<std::byte>>(kSize);
    RDMABuffer buffer = context.register_memory(std::span(*memory));
    const BufferRef ref = buffer.ref();
    NotificationStream arrived = buffer.notifications();
    auto hammering = start(failure_of(residents.actors[0].call<&Resident::overwrite>(ref)));
    co_await arrived.next();
    stop_process(residents.pids[0]);
    auto revoking = as_result(buffer.revoke(limit));
    const auto revoked = co_await revoking;
    if (!revoked) {
      EXPECT_EQ(revoked.error().code(), errc::timed_out) << revoked.error().to_text();
      EXPECT_EQ(revoked.error().effect(), Effect::unknown);
      ++timed_out;
    }
    const std::byte* const former = memory->data();
    buffer = RDMABuffer();
    memory.reset();
    vector<std::byte> next(kSize, std::byte{0x66});
    EXPECT_TRUE(revoked || next.data() != former) << "quarantined memory was handed out";
    resume_process(residents.pids[0]);
    const Failure end = co_await hammering;
    EXPECT_TRUE(end && end.code() == errc::endpoint_failed) << text_of(end);
    EXPECT_TRUE(all_are(next, std::byte{0x66})) << "a writer that had been stopped wrote into other memory";
    const std::uint64_t echo = co_await residents.actors[0].call<&Resident::echo>(std::uint64_t{8});
    EXPECT_EQ(echo, 8U) << "it goes on";
  }
  EXPECT_EQ(timed_out, 2) << "no process was stopped inside of a copy";
}
TEST(SharedMemory, WriterStoppedInsideACopyWritesIntoNothingElseWhenItGoesOn) {
  play(stopped_writer);
}

}  // namespace
}  // namespace ferry::conformance
