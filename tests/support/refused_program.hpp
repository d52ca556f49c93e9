// What the compiler says about a source that must not compile. The definitions come from ferry_reads_refusals().
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>

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

}  // namespace ferry::test
