// The linearizability checker: known histories, the words of its verdicts, and agreement with trying every order.
#include <ferry/sim/history/linearizability.hpp>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <ferry/sim/history/object_models.hpp>

namespace ferry::sim {
namespace {

using Kind = Verdict::Kind;

// Calls of one object: made at, returned at.
ObjectCall call(std::uint32_t caller, std::int64_t called, std::int64_t returned, Method method, Words argument,
                Words output) {
  return {caller, 0, {method, caller, std::move(argument), {}}, std::move(output), called, returned};
}
ObjectCall read(std::uint32_t caller, std::int64_t called, std::int64_t returned, std::int64_t value) {
  return call(caller, called, returned, Method::read, {}, {value});
}
ObjectCall write(std::uint32_t caller, std::int64_t called, std::int64_t returned, std::int64_t value) {
  return call(caller, called, returned, Method::write, {value}, {});
}
ObjectCall add(std::uint32_t caller, std::int64_t called, std::int64_t returned, std::int64_t addend,
               std::int64_t old) {
  return call(caller, called, returned, Method::fetch_add, {addend}, {old});
}
ObjectCall unknown(ObjectCall call) {
  call.output.reset();
  return call;
}

Kind verdict_on(const std::vector<ObjectCall>& calls) {
  return check_linearizable(RegisterModel{}, calls).kind;
}

TEST(Linearizability, OverlappingCallsMayHaveHappenedInAnyOrder) {
  EXPECT_EQ(verdict_on({}), Kind::linearizable);
  EXPECT_EQ(verdict_on({write(0, 1, 10, 5), read(1, 2, 3, 0), read(1, 4, 5, 5)}), Kind::linearizable);
  EXPECT_EQ(verdict_on({write(0, 1, 10, 5), read(1, 2, 3, 5), read(1, 4, 5, 0)}), Kind::not_linearizable);
  EXPECT_EQ(verdict_on({write(0, 1, 10, 5), write(1, 2, 9, 6), read(2, 11, 12, 5)}), Kind::linearizable);
  EXPECT_EQ(verdict_on({write(0, 1, 10, 5), write(1, 2, 9, 6), read(2, 11, 12, 6)}), Kind::linearizable);
  EXPECT_EQ(verdict_on({write(0, 1, 10, 5), write(1, 2, 9, 6), read(2, 11, 12, 5), read(2, 13, 14, 6)}),
            Kind::not_linearizable);
}

TEST(Linearizability, CallsThatDoNotOverlapHappenedInTheirOrder) {
  EXPECT_EQ(verdict_on({write(0, 1, 2, 5), read(1, 3, 4, 0)}), Kind::not_linearizable);
  EXPECT_EQ(verdict_on({write(0, 1, 2, 5), read(1, 2, 4, 0)}), Kind::linearizable) << "they touch in time";
  EXPECT_EQ(verdict_on({add(0, 1, 5, 1, 0), add(1, 2, 6, 1, 0)}), Kind::not_linearizable) << "a lost update";
  EXPECT_EQ(verdict_on({add(0, 1, 5, 1, 1), add(1, 2, 6, 1, 0)}), Kind::linearizable);
}

TEST(Linearizability, CallsOfUnknownOutcomeMayHappenLaterOrNever) {
  const ObjectCall lost = unknown(write(0, 1, 0, 5));
  EXPECT_EQ(verdict_on({lost, read(1, 2, 3, 0), read(1, 4, 5, 0)}), Kind::linearizable);
  EXPECT_EQ(verdict_on({lost, read(1, 2, 3, 0), read(1, 4, 5, 5)}), Kind::linearizable);
  EXPECT_EQ(verdict_on({lost, read(1, 2, 3, 5), read(1, 4, 5, 0)}), Kind::not_linearizable);
  EXPECT_EQ(verdict_on({read(1, 0, 0, 5), lost}), Kind::not_linearizable) << "not before it was made";
  // Tried again after an unknown outcome: both may count.
  EXPECT_EQ(verdict_on({unknown(add(0, 1, 0, 1, 0)), add(0, 3, 4, 1, 1)}), Kind::linearizable);
  EXPECT_EQ(verdict_on({unknown(add(0, 1, 0, 1, 0)), add(0, 3, 4, 1, 0), read(1, 5, 6, 2)}), Kind::linearizable);
  EXPECT_EQ(verdict_on({unknown(add(0, 1, 0, 1, 0)), add(0, 3, 4, 1, 0), read(1, 5, 6, 3)}), Kind::not_linearizable);
}

TEST(Linearizability, ObjectsAreJudgedOneByOne) {
  std::vector<ObjectCall> calls{write(0, 1, 2, 5), read(1, 3, 4, 0)};
  calls[1].key = 9;
  EXPECT_EQ(verdict_on(calls), Kind::linearizable);
  calls.push_back(read(1, 5, 6, 7));
  calls[2].key = 9;
  const Verdict verdict = check_linearizable(RegisterModel{}, calls);
  EXPECT_EQ(verdict.kind, Kind::not_linearizable);
  EXPECT_EQ(verdict.key, 9U);
}

TEST(Linearizability, VerdictShowsWhatNoOrderExplains) {
  const Verdict verdict = check_linearizable(
      RegisterModel{}, std::vector<ObjectCall>{write(0, 1, 4, 5), write(1, 2, 3, 6), read(2, 5, 6, 6), read(3, 7, 8, 5),
                                               read(3, 100, 101, 12), unknown(write(4, 7, 0, 9))});
  EXPECT_EQ(verdict.text,
            "no order explains how this ended:\n"
            "  caller 3: read = 5  [7, 8]\n"
            "the longest order of the calls until then, 4 of 5:\n"
            "  caller 0: write 5  [1, 4]\n"
            "  caller 1: write 6  [2, 3]\n"
            "  caller 2: read = 6  [5, 6]\n"
            "  caller 4: write 9, outcome unknown  [7, never returned]\n"
            "leaves the value 9\n");
}

TEST(Linearizability, CallThatReturnedBeforeItWasMadeIsRefused) {
  EXPECT_THAT([] { static_cast<void>(verdict_on({read(3, 7, 6, 0)})); },
              testing::ThrowsMessage<Error>(testing::HasSubstr(
                  "invalid_argument: a call returned before it was made: caller 3: read = 0  [7, 6]")));
}

TEST(Linearizability, SearchThatNeedsTooMuchIsUndecidedNotPassed) {
  std::vector<ObjectCall> calls;
  for (std::uint32_t caller = 0; caller < 10; ++caller) {
    calls.push_back(add(caller, 0, 100, 1, 9 - caller));
  }
  EXPECT_EQ(verdict_on(calls), Kind::linearizable);
  const Verdict verdict = check_linearizable(RegisterModel{}, calls, {.max_configurations = 5});
  EXPECT_EQ(verdict.kind, Kind::undecided);
  EXPECT_FALSE(verdict);
  EXPECT_THAT(verdict.text, testing::StartsWith("undecided after 6 configurations, "));
}

TEST(Linearizability, LongHistoriesOfFewCallersAreJudged) {
  std::vector<ObjectCall> calls;
  constexpr std::int64_t kCalls = 20'000;
  for (std::int64_t index = 0; index < kCalls; ++index) {
    calls.push_back(add(static_cast<std::uint32_t>(index % 4), index * 10, index * 10 + 35, 1, index));
  }
  EXPECT_EQ(verdict_on(calls), Kind::linearizable);
  calls.back().output = Words{kCalls};
  EXPECT_EQ(verdict_on(calls), Kind::not_linearizable);
}

TEST(Linearizability, LocksHaveOneHolder) {
  const LockModel model;
  using M = Method;
  std::vector<ObjectCall> calls{call(1, 1, 2, M::acquire, {}, {}), call(2, 3, 8, M::acquire, {}, {}),
                                call(3, 3, 4, M::try_acquire, {}, {0}), call(1, 5, 6, M::release, {}, {}),
                                call(2, 9, 10, M::release, {}, {})};
  EXPECT_TRUE(check_linearizable(model, calls));
  calls[1].returned = 4;  // before the release
  EXPECT_FALSE(check_linearizable(model, calls));
  calls[1].returned = 8;
  calls[2].output = Words{1};
  EXPECT_FALSE(check_linearizable(model, calls));
}

TEST(Linearizability, QueuesKeepTheirOrderAndTheirBound) {
  using M = Method;
  std::vector<ObjectCall> calls{call(1, 1, 2, M::push, {7}, {1}), call(1, 3, 4, M::push, {8}, {1}),
                                call(2, 5, 6, M::pop, {}, {7}), call(2, 7, 8, M::pop, {}, {8}),
                                call(2, 9, 10, M::pop, {}, {})};
  EXPECT_TRUE(check_linearizable(QueueModel{}, calls));
  EXPECT_FALSE(check_linearizable(QueueModel{1}, calls));
  std::swap(calls[2].output, calls[3].output);
  EXPECT_FALSE(check_linearizable(QueueModel{}, calls));
}

TEST(Linearizability, BuffersOfSeveralWordsAreReadWhole) {
  const RegisterModel model(Words{0, 0});
  std::vector<ObjectCall> calls{call(0, 1, 10, Method::write, {1, 1}, {}), call(1, 2, 5, Method::read, {}, {0, 0})};
  EXPECT_TRUE(check_linearizable(model, calls));
  calls[1].output = Words{1, 0};
  EXPECT_FALSE(check_linearizable(model, calls)) << "torn";
}

TEST(Linearizability, CompareExchangeGivesTheOldValueAndSumsWrap) {
  ObjectCall exchange = call(0, 1, 2, Method::compare_swap, {4}, {3});
  exchange.input.expected = {3};
  const std::vector<ObjectCall> calls{exchange, read(0, 3, 4, 4),
                                      add(0, 5, 6, std::numeric_limits<std::int64_t>::max(), 4),
                                      read(0, 7, 8, std::numeric_limits<std::int64_t>::min() + 3)};
  EXPECT_TRUE(check_linearizable(RegisterModel({3}), calls));
  EXPECT_FALSE(check_linearizable(RegisterModel({2}), calls));
}

// Every subset of the unknown calls in every order: for a handful of calls.
bool any_order_explains(const std::vector<ObjectCall>& calls) {
  const RegisterModel model;
  std::vector<std::size_t> order(calls.size());
  std::iota(order.begin(), order.end(), 0);
  do {
    for (std::size_t taken = 0; taken <= calls.size(); ++taken) {  // the first `taken` of this order happened
      Words state = model.initial();
      bool fits = true;
      for (std::size_t at = 0; at < calls.size() && fits; ++at) {
        const ObjectCall& now = calls[order[at]];
        if (at >= taken) {
          fits = !now.output;
          continue;
        }
        for (std::size_t later = at + 1; later < taken; ++later) {
          const ObjectCall& after = calls[order[later]];
          fits = fits && !(after.output && after.returned < now.called);
        }
        fits = fits && model.apply(state, now.input, now.output ? &*now.output : nullptr);
      }
      if (fits) {
        return true;
      }
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return false;
}

RC_GTEST_PROP(LinearizabilityProperty, AgreesWithTryingEveryOrder, ()) {
  const auto size = *rc::gen::inRange<std::size_t>(1, 7);
  std::vector<ObjectCall> calls;
  for (std::size_t index = 0; index < size; ++index) {
    const auto caller = static_cast<std::uint32_t>(index);
    const std::int64_t called = *rc::gen::inRange<std::int64_t>(0, 12);
    const std::int64_t returned = called + *rc::gen::inRange<std::int64_t>(0, 6);
    const std::int64_t value = *rc::gen::inRange<std::int64_t>(0, 3);
    ObjectCall made = *rc::gen::element(read(caller, called, returned, value), write(caller, called, returned, value),
                                        add(caller, called, returned, 1, value));
    calls.push_back(*rc::gen::inRange(0, 4) == 0 ? unknown(made) : made);
  }
  const bool explained = any_order_explains(calls);
  RC_TAG(explained);
  RC_ASSERT((verdict_on(calls) == Kind::linearizable) == explained);
}

// What one caller after another did, stretched in time, stays explained; one altered result of a read does not.
RC_GTEST_PROP(LinearizabilityProperty, HistoriesThatHappenedPassAndInventedValuesDoNot, (std::uint64_t seed)) {
  Random random(seed);
  const RegisterModel model;
  Words state = model.initial();
  std::vector<ObjectCall> calls;
  for (std::int64_t at = 0; at < 300; ++at) {
    const auto caller = static_cast<std::uint32_t>(random.below(5));
    const auto value = static_cast<std::int64_t>(at + 1);
    ObjectInput input{random.below(2) == 0 ? Method::read : Method::write, caller, {}, {}};
    if (input.method == Method::write) {
      input.argument = {value};
    }
    const Words output = input.method == Method::read ? state : Words{};
    RC_ASSERT(model.apply(state, input, &output));
    calls.push_back({caller, 0, input, output, at * 10 - static_cast<std::int64_t>(random.below(40)),
                     at * 10 + static_cast<std::int64_t>(random.below(40))});
  }
  RC_ASSERT(verdict_on(calls) == Kind::linearizable);
  for (ObjectCall& altered : calls) {
    if (altered.input.method == Method::read) {
      altered.output = Words{1000};
      RC_ASSERT(verdict_on(calls) == Kind::not_linearizable);
      break;
    }
  }
}

}  // namespace
}  // namespace ferry::sim
