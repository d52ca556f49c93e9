#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <ferry/wire/handshake.hpp>
#include <ferry/wire/writer.hpp>

#include "wire_samples.hpp"

namespace ferry::wire {
namespace {

using samples::bytes_of;
using samples::hex;
using ::testing::HasSubstr;

Handshake sample() {
  return {.versions = {2, 3}, .features = 0x8000000000000001, .fields = {{7, bytes_of({1, 2})}, {0xfffe, {}}}};
}

std::string refusal_of(ByteView block) {
  const auto handshake = decode_handshake(block);
  EXPECT_FALSE(handshake.has_value());
  if (handshake) {
    return "";
  }
  EXPECT_EQ(handshake.error().code(), errc::malformed);
  return handshake.error().detail();
}

TEST(HandshakeTest, HasTheLayoutOfTheReadme) {
  EXPECT_EQ(hex(encode_handshake(sample())),
            "46 45 52 52 59 76 30 31 "         // magic
            "02 00 03 00 "                     // versions
            "01 00 00 00 00 00 00 80 "         // features
            "0a 00 00 00 "                     // bytes of fields
            "07 00 02 00 01 02 fe ff 00 00");  // fields
}

TEST(HandshakeTest, ComesBackAsItWas) {
  const auto handshake = decode_handshake(encode_handshake(sample()));
  ASSERT_TRUE(handshake.has_value());
  EXPECT_EQ(handshake->versions, sample().versions);
  EXPECT_EQ(handshake->features, sample().features);
  EXPECT_EQ(handshake->fields, sample().fields);
}

TEST(HandshakeTest, FieldsOfUnknownTypesAreSkipped) {
  const auto handshake = decode_handshake(encode_handshake(sample()));
  ASSERT_TRUE(handshake.has_value());
  ASSERT_TRUE(handshake->field(7).has_value());
  EXPECT_EQ(hex(*handshake->field(7)), "01 02");
  EXPECT_FALSE(handshake->field(8).has_value());
}

TEST(HandshakeTest, HeadSaysHowMuchFollows) {
  const Bytes block = encode_handshake(sample());
  EXPECT_EQ(handshake_fields_size(ByteView(block).first(kHandshakeHeadSize)).value(), 10u);
  EXPECT_FALSE(handshake_fields_size(ByteView(block).first(kHandshakeHeadSize - 1)).has_value());
}

TEST(HandshakeTest, StrangerIsNamedByWhatItSent) {
  EXPECT_EQ(refusal_of(as_bytes("GET / HTTP/1.1\r\nHost: example.com\r\n")),
            "handshake: the peer does not speak ferry: \"FERRYv01\" expected, found \"GET / HT\"");
  EXPECT_EQ(refusal_of(as_bytes(std::string_view("\x16\x03\x01\x02\x00\x01\x00\x01", 8))),
            "handshake: the peer does not speak ferry: \"FERRYv01\" expected, found \"........\"");
}

TEST(HandshakeTest, EveryTruncationIsMalformed) {
  const Bytes block = encode_handshake(sample());
  for (std::size_t size = 0; size < block.size(); ++size) {
    const samples::ExactBytes cut(block, size);
    EXPECT_NE(refusal_of(cut.view()), "") << size;
  }
}

TEST(HandshakeTest, BytesBehindTheFieldsAreMalformed) {
  Bytes block = encode_handshake(sample());
  block.push_back(std::byte{0});
  EXPECT_THAT(refusal_of(block), HasSubstr("the end expected"));
}

TEST(HandshakeTest, FieldThatReachesBeyondTheListIsMalformed) {
  Bytes block = encode_handshake({.fields = {{7, bytes_of({1, 2})}}});
  block[kHandshakeHeadSize + 2] = std::byte{3};
  EXPECT_THAT(refusal_of(block), HasSubstr("handshake fields: 3 bytes expected"));
}

TEST(HandshakeTest, FieldThatComesTwiceIsMalformed) {
  EXPECT_EQ(refusal_of(encode_handshake({.fields = {{7, {}}, {7, {}}}})),
            "handshake: field 7 once expected, found twice");
}

TEST(HandshakeTest, MoreFieldsThanTheLimitAreMalformed) {
  Bytes block = encode_handshake({});
  store_little(block.data() + 20, kHandshakeFieldsLimit + 1);
  EXPECT_THAT(refusal_of(block), HasSubstr("at most 4096 bytes"));
}

TEST(HandshakeTest, EmptyRangeOfVersionsIsMalformed) {
  EXPECT_THAT(refusal_of(encode_handshake({.versions = {3, 2}})), HasSubstr("found 3 to 2"));
  EXPECT_THAT(refusal_of(encode_handshake({.versions = {0, 2}})), HasSubstr("found 0 to 2"));
}

TEST(NegotiateTest, ChoosesTheHighestVersionThatBothSpeak) {
  EXPECT_EQ(negotiate({1, 3}, {2, 5}).value(), 3);
  EXPECT_EQ(negotiate({2, 5}, {1, 3}).value(), 3);
  EXPECT_EQ(negotiate({1, 1}, {1, 1}).value(), 1);
  EXPECT_EQ(negotiate({1, 9}, {4, 4}).value(), 4);
  EXPECT_EQ(negotiate({1, 65535}, {65535, 65535}).value(), 65535);
}

TEST(NegotiateTest, WithoutACommonVersionBothRangesAndTheRemedyAreNamed) {
  const auto older = negotiate({1, 1}, {2, 3});
  ASSERT_FALSE(older);
  EXPECT_EQ(older.error().code(), errc::version_mismatch);
  EXPECT_EQ(
      older.error().detail(),
      "this process speaks version 1 of ferry's protocol, the peer versions 2 to 3: build this program with a newer "
      "ferry, or both with the same");
  const auto newer = negotiate({2, 3}, {1, 1});
  ASSERT_FALSE(newer);
  EXPECT_THAT(newer.error().detail(), HasSubstr("build the peer's program with a newer ferry"));
}

}  // namespace
}  // namespace ferry::wire
