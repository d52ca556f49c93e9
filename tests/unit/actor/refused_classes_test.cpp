// Actor classes that lack something are refused by the compiler, with a text that says what.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <refused_program.hpp>

namespace {

using ::testing::HasSubstr;

TEST(RefusedClasses, SayWhatTheyLack) {
  const std::string output = ferry::test::refusal();
  EXPECT_THAT(output, HasSubstr("an actor's constructor takes an ActorContext& and then at most 8 arguments"));
  EXPECT_THAT(output, HasSubstr("an actor class says what can be called"));
}

}  // namespace
