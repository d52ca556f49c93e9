// Two nodes of one process: what each operation does, on memory of segments and on other memory.
#include "test_node.hpp"

namespace ferry::shm {
namespace {

using namespace testing;

enum class Memory { segment, other };

class Operations : public ::testing::TestWithParam<Memory> {
 protected:
  std::unique_ptr<TestRegion> make_region(std::size_t size, Access rights = Access::all) {
    if (GetParam() == Memory::segment) {
      return std::make_unique<TestRegion>(owner, size, rights);
    }
    other_.push_back(std::vector<std::byte>(size + 64));
    auto* const at = other_.back().data();
    const std::size_t skip = (64 - reinterpret_cast<std::uintptr_t>(at) % 64) % 64;
    return std::make_unique<TestRegion>(owner, std::span(at + skip, size), rights);
  }
  Peer& to_owner() { return reader.peer(owner); }

  TestNode owner;
  TestNode reader;

 private:
  std::deque<std::vector<std::byte>> other_;
};

INSTANTIATE_TEST_SUITE_P(, Operations, ::testing::Values(Memory::segment, Memory::other), [](const auto& parameter) {
  return parameter.param == Memory::segment ? "OnSegments" : "OnOtherMemory";
});

TEST_P(Operations, ReadsAndWritesMoveTheRightBytesOfAnySize) {
  constexpr std::size_t kLargest = (std::size_t{5} << 20) + 3;
  const auto region = make_region(kLargest + 100);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{4096}, std::size_t{4097},
                                 std::size_t{65537}, std::size_t{1} << 20, kLargest}) {
    auto written = pattern(size, static_cast<unsigned>(size));
    Write write(region->part(50, size), written);
    ASSERT_FALSE(write.run(to_owner())) << write.failure.to_text();
    EXPECT_TRUE(std::equal(written.begin(), written.end(), region->data() + 50)) << size;
    EXPECT_EQ(region->data()[49], std::byte{0});
    EXPECT_EQ(region->data()[50 + size], std::byte{0});
    std::vector<std::byte> got(size);
    Read read(region->part(50, size), got);
    ASSERT_FALSE(read.run(to_owner())) << read.failure.to_text();
    EXPECT_EQ(got, written) << size;
    EXPECT_EQ(read.completions.load(), 1);
    std::memset(region->data(), 0, region->size());
  }
}

TEST_P(Operations, ChunkListsMoveEachPieceToItsPlace) {
  const auto region = make_region(4 << 20);
  const auto content = pattern(region->size());
  std::memcpy(region->data(), content.data(), content.size());
  std::vector<std::byte> local(3 << 20);
  const std::array<Chunk, 4> chunks{Chunk{0, local.data(), 100}, Chunk{5, local.data() + 100, 0},
                                    Chunk{1 << 20, local.data() + 200, 2 << 20},
                                    Chunk{(4 << 20) - 7, local.data() + (2 << 20) + 300, 7}};
  Read read(region->ref(), {});
  read.list = chunks;
  ASSERT_FALSE(read.run(to_owner())) << read.failure.to_text();
  for (const Chunk& chunk : chunks) {
    EXPECT_EQ(std::memcmp(chunk.local, content.data() + chunk.remote_offset, chunk.length), 0);
  }
  EXPECT_EQ(local[100], std::byte{0}) << "beside the chunks";
  std::memset(region->data(), 0, region->size());
  Write write(region->ref(), {});
  write.list = chunks;
  ASSERT_FALSE(write.run(to_owner())) << write.failure.to_text();
  for (const Chunk& chunk : chunks) {
    EXPECT_EQ(std::memcmp(region->data() + chunk.remote_offset, chunk.local, chunk.length), 0);
  }
  EXPECT_EQ(region->data()[100], std::byte{0});
}

TEST_P(Operations, AtomicsReturnTheOldValueAndExecuteOnce) {
  const auto region = make_region(64);
  *region->word(1) = 7;
  Atomic add(OperationKind::fetch_add, region->ref(), 8, 5);
  ASSERT_FALSE(add.run(to_owner())) << add.failure.to_text();
  EXPECT_EQ(add.result, 7U);
  EXPECT_EQ(*region->word(1), 12U);
  Atomic missed(OperationKind::compare_swap, region->ref(), 8, 100, 11);
  ASSERT_FALSE(missed.run(to_owner()));
  EXPECT_EQ(missed.result, 12U);
  EXPECT_EQ(*region->word(1), 12U);
  Atomic hit(OperationKind::compare_swap, region->ref(), 8, 100, 12);
  ASSERT_FALSE(hit.run(to_owner()));
  EXPECT_EQ(hit.result, 12U);
  Atomic swap(OperationKind::swap, region->ref(), 8, 3);
  ASSERT_FALSE(swap.run(to_owner()));
  EXPECT_EQ(swap.result, 100U);
  EXPECT_EQ(*region->word(1), 3U);
}

