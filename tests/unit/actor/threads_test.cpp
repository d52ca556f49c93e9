// Actors called and stopped from several threads.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <ferry/base/sleep.hpp>
#include <ferry/base/start.hpp>

#include <core_node.hpp>
#include <thread_executor.hpp>

namespace ferry::runtime_tests {
namespace {

using namespace std::chrono_literals;

class Adder final : public Actor {
 public:
  explicit Adder(ActorContext&) {}
  std::int64_t add(std::int64_t by) { return sum_ += by; }
  Task<std::int64_t> add_later(std::int64_t by) {
    const std::int64_t before = sum_;
    auto nap = sleep_for(1us);
    co_await nap;
    EXPECT_EQ(sum_, before) << "another endpoint ran meanwhile";
    co_return sum_ = before + by;
  }
  static constexpr auto endpoints = ferry::endpoints<&Adder::add, &Adder::add_later>;

 private:
  std::int64_t sum_ = 0;
};

using ThreadNode = test::CoreNode<test::ThreadExecutor>;

Task<ActorRef<Adder>> spawn_adder(Context context) {
  auto spawned = context.this_proc().spawn<Adder>("");
  const auto mesh = co_await spawned;
  co_return mesh.only();
}
Task<int> call_often(ActorRef<Adder> adder, int rounds, int kind) {
  int ended = 0;
  for (int round = 0; round < rounds; ++round) {
    if (kind == 0) {
      auto call = as_result(adder.call<&Adder::add>(1));
      ended += (co_await call) ? 1 : 0;
    } else if (kind == 1) {
      auto call = as_result(adder.call<&Adder::add_later>(1).with({.timeout = Duration(round % 7 * 10'000)}));
      static_cast<void>(co_await call);
      ++ended;
    } else {
      auto dropped = start(adder.call<&Adder::add>(0));
      ++ended;
    }
  }
  co_return ended;
}

TEST(ActorThreads, CallsEndOnceWhateverTheirLimitsAndDrops) {
  ThreadNode node(actors<Adder>);
  const ActorRef<Adder> adder = node.run(spawn_adder(node.context()));
  constexpr int kRounds = 400;
  std::vector<std::thread> callers;
  std::array<int, 3> ended{};
  for (int kind = 0; kind < 3; ++kind) {
    callers.emplace_back(
        [&, kind] { ended[static_cast<std::size_t>(kind)] = node.run(call_often(adder, kRounds, kind)); });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  EXPECT_EQ(ended, (std::array<int, 3>{kRounds, kRounds, kRounds}));
}

Task<void> stop_worker(NodeCore& core, ActorId id) {
  auto stopping = core.actors()->stop(id, Failure(errc::actor_stopped, "it was stopped"));
  co_await stopping;
}

TEST(ActorThreads, StopMayMeetCalls) {
  for (int round = 0; round < 50; ++round) {
    ThreadNode node(actors<Adder>);
    const ActorRef<Adder> adder = node.run(spawn_adder(node.context()));
    std::thread caller([&] { node.run(call_often(adder, 50, round % 3)); });
    node.run(stop_worker(node.core(), adder.id()));
    caller.join();
  }
}

}  // namespace
}  // namespace ferry::runtime_tests
