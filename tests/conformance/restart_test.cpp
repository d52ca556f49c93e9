// A process ends and another life begins at its addresses.
#include <vector>

#include "held_actor.hpp"
#include "patterns.hpp"
#include "scenario.hpp"

namespace ferry::conformance {
namespace {

FERRY_CONFORMANCE(Restart);

bool means_the_end(errc code) {
  return code == errc::stale_incarnation || code == errc::peer_lost || code == errc::peer_unreachable;
}

struct Life {
  ActorRef<Held> actor;
  BufferRef memory;
};

Task<void> next_life(Cluster& cluster) {
  std::vector<Life> former;
  const std::size_t lives = cluster.traits().threads ? 10 : 4;
  for (std::size_t life = 0; life < lives; ++life) {
    auto spawned = spawn_on<Held>(cluster, 1, "held");
    const ActorRef<Held> actor = co_await spawned;
    const std::uint64_t reply = co_await actor.call<&Held::take>(life + 1);
    EXPECT_EQ(reply, life + 1) << "the new life answers";
    Shared<std::byte> owner(cluster, 1, 500, static_cast<std::byte>(life + 1));
    std::vector<std::byte> local(500);
    const BufferRef memory = owner.ref(cluster, 0);
    co_await memory.read_into(std::span(local));
    EXPECT_TRUE(all_are(local, static_cast<std::byte>(life + 1)));
    for (const Life& old : former) {
      std::ranges::fill(local, std::byte{0});
      const Failure read = co_await failure_of(old.memory.read_into(std::span(local)));
      EXPECT_TRUE(read && means_the_end(read.code())) << (read ? read.to_text() : "it was executed");
      EXPECT_TRUE(all_are(local, std::byte{0})) << "an old reference gave bytes of a new life";
      const Failure write = co_await failure_of(old.memory.write_from(std::span(local)));
      EXPECT_TRUE(write && means_the_end(write.code()));
      const Failure call = co_await failure_of(old.actor.call<&Held::taken>());
      EXPECT_TRUE(call && (means_the_end(call.code()) || call.code() == errc::actor_stopped)) << call.to_text();
    }
    EXPECT_TRUE(all_are(owner.values, static_cast<std::byte>(life + 1))) << "an old reference wrote to a new life";
    former.push_back({actor, memory});
    owner.buffer = RDMABuffer();  // before its node
    owner.values = {};
    cluster.stop(1);
    auto again = cluster.restart(1);
    co_await again;
  }
}
TEST_P(Restart, ReferencesOfAFormerLifeReachNothingOfTheNext) {
  if (!traits().can_restart) {
    return;  // there is but one process
  }
  play(next_life, {.classes = actors<Held>.classes(), .seeds = 4});
}

// Operations of every kind under way when the peer ends.
Task<void> ends_in_the_middle(Cluster& cluster) {
  const std::size_t size = cluster.traits().threads ? 16 * limits::kPieceBytes : 100'000;
  vector<std::byte> memory = cluster.memory<std::byte>(1, size);
  Shared<std::byte> other(cluster, 2, size, std::byte{0x21});
  auto buffer = std::make_unique<RDMABuffer>(cluster.context(1).register_memory(std::span(memory)));
  const BufferRef ref = carry(buffer->ref(), cluster, 0);
  const BufferRef third = other.ref(cluster, 0);
  std::vector<std::byte> into(size);
  std::vector<std::byte> from(size);
  std::vector<std::byte> into_third(size);
  auto read = start(code_of(ref.read_into(std::span(into))));
  auto write = start(code_of(ref.write_from(std::span<const std::byte>(from))));
  auto beside = start(code_of(third.read_into(std::span(into_third))));
  co_await between_looks(cluster);
  buffer.reset();  // as the process's end would
  cluster.stop(1);
  const errc read_code = co_await read;
  const errc write_code = co_await write;
  for (const errc code : {read_code, write_code}) {
    EXPECT_TRUE(code == errc{} || code == errc::revoked || means_the_end(code) || code == errc::outcome_unknown)
        << to_string(code);
  }
  std::ranges::fill(into, std::byte{0x22});
  const errc beside_code = co_await beside;
  EXPECT_EQ(beside_code, errc{}) << "another owner's operation";
  EXPECT_TRUE(all_are(into_third, std::byte{0x21}));
  const Failure after = co_await failure_of(ref.read_into(std::span(into_third)));
  EXPECT_TRUE(after && means_the_end(after.code())) << (after ? after.to_text() : "it was executed");
  EXPECT_TRUE(all_are(into, std::byte{0x22})) << "local memory changed after the end";
}
TEST_P(Restart, EndOfAProcessEndsItsOperationsOnceAndNoOthers) {
  if (!traits().can_restart) {
    return;
  }
  play(ends_in_the_middle, {.nodes = 3, .classes = actors<Held>.classes()});
}

}  // namespace
}  // namespace ferry::conformance