TEST_P(Operations, AtomicsOfManyThreadsAndOfTheOwnerAddUp) {
  const auto region = make_region(64);
  Atomic first(OperationKind::fetch_add, region->ref(), 0, 0);
  ASSERT_FALSE(first.run(to_owner()));
  constexpr int kAdds = 2000;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < kAdds; ++turn) {
        Atomic add(OperationKind::fetch_add, region->ref(), 0, 1);
        ASSERT_FALSE(add.run(to_owner()));
      }
    });
  }
  for (int turn = 0; turn < kAdds; ++turn) {
    std::atomic_ref(*region->word(0)).fetch_add(1);
  }
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(*region->word(0), 5U * kAdds);
}

TEST_P(Operations, AMisalignedAtomicIsRefusedAndChangesNothing) {
  const auto region = make_region(64);
  Atomic add(OperationKind::fetch_add, region->ref(), 4, 1);
  EXPECT_TRUE(add.run(to_owner()));
  EXPECT_EQ(add.code(), errc::misaligned);
  EXPECT_EQ(*region->word(0), 0U);
  EXPECT_EQ(*region->word(1), 0U);
}

TEST_P(Operations, ARightThatTheReferenceOrTheRegionLacksIsDenied) {
  const auto readable = make_region(64, Access::read);
  auto bytes = pattern(64);
  Write forged(readable->ref(Access::all), bytes);
  EXPECT_TRUE(forged.run(to_owner()));
  EXPECT_EQ(forged.code(), errc::access_denied) << "the reference claims rights that the owner never gave";
  Atomic atomic(OperationKind::swap, readable->ref(Access::all), 0, 1);
  EXPECT_TRUE(atomic.run(to_owner()));
  EXPECT_EQ(atomic.code(), errc::access_denied);
  const auto writable = make_region(64);
  Write narrowed(writable->ref(Access::read), bytes);
  EXPECT_TRUE(narrowed.run(to_owner()));
  EXPECT_EQ(narrowed.code(), errc::access_denied);
  Read denied(writable->ref(Access::write), bytes);
  EXPECT_TRUE(denied.run(to_owner()));
  EXPECT_EQ(denied.code(), errc::access_denied);
  for (std::size_t word = 0; word < 8; ++word) {
    EXPECT_EQ(*readable->word(word), 0U);
    EXPECT_EQ(*writable->word(word), 0U);
  }
}

TEST_P(Operations, AForgedReferenceMisses) {
  const auto region = make_region(4096);
  std::vector<std::byte> bytes(64);
  const auto refused = [&](auto change) {
    RemoteRegion forged = region->part(0, 64);
    change(forged);
    Read read(forged, bytes);
    read.run(to_owner());
    return read.code();
  };
  EXPECT_EQ(refused([](RemoteRegion& r) { r.generation = Generation(r.generation.value() + 1); }), errc::revoked);
  EXPECT_EQ(refused([](RemoteRegion& r) { r.slot = RegionSlot(r.slot.value() + 1); }), errc::revoked);
  EXPECT_EQ(refused([](RemoteRegion& r) { r.slot = RegionSlot(limits::kRegions + 5); }), errc::revoked);
  EXPECT_EQ(refused([](RemoteRegion& r) { r.slot = RegionSlot(UINT32_MAX); }), errc::revoked);
  EXPECT_EQ(refused([](RemoteRegion& r) { r.slot = RegionSlot(0); }), errc::revoked);
  EXPECT_EQ(refused([](RemoteRegion& r) { r.keys[0].address += 64; }), errc::access_denied);
  EXPECT_EQ(refused([](RemoteRegion& r) { r.keys[0].key += 1; }), errc::access_denied);
  EXPECT_EQ(refused([](RemoteRegion& r) { r.size += 64; }), errc::access_denied);
  EXPECT_EQ(refused([](RemoteRegion& r) { r.generation = {}; }), errc::invalid_argument);
  EXPECT_EQ(refused([](RemoteRegion&) {}), errc{});
}

TEST_P(Operations, ANotificationComesAfterTheBytes) {
  const auto region = make_region(1 << 20);
  Tags tags;
  const std::size_t last = region->size() / 8 - 1;
  tags.watched = region->word(last);
  owner.core.regions().set_notifications(region->handle(), &tags);
  std::vector<std::byte> bytes(region->size());
  for (std::uint64_t tag = 1; tag <= 20; ++tag) {
    std::memcpy(bytes.data() + last * 8, &tag, sizeof tag);
    Write write(region->ref(), bytes);
    write.notify = true;
    write.tag = tag;
    ASSERT_FALSE(write.run(to_owner())) << write.failure.to_text();
    ASSERT_EQ(tags.tags().size(), tag);
    EXPECT_EQ(tags.tags().back(), tag);
    EXPECT_EQ(tags.seen().back(), tag);
  }
  tags.limit = 20;
  Write refused(region->part(0, 8), std::span(bytes).first(8));
  refused.notify = true;
  EXPECT_TRUE(refused.run(to_owner()));
  EXPECT_EQ(refused.code(), errc::overloaded);
  EXPECT_EQ(refused.failure.effect(), Effect::unknown);
  Write empty(region->part(0, 0), {});
  empty.notify = true;
  EXPECT_TRUE(empty.run(to_owner()));
  tags.limit = SIZE_MAX;
  Write empty_again(region->part(0, 0), {});
  empty_again.notify = true;
  empty_again.tag = 99;
  EXPECT_FALSE(empty_again.run(to_owner()));
  EXPECT_EQ(tags.tags().back(), 99U);
}

