// Types that ferry cannot send are refused by the compiler with a text that says what to use instead.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <refused_program.hpp>

namespace {

using ::testing::HasSubstr;

TEST(UnsupportedTypesTest, AreRefusedWithTheRemedy) {
  const std::string output = ferry::test::refusal();
  for (const char* text : {
           "does not send pointers: send the value, an index, or a BufferRef",
           "integers of at most 64 bits, float and double",
           "does not send C arrays: use std::array",
           "enumerations with a fixed underlying type only: write `enum class E : std::uint8_t`",
           "cannot send a struct with a C array in it: use std::array",
           "cannot send a struct with a base class: make the base its first member",
           "make it an aggregate",
           "cannot tell an empty optional from one that holds an empty one",
           "cannot receive a view of text: use std::string",
           "cannot receive a view of bytes: use std::vector<std::byte>",
           "cannot receive into a const",
           "give the type a default constructor, or specialise ferry::wire::Codec",
       }) {
    EXPECT_THAT(output, HasSubstr(text));
  }
}

}  // namespace
