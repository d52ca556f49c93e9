#include <ferry/shm/segment_allocator.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <sanitizers.hpp>

namespace ferry::shm {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

SharedBlock take(SharedMemory& memory, std::size_t bytes, std::size_t alignment = 16) {
  auto block = memory.allocate(bytes, alignment);
  EXPECT_TRUE(block) << block.error().to_text();
  return block ? *block : SharedBlock{};
}

// Bytes of the file that have pages.
std::uint64_t charged(int descriptor) {
  struct stat status {};
  ::fstat(descriptor, &status);
  return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

TEST(SegmentAllocator, SmallBlocksShareASegmentAndLargeOnesHaveTheirOwn) {
  SegmentAllocator allocator;
  const SharedBlock a = take(allocator, 100);
  const SharedBlock b = take(allocator, 1000);
  const SharedBlock large = take(allocator, kMiB);
  EXPECT_EQ(a.place.segment, b.place.segment);
  EXPECT_NE(a.place.segment, large.place.segment);
  EXPECT_EQ(large.place.offset, 0U);
  EXPECT_EQ(allocator.usage().segments, 2U);
  allocator.deallocate(large.memory, kMiB, 16);
  EXPECT_EQ(allocator.usage().segments, 1U);
  const SharedBlock next = take(allocator, kMiB);
  EXPECT_GT(next.place.segment, large.place.segment) << "a number was used again";
  allocator.deallocate(next.memory, kMiB, 16);
  allocator.deallocate(a.memory, 100, 16);
  allocator.deallocate(b.memory, 1000, 16);
}

TEST(SegmentAllocator, ReservesWhatItGrants) {
  SegmentAllocator allocator;
  const SharedBlock large = take(allocator, 3 * kMiB);
  const auto opened = allocator.open(large.place.segment, false);
  ASSERT_TRUE(opened);
  EXPECT_GE(charged(opened->descriptor.get()), 3 * kMiB);
  allocator.deallocate(large.memory, 3 * kMiB, 16);
  EXPECT_EQ(charged(opened->descriptor.get()), 0U) << "pages were kept though a peer still has the file open";
}

TEST(SegmentAllocator, AlignsAsAskedAlsoBeyondAPage) {
  SegmentAllocator allocator;
  for (std::size_t alignment = 1; alignment <= 4 * kMiB; alignment *= 2) {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{4097}, kMiB}) {
      const SharedBlock block = take(allocator, bytes, alignment);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.memory) % alignment, 0U);
      std::memset(block.memory, 1, bytes);
      allocator.deallocate(block.memory, bytes, alignment);
    }
  }
  EXPECT_LE(allocator.usage().segments, 1U);
  EXPECT_FALSE(allocator.allocate(8, 24));
}

TEST(SegmentAllocator, KnowsWhereItsMemoryLies) {
  SegmentAllocator allocator;
  const SharedBlock block = take(allocator, 1000);
  const SegmentPlace inside = allocator.place_of(block.memory + 10, 900);
  EXPECT_EQ(inside.segment, block.place.segment);
  EXPECT_EQ(inside.offset, block.place.offset + 10);
  EXPECT_EQ(allocator.place_of(block.memory, 100 * kMiB).segment, 0U) << "beyond the segment";
  EXPECT_EQ(allocator.place_of(block.memory, UINT64_MAX).segment, 0U);
  std::byte on_the_stack{};
  EXPECT_EQ(allocator.place_of(&on_the_stack, 1).segment, 0U);
  EXPECT_EQ(allocator.place_of(nullptr, 1).segment, 0U);
  allocator.deallocate(block.memory, 1000, 16);
}

TEST(SegmentAllocator, TwoMappingsOfASegmentAreTheSameMemoryAndReadersCannotWrite) {
  SegmentAllocator allocator;
  const SharedBlock block = take(allocator, kMiB);
  std::memset(block.memory, 7, kMiB);
  const auto reader = allocator.open(block.place.segment, false);
  ASSERT_TRUE(reader);
  const auto mapped = MemoryFile::map(reader->descriptor, reader->size, false, "test");
  ASSERT_TRUE(mapped) << mapped.error().to_text();
  EXPECT_EQ(mapped->data()[kMiB - 1], std::byte{7});
  EXPECT_FALSE(MemoryFile::map(reader->descriptor, reader->size, true, "test"))
      << "writable from a reader's descriptor";
  EXPECT_LT(::write(reader->descriptor.get(), "x", 1), 0);
  const auto writer = allocator.open(block.place.segment, true);
  ASSERT_TRUE(writer);
  const auto writable = MemoryFile::map(writer->descriptor, writer->size, true, "test");
  ASSERT_TRUE(writable);
  writable->data()[5] = std::byte{9};
  EXPECT_EQ(block.memory[5], std::byte{9});
  EXPECT_NE(::ftruncate(writer->descriptor.get(), 0), 0) << "a peer could shrink the segment and cause SIGBUS";
  EXPECT_FALSE(allocator.open(block.place.segment + 1, false));
  allocator.deallocate(block.memory, kMiB, 16);
  EXPECT_EQ(mapped->data()[kMiB - 1], std::byte{0});
}

