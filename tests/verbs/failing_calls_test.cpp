// Every libibverbs call that can fail does, once, at each place where it is made: what is under way ends, with success
// or a cause, and nothing that was made is left over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "failing_calls.hpp"
#include "verbs_node.hpp"

namespace ferry::verbs::test {
namespace {

constexpr std::size_t kSize = std::size_t{64} << 10;

// Two nodes, a read, a write, a revocation; what failed, for the record.
std::string play() {
  std::string told;
  const auto note = [&told](std::string_view what, const Failure& why) {
    if (why) {
      EXPECT_FALSE(why.detail().empty()) << what;
      told += fmt::format("{}: {}; ", what, why.to_text());
    }
  };
  std::vector<std::byte> memory(kSize, std::byte{0x21});
  std::vector<std::byte> local(kSize);
  TestLoop loop;
  loop.start();
  {
    VerbsNode owner(loop, 1, failing_calls());
    VerbsNode user(loop, 2, failing_calls());
    note("owner", owner.failure);
    note("user", user.failure);
    if (!owner.failure && !user.failure) {
      const auto region = owner.share(memory);
      if (region) {
        Peer& peer = user.peer(owner);
        auto read = begin(OperationKind::read, peer, *region, local);
        const Failure reading = read->outcome();
        note("read", reading);
        if (!reading) {
          EXPECT_EQ(local, memory);
        }
        auto small = begin(OperationKind::read, peer, *region, std::span(local).first(8));
        note("small read", small->outcome());
        std::ranges::fill(local, std::byte{0x22});
        auto write = begin(OperationKind::write, peer, *region, local);
        const Failure writing = write->outcome();
        note("write", writing);
        if (!writing) {
          EXPECT_EQ(memory, local);
        }
        const auto revoked = owner.revoke(*region);
        note("revoke", revoked ? Failure() : revoked.error());
        auto stale = begin(OperationKind::read, peer, *region, local);
        EXPECT_TRUE(stale->outcome()) << "a read of revoked memory succeeded";
      } else {
        note("share", region.error());
      }
    }
  }
  loop.stop();
  EXPECT_EQ(loop.source_count(), 0U);
  return told;
}

class FailingCalls : public testing::TestWithParam<Kind> {};

TEST_P(FailingCalls, AreSurvivedWhereverTheyAre) {
  const int alive_before = alive();
  // Those that are made all the time are let fail at places further and further apart.
  for (int nth = 1;; nth += nth < 64 ? 1 : nth / 2) {
    fail(GetParam(), nth);
    const std::string told = play();
    const bool was_reached = has_failed();
    fail(Kind::none, 0);
    EXPECT_EQ(alive(), alive_before) << "call " << nth << " of " << to_string(GetParam());
    if (!was_reached) {
      EXPECT_EQ(told, "") << "nothing failed";
      EXPECT_GT(nth, 1) << "it is never called";
      fmt::print("  {}: {} places\n", to_string(GetParam()), nth - 1);
      return;
    }
    if (nth >= (GetParam() == Kind::poll_cq || GetParam() == Kind::req_notify_cq ? 8 : 400)) {
      return;
    }
  }
}

std::vector<Kind> all_kinds() {
  std::vector<Kind> kinds;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    kinds.push_back(static_cast<Kind>(kind));
  }
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(Over, FailingCalls, testing::ValuesIn(all_kinds()),
                         [](const auto& kind) { return std::string(to_string(kind.param)); });

}  // namespace
}  // namespace ferry::verbs::test
