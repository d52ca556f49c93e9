// SpinTime: when a leader's spin is short, and what makes it long again.
#include <gtest/gtest.h>

#include <chrono>

#include <ferry/system/spin_time.hpp>

namespace ferry::system {
namespace {

using namespace std::chrono_literals;

constexpr Duration kFull = 64us;
constexpr Duration kShort = kFull / SpinTime::kShortOf;
constexpr Duration kTry = kFull * SpinTime::kTryLength;

class SpinTimes : public ::testing::Test {
 protected:
  Duration next() { return spin.next(now); }
  // A spin that ends in a sleep of that length.
  void in_vain(Duration sleep = 100us) {
    static_cast<void>(next());
    spin.in_vain(now);
    now += sleep;
  }
  void make_short() {
    for (std::uint32_t index = 0; index < SpinTime::kVain; ++index) {
      EXPECT_EQ(next(), kFull);
      in_vain();
    }
  }

  SpinTime spin{kFull};
  TimePoint now{1h};
};

TEST_F(SpinTimes, AreFullUntilSomeInARowWereInVain) {
  make_short();
  EXPECT_EQ(next(), kShort);
}

TEST_F(SpinTimes, StayFullWhereALongOneHelpsNowAndThen) {
  for (int round = 0; round < 100; ++round) {
    EXPECT_EQ(next(), kFull);
    in_vain();
    in_vain();
    in_vain();
    spin.found(kShort + 1ns);
  }
}

TEST_F(SpinTimes, StayShortWhereAShortOneIsEnough) {
  make_short();
  spin.found(kShort);
  EXPECT_EQ(next(), kShort);
}

TEST_F(SpinTimes, TryALongOneNowAndThenAndKeepToItIfItHelps) {
  make_short();
  std::uint32_t tries = 0;
  for (std::uint32_t spins = 1; spins <= 4 * SpinTime::kTryEvery; ++spins) {
    const Duration length = next();
    EXPECT_TRUE(length == kShort || length == kTry);
    tries += length == kTry ? 1 : 0;
    spin.in_vain(now);
    now += 100us;
  }
  EXPECT_GE(tries, 4U);   // one in kTryEvery at least
  EXPECT_LE(tries, 12U);  // and few more
  spin.found(kFull);
  EXPECT_EQ(next(), kFull);
}

TEST_F(SpinTimes, AreFullAgainAfterALongSleep) {
  make_short();
  in_vain(SpinTime::kForget);
  EXPECT_EQ(next(), kFull);
}

TEST_F(SpinTimes, OfNothingStayNothing) {
  SpinTime none{Duration(0)};
  for (int round = 0; round < 100; ++round) {
    EXPECT_EQ(none.next(now), Duration(0));
    none.in_vain(now);
    none.found(1us);
  }
}

}  // namespace
}  // namespace ferry::system
