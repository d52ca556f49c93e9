// What a world looks at between steps: invariants, conditions, peeks into actors.
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <ferry/base/sleep.hpp>
#include <ferry/sim/explore.hpp>
#include <ferry/sim/run.hpp>

namespace ferry::sim {
namespace {

using namespace std::chrono_literals;

class Account : public Actor {
 public:
  explicit Account(ActorContext&) {}
  std::int64_t balance() const noexcept { return balance_; }

  void put(std::int64_t amount) { balance_ += amount; }
  // Looks, thinks, takes: another may have taken meanwhile.
  Task<void> take(std::int64_t amount) {
    if (balance_ >= amount) {
      co_await sleep_for(10us);
      balance_ -= amount;
    }
  }
  static constexpr auto endpoints = ferry::endpoints<&Account::put, ferry::concurrent<&Account::take>>;

 private:
  std::int64_t balance_ = 0;
};

class Bystander : public Actor {
 public:
  explicit Bystander(ActorContext&) {}
  void nothing() {}
  static constexpr auto endpoints = ferry::endpoints<&Bystander::nothing>;
};

Task<ActorRef<Account>> open_account(Context context) {
  ProcMesh bank = co_await context.this_host().spawn_procs({{"bank", 1}});
  const ActorMesh<Account> account = co_await bank.spawn<Account>("account");
  co_return account.only();
}

Task<void> take_ten(ActorRef<Account> account, Duration first) {
  co_await sleep_for(first);
  co_await account.call<&Account::take>(std::int64_t{10});
}

// Two that take from an account which has enough for one.
Task<int> overdraw(World& world, Context& context, Duration between) {
  auto opening = open_account(context);
  const ActorRef<Account> account = co_await opening;
  world.always("no debts", [account](const View& view) {
    const Account* seen = view.peek(account);
    return seen == nullptr || seen->balance() >= 0;
  });
  co_await account.call<&Account::put>(std::int64_t{15});
  auto first = start(take_ten(account, 0s));
  auto second = start(take_ten(account, between));
  co_await first;
  co_await second;
  co_return 0;
}

WorldResult run_overdraw(const WorldOptions& options, Duration between) {
  return run(options, actors<Account>,
             [between](World& world, Context& context) -> Task<int> { return overdraw(world, context, between); })
      .result;
}

TEST(Always, InvariantThatDoesNotHoldEndsTheRunByItsName) {
  const WorldResult result = run_overdraw({.seed = 1}, 0s);
  EXPECT_EQ(result.outcome, Outcome::invariant) << result.to_text();
  EXPECT_EQ(result.what, "no debts");
  EXPECT_THAT(result.to_text(), testing::StartsWith("invariant violated after "));
  EXPECT_EQ(failure_name(result), "invariant violated: no debts");
}

TEST(Always, InvariantThatHoldsDisturbsNothing) {
  const WorldResult result = run_overdraw({.seed = 1}, 1s);
  EXPECT_EQ(result.outcome, Outcome::passed) << result.to_text();
  EXPECT_EQ(result.to_text(), run_overdraw({.seed = 1}, 1s).to_text());
}

// Says what a peek saw, at its changes.
Task<int> be_peeked(World& world, Context& context, std::vector<std::string>& seen) {
  auto opening = open_account(context);
  const ActorRef<Account> account = co_await opening;
  const ActorRef<Bystander> mistaken(account.address());
  world.always("watch", [&seen, account, mistaken](const View& view) {
    const Account* now = view.peek(account);
    std::string text = now == nullptr ? "down" : std::to_string(now->balance());
    if (seen.empty() || seen.back() != text) {
      seen.push_back(std::move(text));
    }
    return view.peek(mistaken) == nullptr && view.peek(ActorRef<Account>()) == nullptr;
  });
  co_await account.call<&Account::put>(std::int64_t{7});
  world.processes()[1]->kill();
  co_await sleep_for(20s);
  co_return 0;
}

TEST(Peek, SeesTheActorWhileItLivesAndNothingOnceItsProcessHasEnded) {
  std::vector<std::string> seen;
  const auto report =
      run({.seed = 3}, actors<Account, Bystander>,
          [&seen](World& world, Context& context) -> Task<int> { return be_peeked(world, context, seen); });
  EXPECT_EQ(report.result.outcome, Outcome::passed) << report.result.to_text();
  EXPECT_THAT(seen, testing::ElementsAre("0", "7", "down"));
}

// Kills the bank once it holds something; then waits for what will or will not be.
Task<int> wait_for_it(World& world, Context& context, bool comes) {
  auto opening = open_account(context);
  const ActorRef<Account> account = co_await opening;
  const auto has = [account](std::int64_t amount) {
    return [account, amount](const View& view) {
      const Account* seen = view.peek(account);
      return seen != nullptr && seen->balance() == amount;
    };
  };
  auto put = start([](ActorRef<Account> ref, bool enough) -> Task<void> {
    co_await sleep_for(2s);
    co_await ref.call<&Account::put>(std::int64_t{enough ? 5 : 4});
  }(account, comes));
  auto waiting = world.eventually("five", 3s, has(5));
  co_await waiting;
  co_await put;
  co_return 0;
}

TEST(Eventually, EndsWhenTheConditionHasHeldAndLeavesNothingBehind) {
  const auto report = run({.seed = 5}, actors<Account>, [](World& world, Context& context) -> Task<int> {
    return wait_for_it(world, context, true);
  });
  EXPECT_EQ(report.result.outcome, Outcome::passed) << report.result.to_text();
  EXPECT_LT(report.result.virtual_time, 3s) << "the deadline was withdrawn";
}

TEST(Eventually, FailsByItsNameWhenTheTimeIsUp) {
  const auto report = run({.seed = 5}, actors<Account>, [](World& world, Context& context) -> Task<int> {
    return wait_for_it(world, context, false);
  });
  EXPECT_EQ(report.result.outcome, Outcome::failed);
  EXPECT_EQ(report.result.what, "eventually: five has not come within 3.000000000 s");
}

Task<int> sleep_a_while(World&, Context&) {
  co_await sleep_for(1ms);
  co_return 0;
}

// A world whose root sleeps, with what `prepare` adds to it before.
WorldResult run_with(const std::function<void(World&)>& prepare) {
  return run({.seed = 1}, actors<Account>,
             [&prepare](World& world, Context& context) -> Task<int> {
               prepare(world);
               return sleep_a_while(world, context);
             })
      .result;
}

TEST(Watches, ThatThrowFailTheRunAndSayWhat) {
  const auto text_of = [](const std::function<void(World&)>& prepare) {
    const WorldResult result = run_with(prepare);
    EXPECT_EQ(result.outcome, Outcome::failed);
    return result.what;
  };
  EXPECT_EQ(
      text_of([](World& world) { world.always("fine", [](const View&) -> bool { throw std::runtime_error("no"); }); }),
      "the condition of always(\"fine\") threw: std::runtime_error: no");
  EXPECT_EQ(text_of([](World& world) { world.when([](const View&) -> bool { throw 7; }, [] {}); }),
            "a condition that is waited for threw: an exception that is not derived from std::exception");
  EXPECT_EQ(text_of([](World& world) {
              world.when([](const View&) { return true; }, [] { throw std::runtime_error("nor this"); });
            }),
            "a plan threw: std::runtime_error: nor this");
  EXPECT_EQ(text_of([](World& world) { world.at(10us, [] { throw std::runtime_error("late"); }); }),
            "a plan threw: std::runtime_error: late");
}

TEST(Watches, EmptyFunctionsAreRefused) {
  World world({.seed = 1});
  const auto refuses = [](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.ferry_code() == errc::invalid_argument;
    }
    return false;
  };
  EXPECT_TRUE(refuses([&] { world.always("x", {}); }));
  EXPECT_TRUE(refuses([&] { world.when({}, [] {}); }));
  EXPECT_TRUE(refuses([&] { world.when([](const View&) { return true; }, {}); }));
  EXPECT_TRUE(refuses([&] { world.at(1s, {}); }));
}

TEST(Watches, ConditionsMayAddWatches) {
  int added = 0;
  int reached = 0;
  const WorldResult result = run_with([&](World& world) {
    world.when(
        [&world, &added, &reached](const View&) {
          if (added < 50) {
            ++added;
            world.when([](const View&) { return true; }, [&reached] { ++reached; });
            world.always("still", [](const View&) { return true; });
          }
          return added == 50;
        },
        [&reached] { ++reached; });
  });
  EXPECT_EQ(result.outcome, Outcome::passed) << result.to_text();
  EXPECT_EQ(reached, added + 1);
}

Task<int> kill_when_full(World& world, Context& context, std::optional<TimePoint>& killed) {
  auto opening = open_account(context);
  const ActorRef<Account> account = co_await opening;
  world.when(
      [account](const View& view) {
        const Account* seen = view.peek(account);
        return seen != nullptr && seen->balance() >= 3;
      },
      [&world, &killed] {
        killed = world.now();
        world.processes()[1]->kill();
      });
  std::int64_t puts = 0;
  for (; puts < 10; ++puts) {
    const auto put = co_await as_result(account.call<&Account::put>(std::int64_t{1}));
    if (!put) {
      break;
    }
  }
  co_return puts == 10 ? 1 : 0;
}

TEST(When, CarriesOutItsPlanOnceTheConditionHasHeld) {
  std::optional<TimePoint> killed;
  const auto report = run({.seed = 8}, actors<Account>, [&killed](World& world, Context& context) -> Task<int> {
    return kill_when_full(world, context, killed);
  });
  EXPECT_EQ(report.result.outcome, Outcome::passed) << report.result.to_text();
  EXPECT_TRUE(killed);
}

// The whole of it: explored, caught by name, made small, run again.
TEST(Always, ViolationsAreExploredMadeSmallAndRunAgain) {
  const auto program = [](World& world, Context& context) -> Task<int> { return overdraw(world, context, 30us); };
  const Exploration found = explore({.seeds = 2000}, actors<Account>, program);
  ASSERT_TRUE(found.failure) << found.worlds << " worlds";
  EXPECT_EQ(found.failure->smallest.what, "no debts");
  const auto again = replay(found.failure->to_text(), {}, actors<Account>, program);
  ASSERT_TRUE(again) << again.error().to_text();
  EXPECT_EQ(again->to_text(), found.failure->smallest.to_text());
}

}  // namespace
}  // namespace ferry::sim
