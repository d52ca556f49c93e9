#include <gtest/gtest.h>

#include <ferry/base/random.hpp>
#include <ferry/verbs/verbs_memory_domain.hpp>

namespace ferry::verbs {
namespace {

const std::byte* at(std::uint64_t address) {
  return reinterpret_cast<const std::byte*>(address);
}

TEST(IovaSpace, AddressesAreCongruentAndNeverComeAgain) {
  IovaSpace space(12345);
  Random random(7);
  std::uint64_t end = 0;
  for (int round = 0; round < 1000; ++round) {
    const std::uint64_t memory = 0x7f0000000000 + random.below(std::uint64_t{1} << 32);
    const std::uint64_t length = 1 + random.below(std::uint64_t{1} << 24);
    const std::uint64_t address = space.take(at(memory), length);
    ASSERT_GT(address, end) << "overlaps or touches the one before";
    EXPECT_EQ(address % IovaSpace::kCongruence, memory % IovaSpace::kCongruence);
    end = address + length;
  }
}

TEST(IovaSpace, StartsDifferWithTheRandomNumber) {
  EXPECT_NE(IovaSpace(1ULL << 50).take(at(0), 1), IovaSpace(1ULL << 51).take(at(0), 1));
}

TEST(IovaSpace, WhatHasNoRoomIsRefused) {
  IovaSpace space(~std::uint64_t{0});
  EXPECT_EQ(space.take(at(0), IovaSpace::kEnd), 0U);
  EXPECT_EQ(space.take(at(0), ~std::uint64_t{0}), 0U);
  EXPECT_NE(space.take(at(0), 4096), 0U) << "a refusal uses nothing up";
}

}  // namespace
}  // namespace ferry::verbs
