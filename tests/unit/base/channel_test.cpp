// Channels: one thread, virtual time.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <memory>

#include <ferry/base/channel.hpp>
#include <ferry/base/start.hpp>

#include <manual_executor.hpp>

#include "test_awaits.hpp"

namespace ferry {
namespace {

using namespace std::chrono_literals;
using test::ManualExecutor;
using test::text_of;

template <class T>
Task<T> next_of(Channel<T>& channel, Limits limits = {}) {
  auto next = channel.next(limits);
  co_return co_await next;
}

TEST(Channel, GivesValuesInTheOrderOfPushing) {
  ManualExecutor executor;
  Channel<std::unique_ptr<int>> channel(3);
  for (int value = 0; value < 3; ++value) {
    EXPECT_TRUE(channel.try_push(std::make_unique<int>(value)));
  }
  EXPECT_FALSE(channel.try_push(std::make_unique<int>(3)));
  for (int value = 0; value < 3; ++value) {
    EXPECT_EQ(*executor.run(next_of(channel)), value);
  }
  EXPECT_EQ(channel.try_pop(), std::nullopt);
}

Task<int> push_while_waiting(Channel<int>& channel) {
  auto waiting = start(next_of(channel));
  EXPECT_TRUE(channel.try_push(1));   // on its way to the task
  EXPECT_TRUE(channel.try_push(2));   // kept
  EXPECT_FALSE(channel.try_push(3));  // full
  EXPECT_EQ(channel.try_pop(), 2);
  co_return co_await waiting;
}

TEST(Channel, IsBoundedAlsoWhileATaskIsBeingWoken) {
  ManualExecutor executor;
  Channel<int> channel(1);
  EXPECT_EQ(executor.run(push_while_waiting(channel)), 1);
}

TEST(Channel, GivesWhatIsLeftAfterCloseAndThenTheReason) {
  ManualExecutor executor;
  Channel<int> channel(5);
  channel.try_push(1);
  channel.close(Failure(errc::revoked, "gone"));
  channel.close(Failure(errc::shut_down, "too late"));
  EXPECT_FALSE(channel.try_push(2));
  EXPECT_EQ(executor.run(next_of(channel)), 1);
  EXPECT_EQ(text_of([&] { executor.run(next_of(channel)); }), "revoked: gone");
}

Task<void> take_for_ever(Channel<std::size_t>& channel) {
  for (;;) {
    co_await channel.next();
  }
}

Task<void> cut_a_loop(Channel<std::size_t>& channel) {
  auto taking = start(take_for_ever(channel));  // comes back before there is nothing left to take
  taking.cancel();
  auto ending = as_result(std::move(taking));
  const auto ended = co_await ending;
  EXPECT_EQ(ended.error().code(), errc::cancelled);
}

TEST(Channel, ALoopThatNeedNotWaitIsCutByAStop) {
  ManualExecutor executor;
  constexpr std::size_t kValues = 3 * InlineBudget::kCompletions;
  Channel<std::size_t> channel(kValues);
  for (std::size_t value = 0; value < kValues; ++value) {
    EXPECT_TRUE(channel.try_push(std::size_t{value}));
  }
  executor.run(cut_a_loop(channel));
  EXPECT_EQ(channel.try_pop(), InlineBudget::kCompletions) << "neither lost nor taken behind the stop";
}

TEST(Channel, EndsAWaitAtItsLimit) {
  ManualExecutor executor;
  Channel<int> channel(5);
  EXPECT_EQ(text_of([&] { executor.run(next_of(channel, {.timeout = 1s})); }),
            "timed_out: no value came within the limit");
  StopSource source;
  source.request_stop();
  const StopToken token = source.get_token();
  EXPECT_EQ(text_of([&] { executor.run(next_of(channel, {.stop = token})); }), "cancelled: a stop was requested");
  channel.try_push(3);
  EXPECT_EQ(executor.run(next_of(channel, {.timeout = 0s})), 3);
}

Task<std::string> wait_twice(Channel<int>& channel) {
  auto first = start(next_of(channel));
  auto second = as_result(next_of(channel));
  const Result<int> result = co_await second;
  channel.try_push(1);
  EXPECT_EQ(co_await first, 1);
  co_return result.error().to_text();
}

TEST(Channel, LetsOneTaskWaitAtATime) {
  ManualExecutor executor;
  Channel<int> channel(5);
  EXPECT_EQ(executor.run(wait_twice(channel)),
            "invalid_argument: another task already waits for the next value of this stream");
}

Task<int> drop_when_woken(Channel<int>& channel, bool another_waits) {
  std::optional<Running<int>> dropped(start(next_of(channel)));
  channel.try_push(1);  // on its way to the dropped task
  std::optional<Running<int>> other;
  if (another_waits) {
    other.emplace(start(next_of(channel)));
  }
  dropped.reset();
  if (another_waits) {
    co_return co_await *other;
  }
  channel.try_push(2);
  auto next = channel.next();
  co_return co_await next;
}

TEST(Channel, ValueOnItsWayToADroppedTaskGoesToTheNext) {
  ManualExecutor executor;
  Channel<int> one(5);
  EXPECT_EQ(executor.run(drop_when_woken(one, false)), 1);
  Channel<int> two(5);
  EXPECT_EQ(executor.run(drop_when_woken(two, true)), 1);
}

Task<int> pop_while_woken(Channel<int>& channel) {
  auto waiting = start(next_of(channel));
  channel.try_push(1);
  EXPECT_EQ(channel.try_pop(), std::nullopt);  // it has an owner already
  co_return co_await waiting;
}

TEST(Channel, ValueThatWokeATaskIsItsOwn) {
  ManualExecutor executor;
  Channel<int> channel(5);
  EXPECT_EQ(executor.run(pop_while_woken(channel)), 1);
}

// Random pushes, pops, waits and drops against a deque.
RC_GTEST_PROP(Channel, LosesAndInventsNothing, ()) {
  ManualExecutor executor;
  const auto capacity = *rc::gen::inRange<std::size_t>(1, 6);
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 6));
  Channel<int> channel(capacity);
  std::vector<int> seen;
  struct Script {
    static Task<void> take_into(Channel<int>& from, std::vector<int>& out) {
      auto next = from.next();
      const int value = co_await next;
      out.push_back(value);
    }
    static Task<void> run(Channel<int>& channel, std::vector<int> steps, std::vector<int>& seen, int& pushed) {
      std::optional<Running<void>> waiting;
      for (const int step : steps) {
        if (step < 3) {
          pushed += channel.try_push(pushed) ? 1 : 0;
        } else if (step == 3) {
          if (auto value = channel.try_pop()) {
            seen.push_back(*value);
          }
        } else if (step == 4) {
          if (!waiting || waiting->is_done()) {
            waiting.reset();
            waiting.emplace(start(take_into(channel, seen)));
          }
        } else {
          waiting.reset();
        }
      }
      waiting.reset();
      while (auto value = channel.try_pop()) {
        seen.push_back(*value);
      }
      co_return;
    }
  };
  int pushed = 0;
  executor.run(Script::run(channel, steps, seen, pushed));
  RC_ASSERT(seen.size() == static_cast<std::size_t>(pushed));
  std::sort(seen.begin(), seen.end());  // try_pop() may pass a value that is on its way to a task
  for (std::size_t index = 0; index < seen.size(); ++index) {
    RC_ASSERT(seen[index] == static_cast<int>(index));
  }
}

}  // namespace
}  // namespace ferry
