// The values of base: errors and their texts, results, random numbers, times, ids, job queues.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <deque>
#include <set>
#include <stdexcept>

#include <ferry/base/failure.hpp>
#include <ferry/base/job.hpp>
#include <ferry/base/random.hpp>
#include <ferry/base/result.hpp>
#include <ferry/base/strong_id.hpp>
#include <ferry/base/time.hpp>

namespace ferry {
namespace {

TEST(Errc, HasANameAndAMeaningOfItsOwnForEachCode) {
  std::set<std::string> names;
  std::set<std::string> meanings;
  for (int value = 1; value <= kErrcLast; ++value) {
    const std::error_code code = make_error_code(static_cast<errc>(value));
    EXPECT_EQ(code.category().name(), std::string("ferry"));
    EXPECT_EQ(code.value(), value);
    names.insert(std::string(to_string(static_cast<errc>(value))));
    meanings.insert(code.message());
  }
  EXPECT_EQ(names.size(), std::size_t{kErrcLast});
  EXPECT_EQ(meanings.size(), std::size_t{kErrcLast});
  EXPECT_FALSE(names.contains("unknown"));
}

TEST(Errc, ValuesThatTravelInRepliesStayAsTheyAre) {
  EXPECT_EQ(static_cast<int>(errc::invalid_argument), 1);
  EXPECT_EQ(static_cast<int>(errc::revoked), 5);
  EXPECT_EQ(static_cast<int>(errc::outcome_unknown), 10);
  EXPECT_EQ(static_cast<int>(errc::too_large), 14);
  EXPECT_EQ(static_cast<int>(errc::no_such_actor), 19);
  EXPECT_EQ(static_cast<int>(errc::would_deadlock), 24);
  EXPECT_EQ(static_cast<int>(errc::shut_down), 30);
  EXPECT_EQ(kErrcLast, 30);
}

TEST(Errc, NamesAValueOutsideTheEnumerationUnknown) {
  EXPECT_EQ(to_string(static_cast<errc>(0)), "unknown");
  EXPECT_EQ(to_string(static_cast<errc>(31)), "unknown");
  EXPECT_EQ(to_string(static_cast<errc>(255)), "unknown");
  EXPECT_EQ(error_category().message(-5), "not a ferry error");
}

TEST(Failure, TellsWhatWasAttemptedOnWhatWithWhichNumbersAndWhy) {
  const Failure bare(errc::revoked);
  EXPECT_EQ(bare.to_text(), "revoked: the memory behind the reference was revoked by its owner");
  const Failure told(errc::invalid_range, "the range does not fit");
  EXPECT_EQ(told.to_text(), "invalid_range: the range does not fit");
  EXPECT_EQ(told.during("read_into").to_text(), "read_into: invalid_range: the range does not fit");
  EXPECT_EQ(told.with_peer("worker/2").to_text(), "at worker/2: invalid_range: the range does not fit");
  EXPECT_EQ(told.with_range(96, 16, 100).to_text(),
            "offset 96, length 16 of 100 bytes: invalid_range: the range does not fit");
  EXPECT_EQ(told.during("read_into").with_range(96, 16, 100).with_peer("worker/2").to_text(),
            "read_into of offset 96, length 16 of 100 bytes at worker/2: invalid_range: the range does not fit");
  EXPECT_EQ(told.with_effect(Effect::unknown).to_text(),
            "invalid_range: the range does not fit (it may have taken effect)");
  const Failure wrapped(errc::spawn_failed, "server=0: " + told.with_effect(Effect::unknown).to_text());
  EXPECT_EQ(wrapped.with_effect(Effect::unknown).to_text(),
            "spawn_failed: server=0: invalid_range: the range does not fit (it may have taken effect)");
}

TEST(Failure, IsACopyThatLaterChangesLeaveAlone) {
  const Failure first(errc::peer_lost, "gone");
  const Failure second = first.during("call").with_effect(Effect::unknown);
  EXPECT_EQ(first.operation(), "");
  EXPECT_EQ(first.effect(), Effect::none);
  EXPECT_EQ(second.operation(), "call");
  EXPECT_EQ(second.effect(), Effect::unknown);
  EXPECT_EQ(second.detail(), "gone");
  EXPECT_FALSE(Failure());
  EXPECT_EQ(Failure().to_text(), "no failure");
  EXPECT_TRUE(first);
}

TEST(Failure, OfAnErrorIsItsOwnAndOfAnyOtherExceptionItsTypeAndText) {
  const Failure own = failure_of(std::make_exception_ptr(Error(Failure(errc::revoked, "x"))), errc::spawn_failed);
  EXPECT_EQ(own.code(), errc::revoked);
  EXPECT_EQ(own.detail(), "x");
  const Failure other = failure_of(std::make_exception_ptr(std::runtime_error("no config")), errc::spawn_failed);
  EXPECT_EQ(other.code(), errc::spawn_failed);
  EXPECT_EQ(other.detail(), "std::runtime_error: no config");
  const Failure strange = failure_of(std::make_exception_ptr(7), errc::spawn_failed);
  EXPECT_EQ(strange.detail(), "an exception that is not derived from std::exception");
}

TEST(Failure, CutsTheTextOfAnExceptionAtItsLimit) {
  const auto exception = std::make_exception_ptr(std::runtime_error(std::string(1000, 'x')));
  EXPECT_EQ(describe_exception(exception, 25), "std::runtime_error: xxxxx");
  EXPECT_EQ(describe_exception(exception, 0), "");
}

TEST(Error, IsASystemErrorWithAllThatTheFailureKnows) {
  try {
    throw Error(Failure(errc::invalid_range, "no").during("write_from").with_range(1, 2, 3).with_peer("p"));
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), make_error_code(errc::invalid_range));
    EXPECT_STREQ(error.what(), "write_from of offset 1, length 2 of 3 bytes at p: invalid_range: no");
    const auto& own = dynamic_cast<const Error&>(error);
    EXPECT_EQ(own.ferry_code(), errc::invalid_range);
    EXPECT_EQ(own.operation(), "write_from");
    EXPECT_EQ(own.peer(), "p");
    EXPECT_EQ(own.offset(), 1U);
    EXPECT_EQ(own.length(), 2U);
    EXPECT_EQ(own.size(), 3U);
    EXPECT_EQ(own.effect(), Effect::none);
  }
}

