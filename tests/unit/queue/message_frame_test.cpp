// Frames of messages, as bytes that somebody else may have chosen, and messages put together from them.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include <ferry/queue/message_frame.hpp>

namespace ferry::queue {
namespace {

MessageFrame frame(std::uint64_t number, bool is_first, bool is_last, std::string_view text) {
  return {number, is_first, is_last, wire::as_bytes(text)};
}

std::string pop(MessageAssembler& assembler) {
  const wire::Bytes message = assembler.pop();
  return std::string(wire::as_text({message.data(), message.size()}));
}

TEST(MessageFrame, SentFramesAreReadBack) {
  std::array<std::byte, kFrameHeader + 3> bytes{};
  encode_header(bytes.data(), frame(7, true, false, {}), {5, 9});
  const auto sent = decode_sent(bytes);
  ASSERT_TRUE(sent);
  EXPECT_EQ(sent->frame.number, 7U);
  EXPECT_TRUE(sent->frame.is_first);
  EXPECT_FALSE(sent->frame.is_last);
  EXPECT_EQ(sent->frame.bytes.size(), 3U);
  EXPECT_EQ(sent->receipt.acknowledged, 5U);
  EXPECT_EQ(sent->receipt.received, 9U);
  for (std::size_t length = 0; length < kFrameHeader; ++length) {
    EXPECT_FALSE(decode_sent(wire::ByteView(bytes).first(length))) << length;
  }
  for (std::size_t at = 0; at < 4; ++at) {
    auto wrong = bytes;
    wrong[at] ^= std::byte{0x40};
    const auto refused = decode_sent(wrong);
    ASSERT_FALSE(refused) << at;
    EXPECT_EQ(refused.error().code(), errc::malformed);
  }
}

TEST(MessageFrame, ReceiptsHaveNoBytes) {
  std::array<std::byte, kFrameHeader + 1> bytes{};
  encode_header(bytes.data(), MessageFrame{}, {5, 9});
  EXPECT_TRUE(decode_sent(wire::ByteView(bytes).first(kFrameHeader)));
  EXPECT_FALSE(decode_sent(bytes));
}

TEST(MessageFrame, WhatGoesBeneathIsReadBackAndNothingElse) {
  const wire::Bytes whole = encode_beneath(frame(3, true, true, "text"));
  const auto read = frame_of({whole.data(), whole.size()});
  ASSERT_TRUE(read);
  EXPECT_EQ(wire::as_text(read->bytes), "text");
  EXPECT_FALSE(frame_of(wire::ByteView(whole).first(9)));
  EXPECT_FALSE(frame_of({}));

  const wire::Bytes offer =
      encode_beneath(Beneath::open, QueueOffer{2, 16, 20, wire::Bytes(wire::as_bytes("address"))});
  const auto offered = decode_offer(wire::ByteView(offer).subspan(1));
  ASSERT_TRUE(offered);
  EXPECT_EQ(offered->life, 2U);
  EXPECT_EQ(offered->receives, 16U);
  const wire::Bytes few = encode_beneath(Beneath::open, QueueOffer{2, 3, 20, {}});
  EXPECT_FALSE(decode_offer(wire::ByteView(few).subspan(1)));
  const wire::Bytes none = encode_beneath(Beneath::open, QueueOffer{0, 16, 20, {}});
  EXPECT_FALSE(decode_offer(wire::ByteView(none).subspan(1)));

  const wire::Bytes receipt = encode_beneath(LinkReceipt{1, {2, 3}});
  EXPECT_TRUE(decode_receipt(wire::ByteView(receipt).subspan(1)));
  EXPECT_FALSE(decode_receipt(wire::ByteView(receipt).subspan(2)));
  const wire::Bytes lost = encode_beneath(Beneath::lost, 4);
  EXPECT_EQ(decode_life(wire::ByteView(lost).subspan(1)).value(), 4U);
  EXPECT_FALSE(decode_life(wire::ByteView(lost).subspan(2)));
}

TEST(MessageAssembler, FramesThatPassEachOtherAndComeTwiceMakeEachMessageOnce) {
  MessageAssembler assembler(100, 4);
  for (const auto& each : {frame(3, true, true, "three"), frame(2, false, true, "-two"), frame(3, true, true, "three"),
                           frame(1, true, false, "one"), frame(1, true, false, "one")}) {
    ASSERT_TRUE(assembler.take(each));
  }
  EXPECT_EQ(assembler.taken(), 3U);
  EXPECT_EQ(pop(assembler), "one-two");
  EXPECT_EQ(pop(assembler), "three");
  EXPECT_FALSE(assembler.has_message());
}

TEST(MessageAssembler, EmptyMessagesAreMessages) {
  MessageAssembler assembler(100, 4);
  ASSERT_TRUE(assembler.take(frame(1, true, true, "")));
  ASSERT_TRUE(assembler.has_message());
  EXPECT_EQ(pop(assembler), "");
}

TEST(MessageAssembler, RefusesWhatNoSenderMakes) {
  const auto code_of = [](std::initializer_list<MessageFrame> frames) {
    MessageAssembler assembler(10, 2);
    for (const MessageFrame& each : frames) {
      if (auto taken = assembler.take(each); !taken) {
        return taken.error().code();
      }
    }
    return errc{};
  };
  EXPECT_EQ(code_of({frame(1, false, true, "x")}), errc::malformed);
  EXPECT_EQ(code_of({frame(1, true, false, "x"), frame(2, true, true, "x")}), errc::malformed);
  EXPECT_EQ(code_of({frame(1, true, false, "12345"), frame(2, false, true, "123456")}), errc::too_large);
  EXPECT_EQ(code_of({frame(1, true, false, "12345"), frame(2, false, true, "12345")}), errc{});
  EXPECT_EQ(code_of({frame(2, true, true, "x"), frame(3, true, true, "x")}), errc{});
  EXPECT_EQ(code_of({frame(2, true, true, "x"), frame(3, true, true, "x"), frame(4, true, true, "x")}),
            errc::malformed);
}

}  // namespace
}  // namespace ferry::queue
