#include <array>
#include <vector>

#include "patterns.hpp"
#include "scenario.hpp"

namespace ferry::conformance {
namespace {

FERRY_CONFORMANCE(Rights);

using testing::HasSubstr;

// Tries every operation through the reference and compares with what its rights permit.
Task<void> expect_rights(BufferRef ref, Access rights) {
  std::array<std::uint64_t, 1> local{};
  const BufferRef word = ref.subrange(0, 8);
  const Failure read = co_await failure_of(word.read_into(std::span(local)));
  const Failure write = co_await failure_of(word.write_from(std::span(local)));
  const Failure add = co_await failure_of(word.fetch_add(0));
  const Failure swap = co_await failure_of(word.compare_swap(~std::uint64_t{0}, 0));
  EXPECT_EQ(!read, permits(rights, Access::read)) << to_string(rights);
  EXPECT_EQ(!write, permits(rights, Access::write)) << to_string(rights);
  EXPECT_EQ(!add, permits(rights, Access::atomic)) << to_string(rights);
  EXPECT_EQ(!swap, permits(rights, Access::atomic)) << to_string(rights);
  for (const Failure& failure : {read, write, add, swap}) {
    if (failure) {
      EXPECT_EQ(failure.code(), errc::access_denied) << failure.to_text();
      EXPECT_EQ(failure.effect(), Effect::none);
      EXPECT_THAT(failure.to_text(), HasSubstr(to_string(rights)));
    }
  }
}

Task<void> each_right_alone(Cluster& cluster) {
  for (std::uint8_t bits = 0; bits < 8; ++bits) {
    const auto rights = static_cast<Access>(bits);
    Shared<std::uint64_t> owner(cluster, 1, 2);
    const BufferRef narrowed_by_owner = owner.ref(cluster, 0, rights);
    EXPECT_EQ(narrowed_by_owner.rights(), rights);
    auto first = expect_rights(narrowed_by_owner, rights);
    co_await first;
    auto second = expect_rights(owner.ref(cluster, 0).with_rights(rights), rights);
    co_await second;
    Shared<std::uint64_t> registered(cluster, 1, 2, 0, {.rights = rights});
    auto third = expect_rights(registered.ref(cluster, 0), rights);
    co_await third;
  }
}
TEST_P(Rights, EachRightPermitsItsOwnOperationsAndNoOthers) {
  play(each_right_alone, {.seeds = 2});
}

Task<void> rights_only_shrink(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 8);
  const BufferRef read_only = owner.ref(cluster, 0, Access::read);
  EXPECT_EQ(read_only.with_rights(Access::all).rights(), Access::read);
  EXPECT_EQ(read_only.subrange(8, 16).rights(), Access::read);
  EXPECT_EQ(carry(read_only, cluster, 0).rights(), Access::read);
  EXPECT_EQ(owner.ref(cluster, 0).with_rights(Access::write).with_rights(Access::read).rights(), Access::none);
  auto tried = expect_rights(read_only.with_rights(Access::all).subrange(8, 16).with_rights(Access::all), Access::read);
  co_await tried;
  const std::vector<std::uint64_t> constant(4, 9);
  RDMABuffer buffer = cluster.context(1).register_memory(std::span(constant));
  EXPECT_EQ(buffer.ref().rights(), Access::read) << "memory that the owner may not change itself";
}
TEST_P(Rights, RightsOnlyShrink) {
  play(rights_only_shrink);
}

Task<void> refused_leaves_memory_alone(Cluster& cluster) {
  Shared<std::byte> owner(cluster, 1, 3 * limits::kSmallBytes, std::byte{0x55});
  Guarded local(owner.values.size());
  const BufferRef write_only = owner.ref(cluster, 0, Access::write);
  const BufferRef read_only = owner.ref(cluster, 0, Access::read);
  const errc read = co_await code_of(write_only.read_into(local.bytes()));
  EXPECT_EQ(read, errc::access_denied);
  EXPECT_TRUE(all_are(local.bytes(), Guarded::kGuardByte));
  const errc write = co_await code_of(read_only.write_from(local.bytes()));
  EXPECT_EQ(write, errc::access_denied);
  EXPECT_TRUE(all_are(owner.values, std::byte{0x55}));
}
TEST_P(Rights, RefusedOperationsLeaveBothSidesAlone) {
  play(refused_leaves_memory_alone);
}

Task<void> subranges(Cluster& cluster) {
  Shared<std::byte> owner(cluster, 1, 1'000);
  fill_pattern(owner.values, 1);
  const BufferRef outer = owner.ref(cluster, 0).subrange(100, 800);
  const BufferRef inner = outer.subrange(200, 300).subrange(50, 100);
  EXPECT_EQ(inner.size(), 100U);
  Guarded local(100);
  co_await carry(inner, cluster, 0).read_into(local.bytes());
  EXPECT_TRUE(is_pattern(local.bytes(), 1, 350));
  EXPECT_THROW(static_cast<void>(inner.subrange(0, 101)), Error);
  EXPECT_THROW(static_cast<void>(inner.subrange(101, 0)), Error);
  const Chunk beyond{100, local.data(), 1};
  const errc code = co_await code_of(inner.read_into(std::span<const Chunk>(&beyond, 1)));
  EXPECT_EQ(code, errc::invalid_range);
}
TEST_P(Rights, SubrangesNarrowAndCannotBeWidened) {
  play(subranges);
}

// A reference whose fields were widened by whoever held it: the owner's word counts, where the owner is asked.
Task<void> forged_range(Cluster& cluster) {
  Shared<std::byte> owner(cluster, 1, 1'000);
  const BufferRef honest = owner.ref(cluster, 0);
  Guarded local(2'000);
  RemoteRegion forged = honest.region();
  forged.size = 2'000;
  forged.length = 2'000;
  const BufferRef beyond(*honest.peer(), forged);
  const Failure read = co_await failure_of(beyond.read_into(local.bytes()));
  EXPECT_TRUE(read && (read.code() == errc::invalid_range || read.code() == errc::revoked ||
                       read.code() == errc::access_denied))
      << (read ? read.to_text() : "was accepted");
  EXPECT_TRUE(local.guards_are_intact());
  RemoteRegion guessed = honest.region();
  guessed.generation = Generation(guessed.generation.value() + 1);
  const BufferRef stranger(*honest.peer(), guessed);
  const errc code = co_await code_of(stranger.read_into(local.bytes().first(1'000)));
  EXPECT_EQ(code, cluster.traits().owner_checks_generations ? errc::revoked : errc{});
  RemoteRegion elsewhere = honest.region();
  elsewhere.slot = RegionSlot(limits::kRegions + 7);
  const BufferRef nowhere(*honest.peer(), elsewhere);
  const errc code_of_nowhere = co_await code_of(nowhere.read_into(local.bytes().first(1'000)));
  EXPECT_EQ(code_of_nowhere, cluster.traits().owner_checks_generations ? errc::revoked : errc{});
  co_await honest.read_into(local.bytes().first(1'000));
}
TEST_P(Rights, AlteredReferencesReachNothingThatTheOwnerDidNotGive) {
  play(forged_range);
}

}  // namespace
}  // namespace ferry::conformance