TEST_P(Operations, ANotificationThatNobodyTakesSaysThatTheBytesAreThere) {
  const auto region = make_region(64);
  auto bytes = pattern(64);
  Write write(region->ref(), bytes);
  write.notify = true;
  EXPECT_TRUE(write.run(to_owner()));
  EXPECT_EQ(write.code(), errc::unsupported);
  EXPECT_EQ(write.failure.effect(), Effect::unknown);
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), region->data()));
}

TEST_P(Operations, ARevokedReferenceSaysSoAndTouchesNothing) {
  auto region = make_region(64);
  std::vector<std::byte> bytes(64);
  Read first(region->ref(), bytes);
  ASSERT_FALSE(first.run(to_owner()));
  ASSERT_TRUE(region->revoke());
  auto written = pattern(64);
  Write write(region->ref(), written);
  EXPECT_TRUE(write.run(to_owner()));
  EXPECT_EQ(write.code(), errc::revoked);
  EXPECT_EQ(write.failure.effect(), Effect::none);
  Read read(region->ref(), bytes);
  EXPECT_TRUE(read.run(to_owner()));
  EXPECT_EQ(read.code(), errc::revoked);
  Atomic add(OperationKind::fetch_add, region->ref(), 0, 1);
  EXPECT_TRUE(add.run(to_owner()));
  EXPECT_EQ(add.code(), errc::revoked);
  EXPECT_EQ(*region->word(0), 0U);
}

TEST_P(Operations, AStaleReferenceNeverReachesWhatCameAfterAThousandTimes) {
  std::vector<std::byte> canary(256, std::byte{0xCA});
  std::vector<std::byte> got(256);
  std::vector<std::byte> other(256 + 64);
  for (int round = 0; round < 1000; ++round) {
    RemoteRegion stale;
    {
      std::optional<TestRegion> first;
      GetParam() == Memory::segment ? first.emplace(owner, 256) : first.emplace(owner, std::span(other).first(256));
      stale = first->ref();
    }
    std::optional<TestRegion> second;
    GetParam() == Memory::segment ? second.emplace(owner, 256) : second.emplace(owner, std::span(other).first(256));
    std::memcpy(second->data(), canary.data(), 256);
    ASSERT_EQ(second->ref().slot, stale.slot) << "the test means to reuse the slot";
    ASSERT_EQ(second->ref().keys[0].address, stale.keys[0].address) << "the test means to reuse the address";
    got.assign(256, std::byte{1});
    Read read(stale, got);
    ASSERT_TRUE(read.run(to_owner()));
    ASSERT_EQ(read.code(), errc::revoked);
    ASSERT_EQ(std::count(got.begin(), got.end(), std::byte{0xCA}), 0);
    std::vector<std::byte> bytes(256, std::byte{2});
    Write write(stale, bytes);
    ASSERT_TRUE(write.run(to_owner()));
    ASSERT_EQ(write.code(), errc::revoked);
    ASSERT_EQ(std::memcmp(second->data(), canary.data(), 256), 0);
    Read good(second->ref(), got);
    ASSERT_FALSE(good.run(to_owner()));
    ASSERT_EQ(got, canary);
  }
}

TEST_P(Operations, FlushAndTransmittedWritesCompleteAtOnce) {
  const auto region = make_region(64);
  auto bytes = pattern(64);
  Write write(region->ref(), bytes);
  write.completion = Completion::transmitted;
  ASSERT_FALSE(write.run(to_owner()));
  Call flush;
  flush.kind = OperationKind::flush;
  ASSERT_FALSE(flush.run(to_owner()));
  EXPECT_TRUE(flush.was_inline());
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), region->data()));
}

TEST(OperationsOnTheStack, WorkToo) {
  TestNode owner;
  TestNode reader;
  alignas(8) std::array<std::byte, 5000> stack{};
  TestRegion region(owner, stack);
  auto bytes = pattern(stack.size());
  Write write(region.ref(), bytes);
  ASSERT_FALSE(write.run(reader.peer(owner)));
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), stack.begin()));
  std::vector<std::byte> got(stack.size());
  Read read(region.ref(), got);
  ASSERT_FALSE(read.run(reader.peer(owner)));
  EXPECT_EQ(got, bytes);
}

TEST_P(Operations, BothDirectionsWorkAtOnce) {
  const auto region = make_region(64);
  TestRegion mine(reader, 64);
  *mine.word(0) = 77;
  std::uint64_t got = 0;
  Read back(mine.part(0, 8), std::as_writable_bytes(std::span(&got, 1)));
  ASSERT_FALSE(back.run(owner.peer(reader))) << back.failure.to_text();
  EXPECT_EQ(got, 77U);
  Read there(region->part(0, 8), std::as_writable_bytes(std::span(&got, 1)));
  ASSERT_FALSE(there.run(to_owner()));
  EXPECT_EQ(got, 0U);
}

}  // namespace
}  // namespace ferry::shm
