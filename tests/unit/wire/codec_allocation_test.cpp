// What the codec allocates, counted.
#include <gtest/gtest.h>

#include <ferry/wire/codec.hpp>

#include <allocation_counter.hpp>

#include "wire_samples.hpp"

namespace ferry::wire {
namespace {

using namespace samples;  // NOLINT: a test

struct Allocated {
  std::size_t count;
  std::size_t bytes;
};

template <class Work>
Allocated allocated_by(Work work) {
  const std::size_t count = test::allocations();
  const std::size_t bytes = test::allocated_bytes();
  work();
  return {test::allocations() - count, test::allocated_bytes() - bytes};
}

constexpr std::size_t kFailureText = 2000;  // bytes that a failure with its text may take

TEST(CodecAllocationTest, CallWithASmallArgumentAllocatesNothing) {
  bool same = false;
  const Allocated allocated = allocated_by([&] {
    Bytes bytes;
    Encoder encoder(bytes);
    encoder.begin_array(3);
    encode(encoder, std::uint64_t{0x0123456789abcdef});
    encode(encoder, 2.5);
    encode(encoder, std::string_view("parameters"));
    Decoder decoder(bytes);
    same = decoder.begin_array_of(3) && *decode<std::uint64_t>(decoder) == 0x0123456789abcdef &&
           *decode<double>(decoder) == 2.5 && *decode<std::string>(decoder) == "parameters";
    decoder.end();
    same = same && decoder.finish();
  });
  EXPECT_TRUE(same);
  EXPECT_EQ(allocated.count, 0u);
}

template <class T>
void expect_small(std::initializer_list<int> values) {
  const Bytes bytes = bytes_of(values);
  bool accepted = true;
  const Allocated allocated = allocated_by([&] { accepted = decode<T>(bytes).has_value(); });
  EXPECT_FALSE(accepted);
  EXPECT_LT(allocated.bytes, kFailureText);
}

TEST(CodecAllocationTest, HugeCountsAllocateNothing) {
  expect_small<std::string>({0xdb, 255, 255, 255, 255, 'x'});
  expect_small<std::vector<std::byte>>({0xc6, 255, 255, 255, 255, 0});
  expect_small<std::vector<int>>({0xdd, 255, 255, 255, 255, 0});
  expect_small<std::vector<Everything>>({0xdc, 0, 3, 0, 0, 0});
  expect_small<std::set<int>>({0xdd, 255, 255, 255, 255, 0});
  expect_small<std::unordered_set<int>>({0xdd, 255, 255, 255, 255, 0});
  expect_small<std::map<int, int>>({0xdf, 255, 255, 255, 255, 0, 0});
  expect_small<std::unordered_map<int, int>>({0xdf, 255, 255, 255, 255, 0, 0});
  expect_small<std::vector<std::vector<std::vector<int>>>>({0x91, 0x91, 0xdd, 255, 255, 255, 255, 0});
}

struct Nest {
  std::vector<Nest> inner;
};

// Each level claims as many values as bytes are left: believed level by level, that would be 64 times the input's
// worth.
TEST(CodecAllocationTest, NestedCountsCannotPromiseTheSameBytesTwice) {
  constexpr std::size_t kSize = 60'000;
  Bytes bytes;
  Encoder encoder(bytes);
  for (int level = 0; level < 30; ++level) {
    encoder.begin_array(1);
    encoder.begin_array(kSize / 2 - 1000);
  }
  bytes.resize(kSize);
  bool accepted = true;
  const Allocated allocated = allocated_by([&] { accepted = decode<Nest>(bytes).has_value(); });
  EXPECT_FALSE(accepted);
  EXPECT_LE(allocated.bytes, kSize / 2 * sizeof(Nest) + kFailureText);
}

TEST(CodecAllocationTest, ListsAreAllocatedOnceInTheirSize) {
  const Bytes bytes = encoded(std::vector<double>(10'000, 1.5));
  const Allocated allocated = allocated_by([&] { EXPECT_TRUE(decode<std::vector<double>>(bytes).has_value()); });
  EXPECT_EQ(allocated.count, 1u);
  EXPECT_EQ(allocated.bytes, 10'000 * sizeof(double));
}

}  // namespace
}  // namespace ferry::wire
