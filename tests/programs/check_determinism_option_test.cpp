// The option that programs have: a run that depends on more than its seed fails, with both lines.
#include "../../examples/command_line/check_determinism.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ferry/base/sleep.hpp>

namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

int runs = 0;

ferry::Task<int> sleep_longer_each_time() {
  const ferry::Duration time(1'000 + ++runs);
  co_await ferry::sleep_for(time);
  std::puts("what the program prints is not what is asked for");
  co_return 0;
}

ferry::Task<int> sleep_and_return(int status) {
  const ferry::Duration time(1'000);
  co_await ferry::sleep_for(time);
  co_return status;
}

struct Outcome {
  int status = 0;
  std::string output;
  std::string errors;
};

template <class F>
Outcome check(const F& program) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.status = command_line::report_determinism({.seed = 7}, ferry::actors<>, program);
  std::fflush(stdout);
  outcome.errors = testing::internal::GetCapturedStderr();
  outcome.output = testing::internal::GetCapturedStdout();
  return outcome;
}

TEST(CheckDeterminismOption, PrintsBothLinesOfTheFirstStepThatDiffers) {
  const Outcome outcome = check([](ferry::Context&) { return sleep_longer_each_time(); });
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.output, "");
  EXPECT_THAT(outcome.errors, MatchesRegex("FAILED seed 7: step [0-9]+ differs\n"
                                           "  alone:               0.000001001 s  root: timer.*\n"
                                           "  after another world: 0.000001003 s  root: timer.*\n"));
}

TEST(CheckDeterminismOption, TellsInOneLineWhatPassed) {
  const Outcome outcome = check([](ferry::Context&) { return sleep_and_return(0); });
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.errors, "");
  EXPECT_THAT(outcome.output, MatchesRegex("OK the same alone and after another world: passed after .*seed=7.*\n"));
}

TEST(CheckDeterminismOption, AProgramThatFailsTwiceAlikeHasNotPassed) {
  const Outcome outcome = check([](ferry::Context&) { return sleep_and_return(3); });
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.errors, HasSubstr("FAILED the same twice, but failed after "));
}

TEST(CheckDeterminismOption, IsOfSimulatedRunsAlone) {
  CLI::App app("program");
  std::string transport = "tcp";
  bool wanted = false;
  app.add_option("--transport", transport);
  command_line::add_check_determinism(app, wanted, transport);
  EXPECT_THROW(app.parse("--check-determinism"), CLI::ValidationError);
  EXPECT_NO_THROW(app.parse("--check-determinism --transport sim"));
  EXPECT_TRUE(wanted);
}

}  // namespace
