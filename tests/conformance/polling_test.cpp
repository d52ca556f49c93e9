// A loop of operations, each of which may end in place, is cut by whatever would cut one that waits.
#include <array>
#include <chrono>

#include <ferry/buffer/batch.hpp>

#include "scenario.hpp"

namespace ferry::conformance {
namespace {

using namespace std::chrono_literals;

FERRY_CONFORMANCE(Polling);

// Never ends by itself.
Task<void> poll(BufferRef word) {
  std::array<std::uint64_t, 1> local{};
  for (;;) {
    co_await word.read_into(std::span(local));
  }
}
Task<void> poll_until_stopped(BufferRef word, StopToken stop) {
  std::array<std::uint64_t, 1> local{};
  for (;;) {
    co_await word.read_into(std::span(local), {.stop = stop});
  }
}
Task<void> add_for_ever(BufferRef word) {
  for (;;) {
    co_await word.fetch_add(1);
  }
}
Task<void> poll_in_batches(BufferRef word) {
  std::array<std::uint64_t, 1> local{};
  for (;;) {
    Batch batch;
    batch.add(word.read_into(std::span(local)));
    const Outcomes outcomes = co_await batch.run();
    outcomes.throw_if_failed();
  }
}

class Poller final : public Actor {
 public:
  explicit Poller(ActorContext&) {}
  Task<void> poll_for_ever(BufferRef word) { return poll(word); }
  std::uint64_t answer(std::uint64_t value) { return value; }
  static constexpr auto endpoints = ferry::endpoints<&Poller::poll_for_ever, &Poller::answer>;
};

Task<void> deadline_of_the_task(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 1);
  const BufferRef word = owner.ref(cluster, 0);
  const Limits limit{.timeout = 20ms};
  EXPECT_EQ(co_await code_of(poll(word).with(limit)), errc::timed_out);
  EXPECT_EQ(co_await code_of(add_for_ever(word).with(limit)), errc::timed_out);
  EXPECT_EQ(co_await code_of(poll_in_batches(word).with(limit)), errc::timed_out);
}
TEST_P(Polling, DeadlineOfTheTaskEndsIt) {
  play(deadline_of_the_task, {.seeds = 4});
}

Task<void> stopped(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 1);
  const BufferRef word = owner.ref(cluster, 0);
  auto polling = start(poll(word));  // returns
  auto nap = sleep_for(5ms);
  co_await nap;
  EXPECT_FALSE(polling.is_done());
  polling.cancel();
  EXPECT_EQ(co_await code_of(std::move(polling)), errc::cancelled);

  auto racing = race(poll(word), sleep_for(5ms));
  const auto first = co_await racing;
  EXPECT_EQ(first.index(), 1U);

  StopSource source;
  auto looking = start(poll_until_stopped(word, source.get_token()));
  auto other_nap = sleep_for(5ms);
  co_await other_nap;
  source.request_stop();
  EXPECT_EQ(co_await code_of(std::move(looking)), errc::cancelled);
}
TEST_P(Polling, StopEndsItAndItsStarterGoesOn) {
  play(stopped, {.seeds = 4});
}

Task<void> stop_requested_before(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 1);
  const BufferRef word = owner.ref(cluster, 0);
  StopSource source;
  source.request_stop();
  std::array<std::uint64_t, 1> local{7};
  const StopToken token = source.get_token();
  const Limits stopped_already{.stop = token};
  auto writing = failure_of(word.write_from(std::span<const std::uint64_t>(local)).with(stopped_already));
  const Failure why = co_await writing;
  EXPECT_EQ(why.code(), errc::cancelled);
}
TEST_P(Polling, StopRequestedBeforeIsNoticed) {
  play(stop_requested_before, {.seeds = 4});
}

Task<void> limit_of_the_call(Cluster& cluster) {
  Shared<std::uint64_t> owner(cluster, 1, 1);
  auto spawned = spawn_on<Poller>(cluster, 0, "poller");
  const ActorRef<Poller> poller = co_await spawned;
  const BufferRef word = owner.ref(cluster, 0);
  const Limits limit{.timeout = 20ms};
  EXPECT_EQ(co_await code_of(poller.call<&Poller::poll_for_ever>(word).with(limit)), errc::timed_out);
  EXPECT_EQ(co_await poller.call<&Poller::answer>(std::uint64_t{3}), 3U) << "the endpoint was not cut";
}
TEST_P(Polling, EndpointIsCutWhenItsCallersTimeIsOver) {
  play(limit_of_the_call, {.classes = actors<Poller>.classes(), .seeds = 4});
}

}  // namespace
}  // namespace ferry::conformance
