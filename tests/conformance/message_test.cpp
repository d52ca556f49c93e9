#include <map>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <ferry/buffer/sequence.hpp>

#include "scenario.hpp"

namespace ferry::conformance {
namespace {

FERRY_CONFORMANCE(Message);

using testing::ElementsAre;
using testing::HasSubstr;

struct Point {
  std::int32_t x = 0;
  double y = 0;
  std::string label;
  friend bool operator==(const Point&, const Point&) = default;
};

class Desk final : public Actor {
 public:
  explicit Desk(ActorContext& context)
      : context_(context), word_(1), buffer_(context.register_memory(std::span(word_))) {}

  void note(std::uint64_t sender, std::uint64_t number) { notes_[sender].push_back(number); }
  std::uint64_t note_and_count(std::uint64_t sender, std::uint64_t number) {
    note(sender, number);
    return notes_[sender].size();
  }
  std::vector<std::uint64_t> notes_of(std::uint64_t sender) { return notes_[sender]; }

  std::string all_of(bool flag, std::int8_t small, std::uint64_t large, float real, const std::string& text) {
    return (flag ? "yes " : "no ") + std::to_string(small) + ' ' + std::to_string(large) + ' ' + std::to_string(real) +
           ' ' + text;
  }
  std::vector<Point> turned(std::vector<Point> points) { return {points.rbegin(), points.rend()}; }
  std::map<std::string, std::optional<std::int64_t>> table(std::map<std::string, std::optional<std::int64_t>> in) {
    in["added"] = std::nullopt;
    return in;
  }
  void nothing() {}

  void fail(const std::string& text) { throw std::runtime_error(text); }
  Task<int> fail_later() {
    auto nap = sleep_for(std::chrono::microseconds(1));
    co_await nap;
    throw 5;
  }
  void fail_long(std::uint64_t length) { throw std::runtime_error(std::string(length, 'x')); }

  // How many are inside at once: of the first, which takes three steps; of the second, which stays until two have been.
  Task<int> alone() {
    const int now = ++inside_;
    for (int step = 0; step < 3; ++step) {
      auto nap = sleep_for(std::chrono::microseconds(1));
      co_await nap;
    }
    const int most = std::max(now, inside_);
    --inside_;
    co_return most;
  }
  Task<int> together() {
    constexpr int kPatience = 20'000;  // milliseconds: they never interleave
    most_ = std::max(most_, ++inside_);
    for (int step = 0; step < kPatience && most_ < 2; ++step) {
      auto nap = sleep_for(std::chrono::milliseconds(1));
      co_await nap;
    }
    --inside_;
    co_return most_;
  }

  // Looks at its memory until somebody has written there, keeping its thread busy where there are threads.
  Task<std::uint64_t> busy_until_written(bool threads) {
    const std::atomic_ref<std::uint64_t> word(word_[0]);
    while (word.load(std::memory_order_acquire) == 0) {
      if (!threads) {
        auto nap = sleep_for(std::chrono::microseconds(2));
        co_await nap;
      }
    }
    co_return word.load();
  }
  BufferRef memory() const { return buffer_.ref(); }

  Task<std::uint64_t> relay(ActorRef<Desk> other, std::uint64_t hops) {
    if (hops == 0) {
      co_return 1;
    }
    const std::uint64_t rest = co_await other.call<&Desk::relay>(context_.self<Desk>(), hops - 1);
    co_return rest + 1;
  }

  static constexpr auto endpoints =
      ferry::endpoints<&Desk::note, &Desk::note_and_count, &Desk::notes_of, &Desk::all_of, &Desk::turned, &Desk::table,
                       &Desk::nothing, &Desk::fail, &Desk::fail_later, &Desk::fail_long, &Desk::alone,
                       concurrent<&Desk::together>, &Desk::busy_until_written, &Desk::memory, concurrent<&Desk::relay>>;

