#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ferry/base/random.hpp>
#include <ferry/tcp/handshake.hpp>
#include <ferry/wire/writer.hpp>

namespace ferry::tcp {
namespace {

using testing::HasSubstr;

JobSecret secret_of(std::uint8_t seed) {
  JobSecret secret;
  secret.fill(std::byte{seed});
  return secret;
}

constexpr ProcessId kOwner{2, 200};
constexpr ProcessId kInitiator{1, 100};

Introduction introduction() {
  return {"worker/2", {Address{TransportId::tcp, "127.0.0.1:4567"}, Address{TransportId::shm, "3f2a9c01"}}};
}

InitiatorHandshake initiator(const JobSecret& secret = secret_of(1), ProcessId wanted = kOwner) {
  Hello hello;
  hello.wanted = wanted;
  hello.self = kInitiator;
  hello.channel = 5;
  return InitiatorHandshake::create(secret, hello, introduction()).value();
}

OwnerHandshake owner(const JobSecret& secret = secret_of(1), ProcessId self = kOwner) {
  return OwnerHandshake::create(secret, self).value();
}

// Carries what one says to the other, `step` bytes at a time.
template <class To>
Result<bool> carry(wire::Bytes& from, To& to, std::size_t step = 1 << 20) {
  const wire::Bytes bytes = std::exchange(from, {});
  Result<bool> outcome = false;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    outcome = to.feed(wire::ByteView(bytes).subspan(at, std::min(step, bytes.size() - at)));
    if (!outcome || *outcome) {
      EXPECT_TRUE(at + step >= bytes.size() || !outcome);
      return outcome;
    }
  }
  return outcome;
}

class TcpHandshakeSteps : public testing::TestWithParam<std::size_t> {};

TEST_P(TcpHandshakeSteps, BothSidesLearnWhoTheOtherIsHoweverTheBytesAreCut) {
  auto one = initiator();
  auto other = owner();
  ASSERT_FALSE(carry(one.out(), other, GetParam()).value());
  ASSERT_FALSE(carry(other.out(), one, GetParam()).value());
  ASSERT_TRUE(carry(one.out(), other, GetParam()).value());
  EXPECT_EQ(other.hello().self, kInitiator);
  EXPECT_EQ(other.hello().channel, 5u);
  EXPECT_EQ(other.introduction().name, "worker/2");
  EXPECT_EQ(other.introduction().addresses, introduction().addresses);
  EXPECT_FALSE(other.is_misdirected());
  other.accept({77, "server"});
  ASSERT_TRUE(carry(other.out(), one, GetParam()).value());
  EXPECT_EQ(one.welcome().session, 77u);
  EXPECT_EQ(one.welcome().name, "server");
}

TEST_P(TcpHandshakeSteps, AnOwnerThatCannotServeSaysWhyInTheLastWord) {
  auto one = initiator();
  auto other = owner();
  ASSERT_TRUE(carry(one.out(), other, GetParam()));
  ASSERT_TRUE(carry(other.out(), one, GetParam()));
  ASSERT_TRUE(carry(one.out(), other, GetParam()).value());
  other.refuse(Failure(errc::resource_exhausted, "no room" + std::string(5000, '.')));
  const auto outcome = carry(other.out(), one, GetParam());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), errc::resource_exhausted);
  EXPECT_EQ(outcome.error().detail(), "no room" + std::string(1024 - 7, '.'));
}
INSTANTIATE_TEST_SUITE_P(Tcp, TcpHandshakeSteps, testing::Values(1, 3, 24, 100, 1 << 20));

TEST(TcpHandshake, NothingOfTheIntroductionIsToldToAnOwnerThatHasNotProvedItself) {
  auto one = initiator();
  const std::string said(wire::as_text(one.out()));
  EXPECT_THAT(said, testing::Not(HasSubstr("worker/2")));
  auto other = owner(secret_of(9));
  ASSERT_TRUE(carry(one.out(), other));
  const auto outcome = carry(other.out(), one);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), errc::not_authorised);
  EXPECT_TRUE(one.out().empty());
}

