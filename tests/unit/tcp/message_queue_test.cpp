// Which messages a queue gives back as unsent, at every number of bytes that may have left.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <ferry/tcp/messages.hpp>

namespace ferry::tcp::test {
namespace {

wire::Bytes message(char letter, std::size_t size) {
  return wire::Bytes(wire::as_bytes(std::string(size, letter)));
}

// "abc": the first letters of what is unsent.
std::string unsent(const MessageQueue& queue, const SendBuffer& out) {
  std::string letters;
  queue.for_each_unsent(out, [&](wire::ByteView piece) { letters += static_cast<char>(piece.front()); });
  return letters;
}

TEST(MessageQueue, CountsAMessageAsSentFromItsFirstByteOn) {
  constexpr std::size_t kFrame = wire::kFrameHeaderSize + 8;
  MessageQueue queue;
  SendBuffer out;
  for (const char letter : {'a', 'b', 'c'}) {
    queue.push(message(letter, 8), out, 0);
  }
  for (std::size_t left = 0; left < 3 * kFrame; ++left) {
    EXPECT_EQ(unsent(queue, out), std::string("abc").substr((left + kFrame - 1) / kFrame))
        << left << " bytes have left";
    out.sent(1);
  }
  EXPECT_EQ(unsent(queue, out), "");
  queue.push(message('d', 8), out, 0);
  EXPECT_EQ(unsent(queue, out), "d");
}

TEST(MessageQueue, TellsALongMessageOnceWhetherItsPiecesAreInTheBufferOrNot) {
  MessageQueue queue;
  SendBuffer out;
  queue.push(message('a', 3 * kPieceBytes), out, 0);
  queue.push(message('b', 8), out, 0);
  EXPECT_EQ(unsent(queue, out), "ab");
  while (queue.post(out, 0)) {
    EXPECT_EQ(unsent(queue, out), "ab");
  }
  out.sent(1);
  EXPECT_EQ(unsent(queue, out), "b");
}

TEST(MessageQueue, ForgetsWhatHasLeftWithoutBeingAsked) {
  MessageQueue queue;
  SendBuffer out;
  for (int count = 0; count < 100'000; ++count) {
    queue.push(message('a', 8), out, 0);
    out.sent(out.size());
  }
  EXPECT_EQ(unsent(queue, out), "");
  EXPECT_LE(queue.remembered(), 1U);
}

}  // namespace
}  // namespace ferry::tcp::test
