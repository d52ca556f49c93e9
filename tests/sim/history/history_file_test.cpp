// Histories as JSON lines: what is written is read again, what is wrong is named with its line.
#include <ferry/sim/history/runner/history_file.hpp>

#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ferry/sim/history/history.hpp>

namespace ferry::sim {
namespace {

TimePoint at(std::int64_t nanoseconds) {
  return TimePoint(Duration(nanoseconds));
}

TEST(History, WritesLinesThatAreReadAgain) {
  History history;
  const auto write = history.begin(1, 7, {.method = Method::write, .argument = {5}}, at(10));
  const auto exchange =
      history.begin(2, 7, {.method = Method::compare_swap, .argument = {-6}, .expected = {5}}, at(11));
  const auto dropped = history.begin(2, 7, {.method = Method::write, .argument = {99}}, at(12));
  history.begin(3, 8, {.method = Method::fetch_add, .argument = {1}}, at(13));
  history.end(write, {}, at(20));
  history.withdraw(dropped);
  history.end(exchange, {5}, at(21));
  EXPECT_EQ(
      history.to_json_lines(RegisterModel{}),
      "{\"model\":\"register\",\"initial\":0}\n"
      "{\"caller\":1,\"key\":7,\"call\":\"write\",\"value\":5,\"called\":10,\"returned\":20,\"result\":null}\n"
      "{\"caller\":2,\"key\":7,\"call\":\"compare_swap\",\"value\":-6,\"expected\":5,\"called\":11,\"returned\":21,"
      "\"result\":5}\n"
      "{\"caller\":3,\"key\":8,\"call\":\"fetch_add\",\"value\":1,\"called\":13}\n");
  const auto read = parse_history("lines", history.to_json_lines(RegisterModel{}));
  ASSERT_TRUE(read) << read.error().to_text();
  ASSERT_EQ(read->calls.size(), 3U);
  EXPECT_EQ(read->keys, (std::vector<std::string>{"7", "8"}));
  EXPECT_EQ(read->calls[1].output, Words{5});
  EXPECT_EQ(read->calls[1].input.expected, Words{5});
  EXPECT_EQ(read->calls[1].input.argument, Words{-6});
  EXPECT_EQ(read->calls[1].caller, 2U);
  EXPECT_EQ(read->calls[1].returned, 21);
  EXPECT_FALSE(read->calls[2].output);
  EXPECT_TRUE(judge(*read));
  EXPECT_TRUE(check_linearizable(RegisterModel{}, history.calls()));
}

TEST(HistoryFile, FirstLineSaysWhatTheObjectsAre) {
  const auto buffer =
      parse_history("f",
                    "{\"model\":\"register\",\"initial\":[1,2]}\n\n"
                    "{\"caller\":0,\"key\":\"b\",\"call\":\"read\",\"called\":1,\"returned\":2,\"result\":[1,2]}");
  ASSERT_TRUE(buffer) << buffer.error().to_text();
  EXPECT_TRUE(judge(*buffer));
  const auto queue =
      parse_history("f",
                    "{\"model\":\"queue\",\"capacity\":1}\n"
                    "{\"caller\":0,\"call\":\"push\",\"value\":3,\"called\":1,\"returned\":2,\"result\":1}\n"
                    "{\"caller\":0,\"call\":\"push\",\"value\":4,\"called\":3,\"returned\":4,\"result\":1}\n");
  ASSERT_TRUE(queue) << queue.error().to_text();
  EXPECT_EQ(judge(*queue).kind, Verdict::Kind::not_linearizable);
  EXPECT_EQ(QueueModel(1).to_json(), "{\"model\":\"queue\",\"capacity\":1}");
  EXPECT_EQ(RegisterModel({1, 2}).to_json(), "{\"model\":\"register\",\"initial\":[1,2]}");
  const auto lock = parse_history("f", "{\"caller\":0,\"call\":\"acquire\",\"called\":1,\"returned\":2}\n", "lock");
  ASSERT_TRUE(lock) << lock.error().to_text();
  EXPECT_TRUE(judge(*lock));
}

TEST(HistoryFile, WhatIsWrongIsNamedWithItsLineAndWhatWasExpected) {
  const std::string head = "{\"model\":\"register\"}\n";
  const std::string call = "{\"caller\":0,\"call\":\"read\",\"called\":1,\"returned\":2,\"result\":0}\n";
  const struct {
    std::string text;
    std::string error;
  } kCases[] = {
      {"", "f: there are no calls; expected one on each line"},
      {head, "f:1: there are no calls; expected one on each line"},
      {call + call,
       "f:1: nothing says what the objects are; expected a first line such as {\"model\":\"register\"}, or the option "
       "--model (one of register, lock, queue)"},
      {head + "{\"caller\":0,\"caller\":1}", "f:2: \"caller\" is there twice"},
      {head + "{\"caller\":[[0]]}", "f:2: lists within lists; expected integers, texts, and lists of integers"},
      {head + "{\"caller\":\"" + std::string(90, 'x') + "\",\"call\":\"read\"}",
       "f:2: \"caller\" is \"" + std::string(59, 'x') + "…; expected a 64-bit integer"},
      {head + "nonsense\n", "f:2: this is no JSON; expected an object on each line"},
      {head + "[1e999]\n", "f:2: a number is too large for any machine; expected integers of 64 bits"},
      {head + "[1]\n", "f:2: found array; expected an object on each line"},
      {"{\"model\":\"tree\"}\n", "f:1: \"tree\" is no model; expected one of register, lock, queue"},
      {"{\"model\":7}\n", "f:1: \"model\" is 7; expected one of register, lock, queue"},
      {head + call + head, "f:3: a model after the first line; expected a call"},
      {"{\"model\":\"lock\",\"initial\":1}\n", "f:1: \"initial\" belongs to a register"},
      {"{\"model\":\"queue\",\"capacity\":0}\n", "f:1: \"capacity\" belongs to a queue and is at least 1"},
      {head + "{\"call\":\"read\"}", "f:2: there is no \"caller\"; expected a number"},
      {head + "{\"caller\":-1,\"call\":\"read\"}", "f:2: \"caller\" is -1; expected 0 to 4294967295"},
      {head + "{\"caller\":0,\"call\":\"push\"}",
       "f:2: \"call\" is \"push\"; expected one of read, write, swap, fetch_add, compare_swap"},
      {head + "{\"caller\":0,\"call\":\"read\",\"value\":1}", "f:2: read takes no \"value\""},
      {head + "{\"caller\":0,\"call\":\"write\",\"called\":1}",
       "f:2: there is no \"value\"; expected an integer or a list of them"},
      {head + "{\"caller\":0,\"call\":\"write\",\"value\":\"x\",\"called\":1}",
       "f:2: \"value\" is \"x\"; expected a 64-bit integer"},
      {head + "{\"caller\":0,\"call\":\"write\",\"value\":1.5,\"called\":1}",
       "f:2: \"value\" is 1.5; expected a 64-bit integer"},
      {head + "{\"caller\":0,\"call\":\"write\",\"value\":18446744073709551615,\"called\":1}",
       "f:2: \"value\" is 18446744073709551615; expected a 64-bit integer"},
      {head + "{\"caller\":0,\"call\":\"fetch_add\",\"value\":[1,2],\"called\":1}", "f:2: fetch_add takes one integer"},
      {head + "{\"caller\":0,\"call\":\"read\"}", "f:2: there is no \"called\"; expected a time"},
      {head + "{\"caller\":0,\"call\":\"read\",\"called\":5,\"returned\":4,\"result\":0}",
       "f:2: it returned at 4, before it was called at 5"},
      {head + "{\"caller\":0,\"call\":\"read\",\"called\":5,\"returned\":6}",
       "f:2: there is no \"result\"; expected what the call gave"},
      {head + "{\"caller\":0,\"call\":\"read\",\"called\":5,\"result\":6}",
       "f:2: there is a \"result\" but no \"returned\": a call of unknown outcome has neither"},
      {head + "{\"caller\":0,\"call\":\"write\",\"value\":1,\"called\":5,\"returned\":6,\"result\":6}",
       "f:2: write gives nothing, but \"result\" is 6"},
      {head + "{\"caller\":0,\"call\":\"read\",\"called\":5,\"when\":6}",
       "f:2: \"when\" is not known here; expected caller, key, call, value, expected, called, returned, result"},
  };
  for (const auto& wrong : kCases) {
    const auto read = parse_history("f", wrong.text);
    ASSERT_FALSE(read) << wrong.text;
    EXPECT_EQ(read.error().code(), errc::malformed);
    EXPECT_EQ(read.error().detail(), wrong.error) << wrong.text;
  }
  const auto other = parse_history("f", head, "lock");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().detail(), "f:1: the model is register, but lock was asked for");
}

}  // namespace
}  // namespace ferry::sim
