// Every error that the end, the silence or the absence of another process causes, with its text.
#include <array>
#include <string>

#include "errors.hpp"
#include "held_actor.hpp"

namespace ferry::conformance {
namespace {

FERRY_CONFORMANCE(ChannelErrors);

// The whole text, but for numbers of processes and ports: what was attempted, at node 1, and why it failed.
testing::AssertionResult says(const Failure& failure, const std::string& attempt, const std::string& why) {
  if (!failure) {
    return testing::AssertionFailure() << attempt << " succeeded";
  }
  const std::string expected =
      attempt + " at (actor 2 of )?(process [0-9a-f]+/[0-9a-f]+( \\(node 1\\))?|node 1): " + why;
  return testing::Value(failure.to_text(), testing::MatchesRegex(expected))
             ? testing::AssertionSuccess()
             : testing::AssertionFailure() << '"' << failure.to_text() << "\" is not " << attempt << ": " << why;
}

// Why another process is not there any more, as each transport learns it.
const std::string kGone =
    "(node 1 at [0-9.:]+ has shut down"
    "|the process has shut its node down"
    "|process [0-9a-f/]+( \\(node 1\\))? has shut down"
    "|nothing has been heard from the process for the failure-detection time"
    "|the connection was lost and cannot be made again: local: another process; "
    "((tcp|verbs): [0-9.:]+: .*|shm: no such process listens on this host))";
const std::string kTaken =
    "(process .* was wanted, but .* answers there: it has ended, or it listens elsewhere; get a new reference|process "
    ".* now lives at .*; process .* "
    "has ended)";
const std::string kMaybe = "( \\(it may have taken effect\\))?";
const std::string kRead = "read_into of offset 0, length 8 of 8 bytes";
const std::string kWrite = "write_from of offset 0, length 8 of 8 bytes";
const std::string kAdd = "fetch_add of offset 0, length 8 of 8 bytes";
const std::string kHeld = "ferry::conformance::Held::";

struct Owned {
  ActorRef<Held> held;
  BufferRef memory;
};

// An actor of a node and its memory, which die with it.
Task<Owned> owned_by(Cluster& cluster, std::size_t node) {
  auto spawned = spawn_on<Held>(cluster, node, "held");
  const ActorRef<Held> held = co_await spawned;
  const BufferRef memory = co_await held.call<&Held::door>();
  co_return Owned{held, memory};
}

Task<void> ended_process(Cluster& cluster) {
  auto first = owned_by(cluster, 1);
  const Owned gone = co_await first;
  auto second = owned_by(cluster, 2);
  const Owned other = co_await second;
  auto pending = start(failure_of(gone.held.call<&Held::hold>(std::uint64_t{1})));
  auto is_held = until_held(gone.held, 1, cluster);
  co_await is_held;
  cluster.stop(1);
  std::array<std::uint64_t, 1> word{};
  const Failure call = co_await pending;
  const Failure read = co_await failure_of(gone.memory.read_into(std::span(word)));
  const Failure write = co_await failure_of(gone.memory.write_from(std::span(word)));
  const Failure add = co_await failure_of(gone.memory.fetch_add(1));
  const Failure again = co_await failure_of(gone.held.call<&Held::taken>());
  const Failure send = co_await failure_of(gone.held.send<&Held::take>(std::uint64_t{2}));
  EXPECT_TRUE(
      says(call, "call of " + kHeld + "hold",
           "(actor_stopped: its process is shutting down|peer_lost: " + kGone + ") \\(it may have taken effect\\)"));
  EXPECT_TRUE(says(read, kRead, "peer_lost: " + kGone));
  const std::string unknown = "|outcome_unknown: the connection ended before the owner had answered, .*";
  EXPECT_TRUE(says(write, kWrite, "(peer_lost: " + kGone + unknown + ")"));
  EXPECT_TRUE(says(add, kAdd, "(peer_lost: " + kGone + unknown + ")"));
  EXPECT_TRUE(says(again, "call of " + kHeld + "taken", "peer_lost: " + kGone + kMaybe));
  for (const Failure& failure : {call, read, write, add, again}) {
    EXPECT_THAT(failure.peer(), testing::HasSubstr("(node 1)"));
  }
  if (send) {  // there was room and a channel, if it ended well
    EXPECT_TRUE(says(send, "send of " + kHeld + "take", "peer_lost: " + kGone));
  }
  co_await other.memory.read_into(std::span(word));
  const std::uint64_t taken = co_await other.held.call<&Held::take>(std::uint64_t{3});
  EXPECT_EQ(taken, 3U);

  auto starting = cluster.restart(1);
  co_await starting;
  const Failure stale = co_await failure_of(gone.memory.read_into(std::span(word)));
  const Failure stale_call = co_await failure_of(gone.held.call<&Held::taken>());
  const std::string ended = "(peer_lost: " + kGone + "|stale_incarnation: " + kTaken + ")";
  EXPECT_TRUE(says(stale, kRead, ended));
  EXPECT_TRUE(says(stale_call, "call of " + kHeld + "taken", ended + kMaybe));
}
TEST_P(ChannelErrors, EndOfAProcessIsToldToWhoeverUsesItAndNobodyElse) {
  if (!traits().can_restart) {
    return;  // there is but one process
  }
  play(ended_process, {.nodes = 3, .classes = actors<Held>.classes(), .seeds = 3});
}

// Never met: another life answers at its addresses, or nobody does.
Task<void> never_met(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 1);
  const std::string text = owner.buffer.ref().to_text();
  owner.buffer = RDMABuffer();
  owner.values = {};
  const Contact contact = cluster.node(1).contact();
  cluster.stop(1);
  std::array<std::uint64_t, 1> word{};
  const BufferRef ref = BufferRef::from_text(cluster.node(0), text);
  const Failure nobody = co_await failure_of(ref.read_into(std::span(word)));
  const ActorRef<Held> held(ActorAddress{&cluster.node(0).peers().find_or_add(contact), ActorId(2)});
  const Failure call = co_await failure_of(held.call<&Held::taken>());
  auto starting = cluster.restart(1);
  co_await starting;
  const Failure other = co_await failure_of(ref.read_into(std::span(word)));
  const std::string nowhere = "peer_unreachable: no transport reaches the process: (local: another process; )?";
  EXPECT_TRUE(says(
      nobody, kRead,
      nowhere + "((tcp|verbs): [0-9.:]+: no process listens there: Connection refused \\(ECONNREFUSED\\)|shm: no such "
                "process listens on this host|sim: nobody listens at sim:[0-9]+)"));
  EXPECT_TRUE(says(call, "call of " + kHeld + "taken",
                   nowhere +
                       "((tcp|verbs): [0-9.:]+: no process listens there: .*|shm: no such process listens on this "
                       "host|sim: nobody listens at sim:[0-9]+)"))
      << "it never left";
  EXPECT_EQ(call.effect(), Effect::none);
  EXPECT_TRUE(says(other, kRead,
                   "(" + nowhere +
                       "shm: no such process listens on this host|stale_incarnation: (no transport reaches the "
                       "process: local: another process; (tcp|verbs): [0-9.:]+: )?" +
                       kTaken + ")"));
}
TEST_P(ChannelErrors, ProcessThatWasNeverReachedIsUnreachableUntilAnotherLifeAnswers) {
  if (!traits().can_restart) {
    return;
  }
  play(never_met, {.seeds = 3});
}

ScenarioOptions with_frozen(Duration failure_detection) {
  ScenarioOptions options{.nodes = 2, .classes = actors<Held>.classes(), .freezable = {1}};
  options.limits.failure_detection = failure_detection;
  options.limits.heartbeat = failure_detection / 10;
  options.limits.quiet_grace = std::chrono::milliseconds(20);
  options.limits.handshake = std::chrono::seconds(1);
  return options;
}

Task<void> silent_process(Cluster& cluster) {
  auto first = owned_by(cluster, 1);
  const Owned silent = co_await first;
  std::array<std::uint64_t, 1> word{};
  cluster.freeze(1);
  const Limits soon{std::chrono::milliseconds(30), {}};
  const WriteOptions notifying{.notify = 1, .timeout = std::chrono::milliseconds(30)};
  const Failure write = co_await failure_of(silent.memory.write_from(std::span(word), notifying));
  const Failure call = co_await failure_of(silent.held.call<&Held::taken>().with(soon));
  StopSource source;
  const StopToken token = source.get_token();
  const WriteOptions stoppable{.notify = 1, .stop = token};
  auto stopped = start(failure_of(silent.memory.write_from(std::span(word), stoppable)));
  source.request_stop();
  const Failure cancelled = co_await stopped;
  cluster.thaw(1);
  // The second where what was sent may still lie in a buffer on its way to the owner.
  const auto gave_up = [](const std::string& code, const std::string& why) {
    return "(" + code + ": " + why + kMaybe + "|outcome_unknown: " + why + " \\(" + code +
           "\\), but the owner .* it may still be executed" + kMaybe + ")";
  };
  EXPECT_TRUE(
      says(write, kWrite, gave_up("timed_out", "it did not end, or did not move, within its limit; it was cancelled")));
  // Where the write before took the channel down, the call never left.
  EXPECT_TRUE(says(call, "call of " + kHeld + "taken", "timed_out: no reply came within the limit" + kMaybe));
  EXPECT_TRUE(says(cancelled, kWrite, gave_up("cancelled", "a stop was requested")));
}
TEST_P(ChannelErrors, WhatGivesUpOnASilentProcessSaysSo) {
  if (!traits().can_freeze) {
    return;  // no such thing as a stopped process here
  }
  play(silent_process, with_frozen(std::chrono::seconds(600)));
}

// Its process stands still before there is any channel to it.
Task<void> silent_before_met(Cluster& cluster) {
  auto spawned = cluster.on(1, detail::spawn_here<Held>(cluster.context(1), "held"));
  const ActorRef<Held> there = co_await spawned;
  const ActorRef<Held> held = carry(there, cluster, 0);
  cluster.freeze(1);
  const Limits soon{std::chrono::milliseconds(30), {}};
  const Failure late = co_await failure_of(held.call<&Held::take>(std::uint64_t{1}).with(soon));
  {
    auto dropped = start(failure_of(held.call<&Held::take>(std::uint64_t{2})));
    auto turn = between_looks(cluster);
    co_await turn;
  }
  auto last = start(failure_of(held.call<&Held::take>(std::uint64_t{3})));
  cluster.thaw(1);
  const Failure ended = co_await last;
  EXPECT_FALSE(ended);
  EXPECT_TRUE(says(late, "call of " + kHeld + "take", "timed_out: no reply came within the limit"));
  EXPECT_EQ(late.effect(), Effect::none);
  const std::vector<std::uint64_t> taken = co_await held.call<&Held::taken>();
  EXPECT_THAT(taken, testing::ElementsAre(3)) << "a call that had never left was sent after its end";
}
TEST_P(ChannelErrors, CallThatGivesUpBeforeThereIsAChannelNeverLeaves) {
  if (!traits().can_freeze) {
    return;
  }
  play(silent_before_met, with_frozen(std::chrono::seconds(600)));
}

Task<void> silent_for_long(Cluster& cluster) {
  auto first = owned_by(cluster, 1);
  const Owned quiet = co_await first;
  std::array<std::uint64_t, 1> word{};
  cluster.freeze(1);
  const WriteOptions notifying{.notify = 1};
  auto writing = start(failure_of(quiet.memory.write_from(std::span(word), notifying)));
  const Failure call = co_await failure_of(quiet.held.call<&Held::taken>());
  const Failure write = co_await writing;
  cluster.thaw(1);
  const std::string why =
      "(node 1 at [0-9.:]+ was silent for 1000 ms; it may be stopped, or the network is cut|the process \\(PID "
      "[0-9]+\\) was silent for 1000 ms; it may be stopped)";
  const std::string unreached =
      "the connection was lost and cannot be made again: local: another process; (shm: the process did not answer "
      "within the handshake limit \\(is it stopped\\?\\)|verbs: [0-9.:]+: the connection was taken, but no handshake "
      "came within [0-9]+ ms; the process there is stopped, or not of ferry)";
  EXPECT_TRUE(says(write, kWrite,
                   "(peer_lost: (" + why + "|" + unreached +
                       ")|outcome_unknown: the connection ended before the "
                       "owner had answered, so it may or may not have been executed: " +
                       why + ")" + kMaybe));
  EXPECT_TRUE(says(call, "call of " + kHeld + "taken", "peer_lost: " + why + " \\(it may have taken effect\\)"));
}
TEST_P(ChannelErrors, SilenceForLongIsTheLossOfTheProcess) {
  if (!traits().can_freeze) {
    return;
  }
  play(silent_for_long, with_frozen(std::chrono::seconds(1)));
}

}  // namespace
}  // namespace ferry::conformance
