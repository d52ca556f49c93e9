// Types that ferry cannot send are refused by the compiler with a text that says what to use instead.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>

namespace {

using ::testing::HasSubstr;

// What the compiler says about unsupported_types.cpp.
std::string compiler_output() {
  const std::string command = FERRY_COMPILE " " FERRY_ERROR_LIMIT " " FERRY_UNSUPPORTED_TYPES " 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  std::array<char, 4096> chunk;
  for (std::size_t size = 1; size > 0;) {
    size = std::fread(chunk.data(), 1, chunk.size(), pipe);
    output.append(chunk.data(), size);
  }
  EXPECT_NE(pclose(pipe), 0) << "it compiled";
  return output;
}

TEST(UnsupportedTypesTest, AreRefusedWithTheRemedy) {
  const std::string output = compiler_output();
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
