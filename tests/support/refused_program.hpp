// What the compiler says about a source that must not compile. The definitions come from ferry_reads_refusals().
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace ferry::test {

inline std::string refusal() {
  const std::string command = FERRY_COMPILE " " FERRY_ERROR_LIMIT " " FERRY_REFUSED_SOURCE " 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  std::array<char, 4096> chunk;
  for (std::size_t size = 1; size > 0;) {
    size = std::fread(chunk.data(), 1, chunk.size(), pipe);
    output.append(chunk.data(), size);
  }
  EXPECT_NE(pclose(pipe), 0) << FERRY_REFUSED_SOURCE << " compiled";
  return output;
}

// Errors in what the compiler said, follow-ups included.
inline std::size_t count_errors(std::string_view output) {
  std::size_t count = 0;
  constexpr std::string_view kError = " error: ";
  for (std::size_t at = output.find(kError); at != std::string_view::npos; at = output.find(kError, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace ferry::test