TEST(TcpHandshake, InitiatorWithAnotherSecretIsNotAuthorised) {
  // One that does not mind who answers: it takes the owner's words for granted and proves with its own secret.
  auto honest = owner();
  auto accomplice = owner(secret_of(9));
  auto one = initiator(secret_of(9));
  const wire::Bytes first = one.out();
  wire::Bytes copy = first;
  ASSERT_TRUE(carry(copy, honest));
  ASSERT_TRUE(carry(one.out(), accomplice));
  ASSERT_TRUE(carry(accomplice.out(), one));
  const auto outcome = carry(one.out(), honest);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), errc::not_authorised);
}

TEST(TcpHandshake, ProofsOfAnEarlierHandshakeOrOfTheOtherRoleDoNotFit) {
  auto one = initiator();
  auto other = owner();
  wire::Bytes first = one.out();
  wire::Bytes again = first;
  ASSERT_TRUE(carry(one.out(), other));
  const wire::Bytes answer = other.out();
  ASSERT_TRUE(carry(other.out(), one));
  const wire::Bytes introduced = one.out();
  ASSERT_TRUE(carry(one.out(), other).value());

  auto replayed = owner();  // its nonce is another one
  ASSERT_TRUE(carry(again, replayed));
  wire::Bytes old = introduced;
  EXPECT_EQ(carry(old, replayed).error().code(), errc::not_authorised);

  auto second = initiator();
  wire::Bytes old_answer = answer;
  EXPECT_EQ(carry(old_answer, second).error().code(), errc::not_authorised);

  // The owner's own proof sent back to it.
  auto reflected = owner();
  wire::Bytes hello = first;
  ASSERT_TRUE(carry(hello, reflected));
  wire::Bytes back;
  wire::Writer writer(back);
  writer.u32(0);
  writer.raw(wire::ByteView(reflected.out()).last(sizeof(Proof)));
  EXPECT_EQ(carry(back, reflected).error().code(), errc::not_authorised);
}

TEST(TcpHandshake, AnotherLifeOfTheProcessIsToldFromAnotherProcess) {
  for (const ProcessId answering : {ProcessId{2, 201}, ProcessId{3, 300}}) {
    auto one = initiator();
    auto other = owner(secret_of(1), answering);
    ASSERT_TRUE(carry(one.out(), other));
    EXPECT_TRUE(other.is_misdirected());
    const auto outcome = carry(other.out(), one);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code(), errc::stale_incarnation);
    EXPECT_TRUE(one.met_another());
    EXPECT_EQ(one.met_successor(), answering.id == 2);
    EXPECT_TRUE(one.out().empty());
  }
}

TEST(TcpHandshake, SuccessorIsBelievedOnlyWithAProof) {
  auto one = initiator();
  auto impostor = owner(secret_of(9), ProcessId{2, 201});
  ASSERT_TRUE(carry(one.out(), impostor));
  EXPECT_EQ(carry(impostor.out(), one).error().code(), errc::not_authorised);
  EXPECT_FALSE(one.met_another());
}

TEST(TcpHandshake, VersionsThatDoNotMeetAreBothNamedOnBothSides) {
  wire::Handshake future;
  future.versions = {7, 9};
  {
    wire::Bytes block = wire::encode_handshake(future);
    auto other = owner();
    const auto outcome = carry(block, other);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code(), errc::version_mismatch);
    EXPECT_THAT(outcome.error().detail(), HasSubstr("versions 7 to 9"));
    EXPECT_THAT(outcome.error().detail(), HasSubstr("version 1"));
    EXPECT_FALSE(other.out().empty()) << "the initiator is told our versions";
  }
  {
    wire::Bytes block = wire::encode_handshake(future);
    auto one = initiator();
    const auto outcome = carry(block, one);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code(), errc::version_mismatch);
    EXPECT_THAT(outcome.error().detail(), HasSubstr("versions 7 to 9"));
  }
}

TEST(TcpHandshake, OtherProtocolsAreRefusedByTheirFirstBytes) {
  for (const std::string_view text :
       {std::string_view("GET / HTTP/1.1\r\n"), std::string_view("\x16\x03\x01\x02", 4), std::string_view("\xff", 1),
        std::string_view("FERRYv02"), std::string_view("\0\0\0\0", 4)}) {
    auto other = owner();
    const auto outcome = other.feed(wire::as_bytes(text));
    ASSERT_FALSE(outcome) << text;
    EXPECT_EQ(outcome.error().code(), errc::malformed);
    EXPECT_THAT(outcome.error().detail(), HasSubstr("does not speak ferry"));
    auto one = initiator();
    EXPECT_FALSE(one.feed(wire::as_bytes(text)));
  }
  auto other = owner();
  EXPECT_FALSE(other.feed(wire::as_bytes("FERRY")).value()) << "it may still become a handshake";
}

