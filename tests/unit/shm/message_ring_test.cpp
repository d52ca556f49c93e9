#include <ferry/shm/message_ring.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ferry/base/random.hpp>

namespace ferry::shm {
namespace {

wire::Bytes message_of(std::size_t size, unsigned seed) {
  wire::Bytes bytes(size);
  for (std::size_t index = 0; index < size; ++index) {
    bytes[index] = static_cast<std::byte>(index * 31 + seed);
  }
  return bytes;
}

bool is_message(const wire::Bytes& bytes, std::size_t size, unsigned seed) {
  const wire::Bytes expected = message_of(size, seed);
  return bytes.size() == size && std::equal(bytes.begin(), bytes.end(), expected.begin());
}

class MessageRing : public ::testing::Test {
 protected:
  MessageRing() : reader(words, ring.data(), std::size_t{8} << 20), writer(words, ring.data()) {}

  RingWords words;
  std::vector<std::byte> ring = std::vector<std::byte>(kRingBytes);
  MessageReader reader;
  MessageWriter writer;
  std::atomic<unsigned> reader_done_{0};
};

TEST_F(MessageRing, GivesMessagesInOrderAndWhole) {
  wire::Bytes got;
  EXPECT_FALSE(*reader.next(got));
  for (unsigned number = 0; number < 10; ++number) {
    EXPECT_TRUE(writer.send(message_of(number * 100, number)));
  }
  for (unsigned number = 0; number < 10; ++number) {
    ASSERT_TRUE(*reader.next(got));
    EXPECT_TRUE(is_message(got, number * 100, number));
  }
  EXPECT_FALSE(*reader.next(got));
  EXPECT_FALSE(reader.has_bytes());
}

TEST_F(MessageRing, AShortMessageTakesOneCacheLine) {
  constexpr std::size_t kLine = 64;
  wire::Bytes got;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kLine - wire::kFrameHeaderSize}) {
    const std::uint64_t before = words.written.value.load();
    EXPECT_TRUE(writer.send(message_of(size, 5)));
    EXPECT_EQ(words.written.value.load(), before + kLine) << size;
    ASSERT_TRUE(*reader.next(got));
    EXPECT_FALSE(reader.has_bytes());
    reader.release();
    EXPECT_EQ(words.read.value.load(), before + kLine);
  }
}

TEST_F(MessageRing, MessagesLargerThanTheRingPassThroughItInPieces) {
  constexpr std::size_t kSize = (std::size_t{5} << 20) + 17;
  EXPECT_TRUE(writer.send(message_of(kSize, 3)));
  writer.send(message_of(10, 4));
  wire::Bytes got;
  std::vector<wire::Bytes> all;
  for (int turn = 0; all.size() < 2; ++turn) {
    ASSERT_LT(turn, 100'000);
    if (*reader.next(got)) {
      all.push_back(std::move(got));
    }
    const bool writer_waits = reader.release();
    EXPECT_TRUE(writer_waits || all.size() > 0) << "the writer waits for room and is not told";
    writer.flush();
  }
  EXPECT_TRUE(is_message(all[0], kSize, 3));
  EXPECT_TRUE(is_message(all[1], 10, 4));
}

TEST_F(MessageRing, RandomSizesSurviveWrappingAroundWithTheSidesOnTwoThreads) {
  constexpr std::uint64_t kSeed = 99;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  constexpr unsigned kMessages = 3000;
  const auto size_of = [](unsigned number) { return mix64(kSeed + number) % (number % 50 == 0 ? 400'000 : 3000); };
  std::thread sender([&] {
    for (unsigned number = 0; number < kMessages; ++number) {
      writer.send(message_of(size_of(number), number));
      while (writer.can_flush()) {
        writer.flush();
      }
    }
    while (reader_done_.load() < kMessages) {
      writer.flush();
    }
  });
  wire::Bytes got;
  for (unsigned number = 0; number < kMessages;) {
    auto complete = reader.next(got);
    ASSERT_TRUE(complete) << complete.error().to_text();
    if (*complete) {
      ASSERT_TRUE(is_message(got, size_of(number), number)) << number;
      reader_done_.store(++number);
    }
    reader.release();
  }
  sender.join();
}

TEST_F(MessageRing, GivesBackAtItsEndWhatNeverWasInTheRing) {
  writer.send(message_of(kRingBytes * 2, 1));  // a part of it is there
  writer.send(message_of(10, 2));
  writer.send(message_of(20, 3));
  const std::vector<wire::Bytes> unsent = writer.close();
  ASSERT_EQ(unsent.size(), 2U);
  EXPECT_TRUE(is_message(unsent[0], 10, 2));
  EXPECT_TRUE(is_message(unsent[1], 20, 3));
  EXPECT_TRUE(writer.close().empty());
}

TEST_F(MessageRing, NonsenseIsMalformedWhoeverWritesIt) {
  wire::Bytes got;
  words.written.value.store(kRingBytes + 1);
  auto outcome = reader.next(got);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), errc::malformed);

  words.read.value.store(5);  // it was never written; the writer looks when it needs the room
  EXPECT_FALSE(writer.send(message_of(kRingBytes, 1)));
  EXPECT_TRUE(writer.is_broken());
}

TEST_F(MessageRing, AFrameAboveTheLimitOrOfAnotherKindIsMalformed) {
  wire::Bytes got;
  const auto put = [&](wire::FrameHeader header) {
    RingWords fresh;
    const auto bytes = wire::encode_frame_header(header);
    std::copy(bytes.begin(), bytes.end(), ring.begin());
    fresh.written.value.store(bytes.size());
    MessageReader other(fresh, ring.data(), 1000);
    auto outcome = other.next(got);
    return outcome ? errc{} : outcome.error().code();
  };
  EXPECT_EQ(put({1001, kMessage, 0, 0}), errc::malformed);
  EXPECT_EQ(put({UINT32_MAX, kMessage, 0, 0}), errc::malformed);
  EXPECT_EQ(put({10, 77, 0, 0}), errc::malformed);
  EXPECT_EQ(put({10, kMessage, 0, 0}), errc{});
}

TEST_F(MessageRing, RandomBytesNeverDoMoreThanEndTheChannel) {
  constexpr std::uint64_t kSeed = 7;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  for (int round = 0; round < 2000; ++round) {
    RingWords fresh;
    for (std::size_t index = 0; index < 4096; ++index) {
      ring[index] = random.below(3) == 0 ? static_cast<std::byte>(random.next()) : std::byte{0};
    }
    fresh.written.value.store(random.below(8192));
    MessageReader other(fresh, ring.data(), 100'000);
    wire::Bytes got;
    for (int turn = 0; turn < 200; ++turn) {
      auto outcome = other.next(got);
      if (!outcome || !*outcome) {
        break;
      }
    }
  }
}

}  // namespace
}  // namespace ferry::shm