 private:
  ActorContext& context_;
  std::map<std::uint64_t, std::vector<std::uint64_t>> notes_;
  int inside_ = 0;
  int most_ = 0;
  vector<std::uint64_t> word_;
  RDMABuffer buffer_;
};

ScenarioOptions with_desks(std::size_t nodes, std::size_t seeds = 8) {
  return {.nodes = nodes, .classes = actors<Desk>.classes(), .seeds = seeds};
}

Task<ActorRef<Desk>> desk_on(Cluster& cluster, std::size_t node, std::string_view name) {
  auto spawned = spawn_on<Desk>(cluster, node, name);
  co_return co_await spawned;
}

// Sends and calls in turn; each sender's numbers must arrive as they were sent.
Task<void> send_notes(ActorRef<Desk> desk, std::uint64_t sender, std::uint64_t count) {
  for (std::uint64_t number = 0; number < count; ++number) {
    if (number % 50 == 49) {
      const std::uint64_t known = co_await desk.call<&Desk::note_and_count>(sender, number);
      EXPECT_EQ(known, number + 1) << "a call overtook a message, or one was lost";
    } else {
      co_await desk.send<&Desk::note>(sender, number);
    }
  }
}

Task<void> in_order_and_once(Cluster& cluster) {
  const std::uint64_t count = cluster.traits().threads ? 3'000 : 200;
  auto spawned = desk_on(cluster, 1, "desk");
  const ActorRef<Desk> desk = co_await spawned;
  std::vector<Running<void>> senders;
  for (std::uint64_t sender = 0; sender < 6; ++sender) {
    const std::size_t node = sender % 3;
    senders.push_back(start(cluster.on(node, send_notes(carry(desk, cluster, node), sender, count))));
  }
  for (Running<void>& sender : senders) {
    co_await sender;
  }
  std::vector<std::uint64_t> expected(count);
  std::iota(expected.begin(), expected.end(), 0);
  for (std::uint64_t sender = 0; sender < 6; ++sender) {
    std::vector<std::uint64_t> notes;
    do {  // the last message may still be on its way when its send has ended
      notes = co_await desk.call<&Desk::notes_of>(sender);
    } while (notes.size() < count);
    EXPECT_EQ(notes, expected) << "of sender " << sender;
  }
}
TEST_P(Message, MessagesOfEachSenderArriveInOrderAndOnce) {
  play(in_order_and_once, with_desks(3));
}

Task<void> start_order(Cluster& cluster) {
  constexpr std::uint64_t kCount = 800;  // more than fit the window: some wait for room
  auto spawned = desk_on(cluster, 1, "desk");
  const ActorRef<Desk> desk = co_await spawned;
  std::vector<Running<std::uint64_t>> calls;
  std::vector<Running<void>> sends;
  for (std::uint64_t number = 0; number < kCount; ++number) {
    if (number % 2 == 0) {
      sends.push_back(start(desk.send<&Desk::note>(9, number)));
    } else {
      calls.push_back(start(desk.call<&Desk::note_and_count>(9, number)));
    }
  }
  for (std::uint64_t index = 0; index < calls.size(); ++index) {
    const std::uint64_t known = co_await calls[index];
    EXPECT_EQ(known, 2 * index + 2);
  }
  for (Running<void>& send : sends) {
    co_await send;
  }
  const std::vector<std::uint64_t> notes = co_await desk.call<&Desk::notes_of>(9);
  EXPECT_TRUE(std::ranges::is_sorted(notes));
  EXPECT_EQ(notes.size(), kCount);
}
TEST_P(Message, OrderIsThatOfStartingAlsoWhereSomeWaitForRoom) {
  play(start_order, with_desks(2));
}

Task<void> values(Cluster& cluster) {
  auto spawned = desk_on(cluster, 1, "desk");
  const ActorRef<Desk> desk = co_await spawned;
  const std::string text =
      co_await desk.call<&Desk::all_of>(true, std::int8_t{-7}, std::uint64_t{1} << 63, 0.5F, std::string("\0ü", 3));
  EXPECT_EQ(text, "yes -7 9223372036854775808 0.500000 " + std::string("\0ü", 3));
  const std::vector<Point> points{{1, 0.25, "a"}, {-2, -1e300, ""}};
  const std::vector<Point> turned = co_await desk.call<&Desk::turned>(points);
  EXPECT_THAT(turned, ElementsAre(points[1], points[0]));
  std::map<std::string, std::optional<std::int64_t>> table{{"x", -1}, {"none", std::nullopt}};
  const auto back = co_await desk.call<&Desk::table>(table);
  table["added"] = std::nullopt;
  EXPECT_EQ(back, table);
  co_await desk.call<&Desk::nothing>();
  const std::vector<Point> none = co_await desk.call<&Desk::turned>(std::vector<Point>());
  EXPECT_TRUE(none.empty());
}
TEST_P(Message, ArgumentsAndResultsArriveAsTheyWereGiven) {
  play(values, with_desks(2, 2));
}

Task<void> exceptions(Cluster& cluster) {
  auto spawned = desk_on(cluster, 1, "front");
  const ActorRef<Desk> desk = co_await spawned;
  co_await desk.send<&Desk::note>(1, 4);
  const Failure failure = co_await failure_of(desk.call<&Desk::fail>("boom 7"));
  EXPECT_TRUE(failure && failure.code() == errc::endpoint_failed);
  EXPECT_THAT(failure.to_text(), HasSubstr("boom 7"));
  EXPECT_THAT(failure.to_text(), HasSubstr("runtime_error"));
  EXPECT_THAT(failure.to_text(), HasSubstr("front"));
  EXPECT_THAT(failure.to_text(), HasSubstr("Desk::fail"));
  const Failure other = co_await failure_of(desk.call<&Desk::fail_later>());
  EXPECT_TRUE(other && other.code() == errc::endpoint_failed) << "an exception that is none of std's";
  const Failure cut = co_await failure_of(desk.call<&Desk::fail_long>(std::uint64_t{1'000'000}));
  EXPECT_TRUE(cut && cut.code() == errc::endpoint_failed);
  EXPECT_LE(cut.detail().size(), limits::kExceptionText + 1'000);
  const std::vector<std::uint64_t> notes = co_await desk.call<&Desk::notes_of>(1);
  EXPECT_THAT(notes, ElementsAre(4)) << "its state is kept";
  co_await desk.send<&Desk::fail>("one way 8");
  co_await desk.call<&Desk::nothing>();
  EXPECT_THAT(cluster.log_of(1), testing::Contains(HasSubstr("one way 8")));
}
TEST_P(Message, ExceptionsOfAnEndpointReachTheCallerAndTheActorLivesOn) {
  play(exceptions, with_desks(2));
}

Task<void> one_at_a_time(Cluster& cluster) {
  auto spawned = desk_on(cluster, 1, "desk");
  const ActorRef<Desk> desk = co_await spawned;
  std::vector<Running<int>> alone;
  for (int index = 0; index < 20; ++index) {
    alone.push_back(start(desk.call<&Desk::alone>()));
  }
  for (Running<int>& call : alone) {
    const int most = co_await call;
    EXPECT_EQ(most, 1) << "two endpoints ran at once";
  }
  std::vector<Running<int>> together;
  for (int index = 0; index < 20; ++index) {
    together.push_back(start(desk.call<&Desk::together>()));
  }
  int most = 0;
  for (Running<int>& call : together) {
    const int now = co_await call;
    most = std::max(most, now);
  }
  EXPECT_GT(most, 1) << "concurrent endpoints did not interleave";
}
TEST_P(Message, EndpointsRunOneAtATimeUnlessTheyAreConcurrent) {
  play(one_at_a_time, with_desks(2));
}

Task<void> busy_actor(Cluster& cluster) {
  auto spawned = desk_on(cluster, 1, "busy");
  const ActorRef<Desk> desk = co_await spawned;
  auto second_spawned = desk_on(cluster, 1, "other");
  const ActorRef<Desk> other = co_await second_spawned;
  const BufferRef memory = co_await desk.call<&Desk::memory>();
  auto busy = start(desk.call<&Desk::busy_until_written>(cluster.traits().threads));
  for (int round = 0; round < 20; ++round) {  // other actors answer
    co_await other.call<&Desk::nothing>();
  }
  std::array<std::uint64_t, 1> word{};
  co_await memory.read_into(std::span(word));
  word[0] = 7;
  co_await memory.write_from(std::span(word));
  const std::uint64_t seen = co_await busy;
  EXPECT_EQ(seen, 7U);
}
TEST_P(Message, ActorThatKeepsItsThreadBusyStopsNeitherAccessToItsMemoryNorOtherActors) {
  play(busy_actor, with_desks(2));
}

Task<void> back_and_forth(Cluster& cluster) {
  auto one = desk_on(cluster, 1, "one");
  const ActorRef<Desk> first = co_await one;
  auto two = desk_on(cluster, 2, "two");
  const ActorRef<Desk> second = co_await two;
  const std::uint64_t hops = co_await first.call<&Desk::relay>(second, std::uint64_t{40});
  EXPECT_EQ(hops, 41U);
}
TEST_P(Message, CallsNestBackAndForthBetweenProcesses) {
  play(back_and_forth, with_desks(3));
}

class Unlisted final : public Actor {
 public:
  explicit Unlisted(ActorContext&) {}
  void nothing() {}
  static constexpr auto endpoints = ferry::endpoints<&Unlisted::nothing>;
};

Task<void> refusals(Cluster& cluster) {
  auto spawned = desk_on(cluster, 1, "desk");
  const ActorRef<Desk> desk = co_await spawned;
  const Failure taken = co_await failure_of(spawn_on<Desk>(cluster, 1, "desk"));
  EXPECT_TRUE(taken && taken.code() == errc::name_in_use);
  EXPECT_THAT(taken.to_text(), HasSubstr("\"desk\""));
  const Failure unlisted = co_await failure_of(spawn_on<Unlisted>(cluster, 1, "unlisted"));
  EXPECT_TRUE(unlisted && unlisted.code() == errc::no_such_actor_class);
  EXPECT_THAT(unlisted.to_text(), HasSubstr("Unlisted"));
  const ActorRef<Desk> never(ActorAddress{desk.address().peer, ActorId(1'000'000)});
  const Failure nobody = co_await failure_of(never.call<&Desk::nothing>());
  EXPECT_TRUE(nobody && nobody.code() == errc::no_such_actor);
  const ActorRef<Unlisted> disguised(desk.address());
  const Failure other_class = co_await failure_of(disguised.call<&Unlisted::nothing>());
  EXPECT_TRUE(other_class && other_class.code() == errc::version_mismatch);
  co_await desk.call<&Desk::nothing>();
}
TEST_P(Message, CallsAndSpawnsThatCannotBeServedSayWhy) {
  play(refusals, with_desks(2));
}

}  // namespace
}  // namespace ferry::conformance