TEST(TcpHandshake, WhatFollowsAHandshakeTooEarlyIsRefused) {
  auto one = initiator();
  auto other = owner();
  ASSERT_TRUE(carry(one.out(), other));
  ASSERT_TRUE(carry(other.out(), one));
  one.out().push_back(std::byte{1});
  EXPECT_EQ(carry(one.out(), other).error().code(), errc::malformed);
}

TEST(TcpHandshake, OwnersVerdictReachesTheInitiator) {
  auto one = initiator();
  auto other = owner();
  ASSERT_TRUE(carry(one.out(), other));
  ASSERT_TRUE(carry(other.out(), one));
  wire::Bytes verdict;
  wire::Writer writer(verdict);
  const std::string_view text = "not now";
  writer.u32(static_cast<std::uint32_t>(errc::overloaded));
  writer.u32(static_cast<std::uint32_t>(text.size()));
  writer.u64(0);
  writer.raw(wire::as_bytes(text));
  const auto outcome = carry(verdict, one);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), errc::overloaded);
  EXPECT_EQ(outcome.error().detail(), "not now");
}

TEST(TcpHandshake, AlteredAndRandomBytesNeverAuthenticateAndNeverTakeMuchMemory) {
  const std::uint64_t seed = 20'240'607;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  Random random(seed);
  for (int round = 0; round < 3000; ++round) {
    auto one = initiator();
    auto other = owner();
    wire::Bytes hello = std::exchange(one.out(), {});
    const bool in_hello = random.below(2) == 0;
    const auto damage = [&](wire::Bytes& bytes) {
      bytes[random.below(bytes.size())] ^= static_cast<std::byte>(1 + random.below(255));
    };
    if (in_hello) {
      damage(hello);
    }
    auto outcome = carry(hello, other);
    if (outcome && !other.out().empty()) {
      const auto answered = carry(other.out(), one);
      wire::Bytes introduced = std::exchange(one.out(), {});
      if (!introduced.empty()) {
        ASSERT_TRUE(answered);
        ASSERT_FALSE(in_hello) << "the initiator has seen that its words were altered; round " << round;
        damage(introduced);
        outcome = carry(introduced, other);
      }
    }
    ASSERT_FALSE(outcome && *outcome) << "round " << round;
  }
  for (int round = 0; round < 300; ++round) {
    auto other = owner();
    wire::Bytes bytes(wire::as_bytes(wire::kHandshakeMagic));
    bytes.resize(8 + random.below(20'000));
    for (std::size_t index = 8; index < bytes.size(); ++index) {
      bytes[index] = static_cast<std::byte>(random.next());
    }
    if (random.below(2) == 0 && bytes.size() > 24) {  // a head that may be right
      wire::store_little<std::uint16_t>(bytes.data() + 8, 1);
      wire::store_little<std::uint16_t>(bytes.data() + 10, 1);
      wire::store_little<std::uint32_t>(bytes.data() + 20, static_cast<std::uint32_t>(random.below(5000)));
    }
    const auto outcome = other.feed(bytes);
    ASSERT_FALSE(outcome && *outcome);
    if (bytes.size() > kHandshakeInput) {
      ASSERT_FALSE(outcome);
    }
  }
}

TEST(TcpHandshake, LongNamesAndManyAddressesAreCutByTheSender) {
  Introduction large{std::string(10'000, 'n'), {}};
  for (int index = 0; index < 1000; ++index) {
    large.addresses.push_back({TransportId::tcp, "127.0.0.1:" + std::to_string(index)});
  }
  auto one = InitiatorHandshake::create(secret_of(1), Hello{{}, kOwner, kInitiator, 1}, large).value();
  auto other = owner();
  ASSERT_TRUE(carry(one.out(), other));
  ASSERT_TRUE(carry(other.out(), one));
  ASSERT_TRUE(carry(one.out(), other).value());
  EXPECT_EQ(other.introduction().name, std::string(kNameBytes, 'n'));
  EXPECT_GT(other.introduction().addresses.size(), 100u);
}

}  // namespace
}  // namespace ferry::tcp