TEST(Result, GivesItsValueOrThrowsItsFailureAsError) {
  const Result<int> good(5);
  EXPECT_EQ(good.value(), 5);
  const Result<int> bad(Failure(errc::overloaded, "full"));
  EXPECT_FALSE(bad);
  EXPECT_EQ(bad.error().code(), errc::overloaded);
  try {
    static_cast<void>(bad.value());
    FAIL() << "it gave a value";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "overloaded: full");
  }
  const Result<Failure> inner = Failure(errc::revoked);  // ambiguous in boost::system::result
  EXPECT_FALSE(inner.has_value());
}

TEST(Random, GivesTheSameNumbersOnEveryPlatform) {
  Random random(42);
  EXPECT_EQ(random.next(), 1546998764402558742U);
  EXPECT_EQ(random.next(), 6990951692964543102U);
  EXPECT_EQ(mix64(0), 16294208416658607535U);
}

RC_GTEST_PROP(Random, StaysBelowItsBoundAndReachesEveryValueOfASmallOne, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  const auto bound = *rc::gen::nonZero<std::uint64_t>();
  for (int draw = 0; draw < 20; ++draw) {
    RC_ASSERT(random.below(bound) < bound);
    const double unit = random.unit();
    RC_ASSERT(unit >= 0 && unit < 1);
  }
  std::set<std::uint64_t> seen;
  for (int draw = 0; draw < 400; ++draw) {
    seen.insert(random.below(5));
  }
  RC_ASSERT(seen.size() == 5U);
  RC_ASSERT(random.below(0) == 0U);
}

RC_GTEST_PROP(Time, PastTheEndOfTimeIsNever, (std::int64_t at, std::int64_t by)) {
  const TimePoint point{Duration(at)};
  if (by < 0 && at < std::numeric_limits<std::int64_t>::min() - by) {
    return;  // before the beginning of time: no executor starts there
  }
  const TimePoint sum = saturating_add(point, Duration(by));
  const bool fits = at < 0 || by <= std::numeric_limits<std::int64_t>::max() - at;
  RC_ASSERT(sum == (fits ? TimePoint(Duration(at + by)) : kNever));
}

TEST(StrongId, OfZeroIsNone) {
  using Id = StrongId<struct Tag>;
  EXPECT_FALSE(Id());
  EXPECT_TRUE(Id(1));
  EXPECT_LT(Id(1), Id(2));
  EXPECT_EQ(std::hash<Id>{}(Id(7)), std::hash<std::uint64_t>{}(7));
}

// A queue of jobs against a deque of their numbers.
RC_GTEST_PROP(JobQueue, IsFirstInFirstOutWhateverIsPushedPoppedAppendedAndRemoved, ()) {
  struct Numbered : Job {
    Numbered() : Job([](Job&) noexcept {}) {}
  };
  std::deque<Numbered> jobs(16);
  std::vector<std::size_t> idle;
  for (std::size_t index = 0; index < jobs.size(); ++index) {
    idle.push_back(index);
  }
  JobQueue queues[2];
  std::deque<std::size_t> models[2];
  const auto steps = *rc::gen::container<std::vector<std::pair<int, std::size_t>>>(
      rc::gen::pair(rc::gen::inRange(0, 8), rc::gen::inRange<std::size_t>(0, 16)));
  for (const auto& [what, which] : steps) {
    const std::size_t side = which % 2;
    if (what < 4 && !idle.empty()) {
      queues[side].push(jobs[idle.back()]);
      models[side].push_back(idle.back());
      idle.pop_back();
    } else if (what < 6) {
      Job* popped = queues[side].pop();
      if (models[side].empty()) {
        RC_ASSERT(popped == nullptr);
      } else {
        RC_ASSERT(popped == &jobs[models[side].front()]);
        idle.push_back(models[side].front());
        models[side].pop_front();
      }
    } else if (what == 6) {
      queues[side].append(queues[1 - side]);
      models[side].insert(models[side].end(), models[1 - side].begin(), models[1 - side].end());
      models[1 - side].clear();
    } else {
      const auto found = std::find(models[side].begin(), models[side].end(), which);
      RC_ASSERT(queues[side].remove(jobs[which]) == (found != models[side].end()));
      if (found != models[side].end()) {
        models[side].erase(found);
        idle.push_back(which);
      }
    }
    RC_ASSERT(queues[side].empty() == models[side].empty());
  }
  for (std::size_t side : {0U, 1U}) {
    for (std::size_t expected : models[side]) {
      RC_ASSERT(queues[side].pop() == &jobs[expected]);
    }
    RC_ASSERT(queues[side].pop() == nullptr);
  }
}

}  // namespace
}  // namespace ferry
