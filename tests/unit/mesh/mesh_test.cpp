// Meshes over a node's own process and scripted others: calls and sends to all, slices, partial failures, spawning.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <ferry/base/start.hpp>

#include <core_node.hpp>
#include <manual_executor.hpp>

namespace ferry {
namespace {

using namespace std::chrono_literals;
using Node = test::CoreNode<test::ManualExecutor>;

class Cell final : public Actor {
 public:
  explicit Cell(ActorContext&, int value) : value_(value) {
    if (value < 0) {
      throw std::runtime_error("no negative cells");
    }
  }
  int get() const { return value_; }
  bool is_even() const { return value_ % 2 == 0; }
  void add(int by) { value_ += by; }
  int divide(int by) {
    if (by > value_) {
      throw std::domain_error("too small: " + std::to_string(value_));
    }
    return value_ / by;
  }
  static constexpr auto endpoints = ferry::endpoints<&Cell::get, &Cell::is_even, &Cell::add, &Cell::divide>;

 private:
  int value_;
};

// Four cells of one process, as a mesh of two by two.
Task<ActorMesh<Cell>> square(Context context) {
  std::vector<ActorRef<Cell>> cells;
  for (int value = 1; value <= 4; ++value) {
    auto spawned = context.this_proc().spawn<Cell>("", value);
    const auto one = co_await spawned;
    cells.push_back(one.only());
  }
  const Shape shape{{"rows", 2}, {"columns", 2}};
  co_return ActorMesh<Cell>(shape, cells);
}

template <class R>
std::vector<R> list(const ValueMesh<R>& mesh) {
  return {mesh.begin(), mesh.end()};
}

Task<void> calls_and_slices(Context context) {
  auto made = square(context);
  const ActorMesh<Cell> mesh = co_await made;
  auto all = mesh.call<&Cell::get>();
  const std::vector<int> every = list(co_await all);
  EXPECT_EQ(every, (std::vector<int>{1, 2, 3, 4}));
  auto even = mesh.call<&Cell::is_even>();
  const ValueMesh<bool> flags = co_await even;
  EXPECT_FALSE(flags[0]);
  EXPECT_TRUE(flags[1]);
  auto add = mesh.slice("rows", 1).call<&Cell::add>(10);
  co_await add;
  auto column = mesh.slice("columns", 0).call<&Cell::get>();
  const std::vector<int> first_column = list(co_await column);
  EXPECT_EQ(first_column, (std::vector<int>{1, 13}));
  auto send = mesh.send<&Cell::add>(100);
  co_await send;
  auto after = mesh.call<&Cell::get>();
  const std::vector<int> sums = list(co_await after);
  EXPECT_EQ(sums, (std::vector<int>{101, 102, 113, 114}));
  const ActorMesh<Cell> one = mesh.slice("rows", 0).slice("columns", 1);
  EXPECT_EQ(one.shape().ranks(), 1U);
  auto only = one.only().call<&Cell::get>();
  const int single = co_await only;
  EXPECT_EQ(single, 102);
  EXPECT_THROW(static_cast<void>(mesh.only()), Error);
  EXPECT_THROW(static_cast<void>(mesh.slice("depth", 0)), Error);
}

TEST(ActorMesh, CallsAndSendsToAllAndToSlices) {
  Node node(actors<Cell>);
  node.run(calls_and_slices(node.context()));
}

Task<void> some_fail(Context context) {
  auto made = square(context);
  const ActorMesh<Cell> mesh = co_await made;
  auto divide = mesh.call<&Cell::divide>(3);
  try {
    static_cast<void>(co_await divide);
    ADD_FAILURE() << "it succeeded";
  } catch (const MeshError& error) {
    EXPECT_EQ(error.failures().size(), 2U);
    EXPECT_EQ(error.failures()[0].where, "rows=0,columns=0");
    EXPECT_EQ(error.failures()[1].where, "rows=0,columns=1");
    EXPECT_EQ(error.failures()[1].failure.detail(),
              "ferry::{anonymous}::Cell::divide of actor \"\" threw std::domain_error: too small: 2");
  }
  auto after = mesh.call<&Cell::get>();
  const std::vector<int> untouched = list(co_await after);
  EXPECT_EQ(untouched, (std::vector<int>{1, 2, 3, 4}));
}

TEST(ActorMesh, CallThatFailsSomewhereNamesEveryFailedRank) {
  Node node(actors<Cell>);
  node.run(some_fail(node.context()));
}

Task<void> stop_and_spawn_again(Context context) {
  for (int round = 0; round < 2; ++round) {
    auto spawned = context.this_proc().spawn<Cell>("cell", round);
    const auto mesh = co_await spawned;
    auto stop = mesh.stop();
    co_await stop;
    auto late = as_result(mesh.only().call<&Cell::get>());
    const Result<int> result = co_await late;
    EXPECT_EQ(result.error().code(), errc::actor_stopped);
  }
}

TEST(ActorMesh, StoppedGivesItsNameFree) {
  Node node(actors<Cell>);
  node.run(stop_and_spawn_again(node.context()));
}

Task<errc> spawn_code(Context context, int value) {
  auto spawned = as_result(context.this_proc().spawn<Cell>("cell", value));
  const auto result = co_await spawned;
  EXPECT_FALSE(result) << "it was spawned";
  co_return result.error().code();
}

TEST(Spawn, TellsTheConstructorsExceptionAndWhatIsNotListed) {
  Node node(actors<Cell>);
  EXPECT_EQ(node.run(spawn_code(node.context(), -1)), errc::spawn_failed);
  EXPECT_EQ(node.run(spawn_code(node.context(), -1)), errc::spawn_failed);  // the name was free again
  Node bare;
  EXPECT_EQ(bare.run(spawn_code(bare.context(), 1)), errc::no_such_actor_class);
}

// --- Processes

// Starts children that do as the test says; the parent's side of a ProcessHost.
class ScriptedHost final : public ProcessHost {
 public:
  struct Child final : ChildProcess {
    explicit Child(ChildEvents& to) : events(to) {}
    ~Child() override = default;
    std::int64_t pid() const noexcept override { return 1; }
    void kill() noexcept override {
      if (!std::exchange(ended, true)) {
        events.on_exit({ProcessExit::How::killed_by_signal, 9, {}});
      }
    }
    ChildEvents& events;
    bool ended = false;
  };
  Result<std::unique_ptr<ChildProcess>> start(const SpawnRequest& request, ChildEvents& events) override {
    requests.push_back(request.bootstrap);
    const std::size_t rank = requests.size() - 1;
    if (refused.contains(rank)) {
      return Failure(errc::spawn_failed, "cannot run /no/such/program: No such file or directory");
    }
    auto child = std::make_unique<Child>(events);
    if (exits.contains(rank)) {
      child->ended = true;
      events.on_exit({ProcessExit::How::exited, 3, "no config\n"});
    } else if (!silent.contains(rank)) {
      hello(request.bootstrap.self);
    }
    return std::unique_ptr<ChildProcess>(std::move(child));
  }
  std::function<void(ProcessId)> hello;
  std::vector<Bootstrap> requests;
  std::set<std::size_t> refused;
  std::set<std::size_t> exits;
  std::set<std::size_t> silent;
};

struct SpawnTest : ::testing::Test {
  SpawnTest() : node(actors<Cell>, {}, &host) {
    host.hello = [this](ProcessId id) {
      node.stack().processes().on_hello(Contact{id, {{TransportId::tcp, "there"}}});
      node.stack().processes().on_hello(Contact{id, {{TransportId::tcp, "there"}}});  // twice does no harm
    };
  }
  static Task<std::vector<std::string>> spawn(Context context, std::optional<Duration> timeout) {
    const Shape shape{{"gpus", 3}};
    const SpawnOptions options{.timeout = timeout};
    auto spawned = context.this_host().spawn_procs(shape, options);
    try {
      const ProcMesh procs = co_await spawned;
      EXPECT_EQ(procs.size(), 3U);
    } catch (const MeshError& error) {
      std::vector<std::string> texts;
      for (const RankFailure& failure : error.failures()) {
        texts.push_back(failure.where + " " + failure.failure.to_text());
      }
      co_return texts;
    }
    co_return std::vector<std::string>{};
  }
  ScriptedHost host;
  Node node;
};

TEST_F(SpawnTest, GivesEachChildAnIdentityAndANameOfItsOwn) {
  EXPECT_TRUE(node.run(spawn(node.context(), {})).empty());
  ASSERT_EQ(host.requests.size(), 3U);
  std::set<ProcessId> ids;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    ids.insert(host.requests[rank].self);
    EXPECT_EQ(host.requests[rank].name, "test/gpus=" + std::to_string(rank));
    EXPECT_EQ(host.requests[rank].parent.id, node.core().self());
  }
  EXPECT_EQ(ids.size(), 3U);
}

TEST_F(SpawnTest, TellsForEachChildWhyItIsNotThereAndEndsTheOthers) {
  host.refused = {0};
  host.exits = {1};
  const auto failures = node.run(spawn(node.context(), {}));
  EXPECT_EQ(
      failures,
      (std::vector<std::string>{
          "gpus=0 spawn_procs at test/gpus=0: spawn_failed: cannot run /no/such/program: No such file or directory",
          "gpus=1 spawn_procs at test/gpus=1: spawn_failed: this executable exited with status 3; it wrote: no "
          "config\n"}));
}

TEST_F(SpawnTest, WaitsForAHelloUntilItsLimit) {
  host.silent = {2};
  const auto failures = node.run(spawn(node.context(), 1500ms));
  EXPECT_EQ(failures,
            std::vector<std::string>{"gpus=2 spawn_procs at test/gpus=2: timed_out: this executable was started "
                                     "and did not connect within 1500 ms; is it a ferry program?"});
}

}  // namespace
}  // namespace ferry
