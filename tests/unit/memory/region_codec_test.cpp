// The wire form of a region: round trips, and what becomes of altered and cut bytes.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <ferry/base/limits.hpp>
#include <ferry/memory/region_codec.hpp>

namespace ferry {
namespace {

RemoteRegion sample() {
  RemoteRegion region;
  region.owner = {0x1122334455667788, 0x99aabbccddeeff00};
  region.slot = RegionSlot(17);
  region.rights = Access::read | Access::atomic;
  region.misalignment = 4;
  region.generation = Generation(99);
  region.size = 1000;
  region.offset = 10;
  region.length = 500;
  region.keys[0] = {TransportId::shm, 3, 4096};
  region.keys[1] = {TransportId::tcp, 0, 0};
  return region;
}

wire::Bytes encoded(const RemoteRegion& region) {
  wire::Bytes bytes;
  wire::Writer writer(bytes);
  encode_region(writer, region);
  return bytes;
}

Result<RemoteRegion> decoded(wire::ByteView bytes) {
  wire::Reader reader(bytes);
  auto region = decode_region(reader);
  if (region) {
    if (auto complete = reader.finish("reference"); !complete) {
      return complete.error();
    }
  }
  return region;
}

void expect_equal(const RemoteRegion& a, const RemoteRegion& b) {
  EXPECT_EQ(a.owner, b.owner);
  EXPECT_EQ(a.slot, b.slot);
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.domain, b.domain);
  EXPECT_EQ(a.rights, b.rights);
  EXPECT_EQ(a.misalignment, b.misalignment);
  EXPECT_EQ(a.generation, b.generation);
  EXPECT_EQ(a.size, b.size);
  EXPECT_EQ(a.offset, b.offset);
  EXPECT_EQ(a.length, b.length);
  for (std::size_t index = 0; index < RemoteRegion::kKeys; ++index) {
    EXPECT_EQ(a.keys[index].transport, b.keys[index].transport);
    EXPECT_EQ(a.keys[index].key, b.keys[index].key);
    EXPECT_EQ(a.keys[index].address, b.keys[index].address);
  }
}

TEST(RegionCodec, GivesBackWhatWasEncodedInTheBytesItPromises) {
  const wire::Bytes bytes = encoded(sample());
  EXPECT_EQ(bytes.size(), 56U + 2 * 13);
  expect_equal(decoded({bytes.data(), bytes.size()}).value(), sample());
}

RC_GTEST_PROP(RegionCodec, GivesBackEveryRegion, ()) {
  RemoteRegion region;
  region.owner = {*rc::gen::nonZero<std::uint64_t>(), *rc::gen::arbitrary<std::uint64_t>()};
  region.slot = RegionSlot(*rc::gen::nonZero<std::uint32_t>());
  region.kind = *rc::gen::element(MemoryKind::host, MemoryKind::dma_buf);
  region.domain = *rc::gen::element(AtomicDomain::cpu, AtomicDomain::nic);
  region.rights = static_cast<Access>(*rc::gen::inRange(0, 8));
  region.misalignment = static_cast<std::uint8_t>(*rc::gen::inRange(0, 8));
  region.generation = Generation(*rc::gen::nonZero<std::uint64_t>());
  region.size = *rc::gen::arbitrary<std::uint64_t>() % (limits::kMaxLength + 1);
  region.offset = region.size == 0 ? 0 : *rc::gen::arbitrary<std::uint64_t>() % (region.size + 1);
  region.length = *rc::gen::arbitrary<std::uint64_t>() % (region.size - region.offset + 1);
  const auto keys = *rc::gen::inRange<std::size_t>(0, RemoteRegion::kKeys + 1);
  for (std::size_t index = 0; index < keys; ++index) {
    region.keys[index] = {static_cast<TransportId>(*rc::gen::inRange(1, 6)), *rc::gen::arbitrary<std::uint32_t>(),
                          *rc::gen::arbitrary<std::uint64_t>()};
  }
  const wire::Bytes bytes = encoded(region);
  const auto again = decoded({bytes.data(), bytes.size()});
  RC_ASSERT(again.has_value());
  expect_equal(*again, region);
}

TEST(RegionCodec, RefusesEveryTruncation) {
  const wire::Bytes bytes = encoded(sample());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const auto cut = decoded({bytes.data(), length});
    ASSERT_FALSE(cut) << length;
    EXPECT_EQ(cut.error().code(), errc::malformed);
  }
}

// What decodes may be another reference than was encoded (the owner checks it), but never one that misleads this
// process: its range lies in its region, its enumerators exist, and encoding it again gives the same bytes.
TEST(RegionCodec, TakesAnAlteredByteForAnErrorOrForAnotherSoundRegion) {
  const wire::Bytes bytes = encoded(sample());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (unsigned value = 0; value < 256; ++value) {
      wire::Bytes altered = bytes;
      altered[at] = static_cast<std::byte>(value);
      const auto region = decoded({altered.data(), altered.size()});
      if (!region) {
        EXPECT_EQ(region.error().code(), errc::malformed);
        EXPECT_FALSE(region.error().detail().empty());
        continue;
      }
      EXPECT_LE(region->size, limits::kMaxLength);
      EXPECT_LE(region->offset, region->size);
      EXPECT_LE(region->length, region->size - region->offset);
      EXPECT_LE(static_cast<unsigned>(region->rights), 7U);
      EXPECT_TRUE(region->owner && region->slot && region->generation);
      EXPECT_EQ(encoded(*region), altered) << at << " " << value;
    }
  }
}

std::string refusal(std::size_t at, std::uint8_t value) {
  wire::Bytes bytes = encoded(sample());
  bytes[at] = static_cast<std::byte>(value);
  return decoded({bytes.data(), bytes.size()}).error().to_text();
}

TEST(RegionCodec, SaysWhichFieldItRefuses) {
  EXPECT_EQ(refusal(20, 9), "malformed: reference: memory kind 9 is unknown");
  EXPECT_EQ(refusal(21, 2), "malformed: reference: atomic domain 2 is unknown");
  EXPECT_EQ(refusal(22, 8), "malformed: reference: rights 0x8 are unknown");
  EXPECT_EQ(refusal(23, 0x44), "malformed: reference: at most 3 keys, not 4");
  EXPECT_EQ(refusal(16, 0), "malformed: reference: owner, slot and generation must not be zero");
  EXPECT_EQ(refusal(56, 0), "malformed: reference: transport 0 is unknown");
  EXPECT_EQ(refusal(56, 200), "malformed: reference: transport 200 is unknown");
  EXPECT_EQ(refusal(49, 9),
            "offset 10, length 2548 of 1000 bytes: malformed: reference: its range does not lie inside its region");
}

TEST(Access, NamesItsRights) {
  EXPECT_EQ(to_string(Access::none), "none");
  EXPECT_EQ(to_string(Access::all), "read|write|atomic");
  EXPECT_EQ(to_string(Access::write), "write");
  EXPECT_TRUE(permits(Access::all, Access::none));
  EXPECT_FALSE(permits(Access::read, Access::read | Access::write));
}

TEST(ProcessId, IsWrittenForPeople) {
  EXPECT_EQ(to_string(ProcessId{0x3f2a, 0x123456789c01d2e4}), "3f2a/9c01d2e4");
}

}  // namespace
}  // namespace ferry
