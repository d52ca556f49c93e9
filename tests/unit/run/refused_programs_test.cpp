// A main that ferry::run does not take is refused by the compiler with a text that says what to write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <refused_program.hpp>

namespace {

using ::testing::HasSubstr;

TEST(RefusedPrograms, SayWhatRunTakes) {
  const std::string output = ferry::test::refusal();
  EXPECT_THAT(output, HasSubstr("the program that ferry::run is given takes a ferry::Context&"));
  EXPECT_THAT(output, HasSubstr("write -> ferry::Task<int> behind its parameters, and co_return 0 at its end"));
  EXPECT_THAT(output, HasSubstr("what ferry::run takes: argc and argv, or NodeOptions; then the classes"));
  EXPECT_THAT(output, HasSubstr("what stands before the actor classes: argc and argv of main, or NodeOptions"));
  EXPECT_THAT(output, testing::Not(HasSubstr("no matching")));
  constexpr std::size_t kRefused = 9;
  EXPECT_GE(ferry::test::count_errors(output), kRefused) << output;
  EXPECT_LE(ferry::test::count_errors(output), kRefused + 2) << output;
}

}  // namespace