TEST(SegmentAllocator, QuarantinedMemoryIsNotHandedOutAgainUntilItIsReleased) {
  SegmentAllocator allocator;
  const SharedBlock keep = take(allocator, 64);
  const SharedBlock block = take(allocator, 64);
  allocator.quarantine({block.place.segment, block.place.offset + 32}, 8);
  allocator.deallocate(block.memory, 64, 16);
  EXPECT_EQ(allocator.usage().parked, 1U);
  const SharedBlock next = take(allocator, 64);
  EXPECT_NE(next.memory, block.memory);
  allocator.release({block.place.segment, block.place.offset + 32}, 8);
  EXPECT_EQ(allocator.usage().parked, 0U);
  EXPECT_EQ(take(allocator, 64).memory, block.memory);
  allocator.deallocate(block.memory, 64, 16);
  allocator.deallocate(next.memory, 64, 16);

  const SharedBlock large = take(allocator, kMiB);
  allocator.quarantine(large.place, kMiB);
  allocator.deallocate(large.memory, kMiB, 16);
  EXPECT_EQ(allocator.usage().segments, 2U);
  allocator.release(large.place, kMiB);
  EXPECT_EQ(allocator.usage().segments, 1U);
  allocator.deallocate(keep.memory, 64, 16);
}

class Recorder final : public SegmentObserver {
 public:
  void on_segment_gone(std::uint32_t segment) noexcept override { gone.push_back(segment); }
  std::vector<std::uint32_t> gone;
};

TEST(SegmentAllocator, TellsWhichSegmentsAreGone) {
  SegmentAllocator allocator;
  Recorder recorder;
  allocator.set_observer(&recorder);
  const SharedBlock large = take(allocator, kMiB);
  allocator.deallocate(large.memory, kMiB, 16);
  EXPECT_EQ(recorder.gone, std::vector<std::uint32_t>{large.place.segment});
  allocator.set_observer(nullptr);
  const SharedBlock other = take(allocator, kMiB);
  allocator.deallocate(other.memory, kMiB, 16);
  EXPECT_EQ(recorder.gone.size(), 1U);
}

TEST(SegmentAllocator, ThreadsAllocateAtOnceAndEverythingComesBack) {
  SegmentAllocator allocator;
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&allocator, thread] {
      std::vector<std::pair<std::byte*, std::size_t>> mine;
      for (std::size_t round = 0; round < 600; ++round) {
        const std::size_t bytes = round % 50 == 49 ? kMiB : 1 + round * 37 % 5000;
        const SharedBlock block = take(allocator, bytes);
        std::memset(block.memory, static_cast<int>(thread + 1), bytes);
        mine.emplace_back(block.memory, bytes);
        if (round % 3 == 2) {
          const auto [memory, size] = mine[round % mine.size()];
          EXPECT_EQ(memory[size - 1], static_cast<std::byte>(thread + 1));
          allocator.deallocate(memory, size, 16);
          mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(round % mine.size()));
        }
      }
      for (const auto& [memory, size] : mine) {
        allocator.deallocate(memory, size, 16);
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_LE(allocator.usage().segments, 1U);
}

std::size_t open_descriptors() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

TEST(SegmentAllocator, KeepsNoDescriptorOfWhatIsGone) {
  const std::size_t before = open_descriptors();
  {
    SegmentAllocator allocator;
    for (int round = 0; round < 200; ++round) {
      const SharedBlock block = take(allocator, kMiB);
      allocator.deallocate(block.memory, kMiB, 16);
    }
    EXPECT_LE(open_descriptors(), before + 1);
  }
  EXPECT_EQ(open_descriptors(), before);
}

// Runs `body` in a child and expects that it returns true; a signal or false fails.
template <class Body>
void expect_in_child(Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(body() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(SegmentAllocator, ALimitOnFileSizesIsAnErrorAndNoSignal) {
  expect_in_child([] {
    const rlimit small{4 * kMiB, 4 * kMiB};
    ::setrlimit(RLIMIT_FSIZE, &small);
    SegmentAllocator allocator;
    const auto refused = allocator.allocate(8 * kMiB, 16);
    return allocator.allocate(2 * kMiB, 16).has_value() && !refused &&
           refused.error().code() == errc::resource_exhausted &&
           refused.error().detail().find("ulimit -f") != std::string::npos;
  });
}

TEST(SegmentAllocator, ALimitOnTheAddressSpaceIsAnError) {
#if FERRY_TEST_SANITIZED
  GTEST_SKIP() << "sanitizers need the address space";
#endif
  expect_in_child([] {
    const rlimit small{std::size_t{1} << 30, std::size_t{1} << 30};
    ::setrlimit(RLIMIT_AS, &small);
    SegmentAllocator allocator(MemoryBudget{}, {.reserve = false});
    const auto refused = allocator.allocate(std::size_t{4} << 30, 16);
    return !refused && refused.error().code() == errc::resource_exhausted;
  });
}

}  // namespace
}  // namespace ferry::shm
