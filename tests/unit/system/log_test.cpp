#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ferry/system/spdlog_sink.hpp>

#include "process_fixtures.hpp"

namespace ferry::system {
namespace {

TEST(SpdlogSink, WritesOneLineForAnEventWithTheProcessAndTheLevel) {
  SpdlogSink log("gpus/2");
  std::string text;
  {
    StderrToFile to_file;
    log.write(LogLevel::warning, "without verbs: no device");
    log.write(LogLevel::error, "a {} that is not a format");
    text = to_file.text();
  }
  EXPECT_THAT(text, testing::MatchesRegex("[0-9:.]+ ferry gpus/2 warning: without verbs: no device\n"
                                          "[0-9:.]+ ferry gpus/2 error: a \\{\\} that is not a format\n"));
}

TEST(SpdlogSink, KeepsAnEventOnOneLine) {
  SpdlogSink log("root");
  std::string text;
  {
    StderrToFile to_file;
    log.write(LogLevel::info, "a peer said: \"first\nsecond\r\n\x1b[31mred\"");
    text = to_file.text();
  }
  EXPECT_THAT(text, testing::MatchesRegex("[^\n]*info: a peer said: \"first.second...\\[31mred\"\n"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(SpdlogSink, WritesDebugLinesOnlyIfAsked) {
  SpdlogSink log("root");
  std::string text;
  {
    StderrToFile to_file;
    log.write(LogLevel::debug, "quiet");
    text = to_file.text();
  }
  EXPECT_EQ(text, "");
}

}  // namespace
}  // namespace ferry::system
