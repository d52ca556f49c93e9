// Actor classes that lack something, or whose endpoints take or give what cannot be sent, are refused by the compiler
// with a text that says what, and little else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <refused_program.hpp>

namespace {

using ::testing::HasSubstr;

TEST(RefusedClasses, SayWhatTheyLack) {
  const std::string output = ferry::test::refusal();
  EXPECT_THAT(output, HasSubstr("an actor's constructor takes an ActorContext& and then at most 8 arguments"));
  EXPECT_THAT(output, HasSubstr("an actor class says what can be called"));
  EXPECT_THAT(output, HasSubstr("does not send pointers: send the value, an index, or a BufferRef"));
  EXPECT_THAT(output, HasSubstr("ferry cannot send this type: make it an aggregate"));
  EXPECT_THAT(output, HasSubstr("an endpoint takes and returns what can be moved and has a default constructor"));
  EXPECT_THAT(output, HasSubstr("the arguments of spawn behind the name do not fit a constructor"));
  constexpr std::size_t kRefused = 8;
#ifdef __clang__
  constexpr std::size_t kErrors = 3 * kRefused;  // it follows a failed assertion up
#else
  constexpr std::size_t kErrors = kRefused + 2;
#endif
  EXPECT_GE(ferry::test::count_errors(output), kRefused);
  EXPECT_LE(ferry::test::count_errors(output), kErrors) << output;
}

}  // namespace
