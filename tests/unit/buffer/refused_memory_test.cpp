// Memory that is given in another form than a span is refused by the compiler with a text that says what to write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <refused_program.hpp>

namespace {

using ::testing::HasSubstr;

TEST(RefusedMemory, SaysToWriteASpan) {
  const std::string output = ferry::test::refusal();
  EXPECT_THAT(output, HasSubstr("write read_into(std::span(values)), write_from(std::span(values))"));
  EXPECT_THAT(output, HasSubstr("read_into writes to its local memory, and this span is of const elements"));
  EXPECT_THAT(output, HasSubstr("give a span of trivially copyable elements"));
  EXPECT_THAT(output, HasSubstr("write register_memory(std::span(values))"));
  EXPECT_THAT(output, testing::Not(HasSubstr("no matching")));
  // Told once for each type and use.
  constexpr std::size_t kRefused = 7;
  EXPECT_GE(ferry::test::count_errors(output), kRefused) << output;
  EXPECT_LE(ferry::test::count_errors(output), kRefused + 2) << output;
}

}  // namespace
