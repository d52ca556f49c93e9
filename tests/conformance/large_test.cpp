#include <array>
#include <cstdint>
#include <system_error>

#include <sys/mman.h>
#include <unistd.h>

#include "patterns.hpp"
#include "scenario.hpp"

namespace ferry::conformance {
namespace {

FERRY_CONFORMANCE(Large);

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// Addresses without memory behind them until they are touched.
class Sparse {
 public:
  explicit Sparse(std::uint64_t size) : size_(size) {
    void* base = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
      fail("mmap of addresses");
    }
    base_ = static_cast<std::byte*>(base);
  }
  ~Sparse() { ::munmap(base_, size_); }
  Sparse(const Sparse&) = delete;
  Sparse& operator=(const Sparse&) = delete;
  std::span<std::byte> bytes() const noexcept { return {base_, size_}; }

  // Lets [from, from + period * count) be `count` views of the same memory.
  void repeat(std::uint64_t from, std::uint64_t period, std::uint64_t count) {
    const int file = ::memfd_create("conformance", MFD_CLOEXEC);
    if (file < 0 || ::ftruncate(file, static_cast<off_t>(period)) != 0) {
      fail("memfd_create");
    }
    for (std::uint64_t index = 0; index < count; ++index) {
      if (::mmap(base_ + from + index * period, period, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) ==
          MAP_FAILED) {
        fail("mmap of a view");
      }
    }
    ::close(file);
  }

 private:
  std::byte* base_ = nullptr;
  std::uint64_t size_;
};

Task<void> offsets_beyond_4_gib(Cluster& cluster) {
  constexpr std::uint64_t kSize = 5 * kGiB;
  constexpr std::uint64_t kAlias = 4 * kGiB;
  constexpr std::size_t kBytes = 64;
  const Sparse memory(kSize);
  RDMABuffer buffer = cluster.context(1).register_memory(memory.bytes());
  const BufferRef ref = carry(buffer.ref(), cluster, 0);
  const std::array<std::uint64_t, 5> offsets{0, 2 * kGiB - 32, kAlias - 32, kAlias, kSize - kBytes};
  for (std::size_t index = 0; index < offsets.size(); ++index) {
    std::array<std::byte, kBytes> local{};
    fill_pattern(local, index + 1);
    co_await ref.subrange(offsets[index], kBytes).write_from(std::span(local));
    const Chunk chunk{offsets[index], local.data(), kBytes};
    local.fill(std::byte{0});
    co_await ref.read_into(std::span<const Chunk>(&chunk, 1));
    EXPECT_TRUE(is_pattern(local, index + 1)) << "at " << offsets[index];
    EXPECT_TRUE(is_pattern(memory.bytes().subspan(offsets[index], kBytes), index + 1)) << "at " << offsets[index];
    const std::uint64_t old = co_await ref.fetch_add(1, {.offset = offsets[index]});
    EXPECT_EQ(std::memcmp(&old, local.data(), sizeof(old)), 0);
    ::memset(memory.bytes().data() + offsets[index], 0, kBytes);
    for (const std::uint64_t other : offsets) {  // what a truncated offset would have hit
      EXPECT_TRUE(all_are(memory.bytes().subspan(other % kAlias, kBytes), std::byte{0})) << other % kAlias;
    }
  }
}
TEST_P(Large, OffsetsBeyond4GiBReachTheirBytesAndNotTheirAliases) {
  play(offsets_beyond_4_gib);
}

// Both sides are views of little memory, with a tail of their own behind 4 GiB.
Task<void> length_beyond_4_gib(Cluster& cluster) {
  constexpr std::uint64_t kPeriod = std::uint64_t{64} << 20;
  constexpr std::uint64_t kTail = 4'096;
  constexpr std::uint64_t kSize = 4 * kGiB + kTail - 24;
  Sparse owner(4 * kGiB + kTail);
  Sparse local(4 * kGiB + kTail);
  owner.repeat(0, kPeriod, 4 * kGiB / kPeriod);
  local.repeat(0, kPeriod, 4 * kGiB / kPeriod);
  RDMABuffer buffer = cluster.context(1).register_memory(owner.bytes());
  const BufferRef ref = carry(buffer.ref(), cluster, 0).subrange(0, kSize);

  const auto tail = [](const Sparse& memory) { return memory.bytes().subspan(4 * kGiB, kTail); };
  fill_pattern(owner.bytes().first(kTail), 1);
  fill_pattern(owner.bytes().subspan(kPeriod - kTail, kTail), 2);
  fill_pattern(tail(owner), 3);
  co_await ref.read_into(local.bytes().first(kSize));
  EXPECT_TRUE(is_pattern(local.bytes().first(kTail), 1));
  EXPECT_TRUE(is_pattern(local.bytes().subspan(kPeriod - kTail, kTail), 2));
  EXPECT_TRUE(is_pattern(tail(local).first(kTail - 24), 3));
  EXPECT_TRUE(all_are(tail(local).subspan(kTail - 24), std::byte{0}));

  fill_pattern(local.bytes().first(kTail), 4);
  fill_pattern(tail(local), 5);
  co_await ref.write_from(local.bytes().first(kSize));
  EXPECT_TRUE(is_pattern(owner.bytes().first(kTail), 4));
  EXPECT_TRUE(is_pattern(tail(owner).first(kTail - 24), 5));
  EXPECT_TRUE(is_pattern(tail(owner).subspan(kTail - 24), 3, kTail - 24)) << "behind the range";
}
TEST_P(Large, OneOperationMovesMoreThan4GiB) {
  if (!traits().threads) {
    return;  // a million simulated packets show nothing that the splitting of smaller ones does not
  }
  play(length_beyond_4_gib);
}

}  // namespace
}  // namespace ferry::conformance
