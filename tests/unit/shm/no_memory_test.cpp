// A connection for which there is no memory: each mapping that one needs, at either end, is refused once.
#include <sys/mman.h>

#include <cerrno>

#include <denied_call.hpp>

#include "test_node.hpp"

extern "C" {
void* __real_mmap(void* at, std::size_t size, int protection, int flags, int descriptor, off_t offset);
void* __wrap_mmap(void* at, std::size_t size, int protection, int flags, int descriptor, off_t offset);
}

void* __wrap_mmap(void* at, std::size_t size, int protection, int flags, int descriptor, off_t offset) {
  if (ferry::test::DeniedCall::is_now()) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return __real_mmap(at, size, protection, flags, descriptor, offset);
}

namespace ferry::shm {
namespace {

using namespace testing;

std::string read_once(TestNode& node, TestNode& owner, const TestRegion& region) {
  std::vector<std::byte> bytes(region.size());
  Read read(region.ref(), bytes);
  return read.run(node.peer(owner)).to_text();
}

TEST(NoMemory, OfAConnectionIsToldByItAloneAndTheNextOneIsMade) {
  TestNode owner;
  TestRegion region(owner, 64);
  TestNode present;
  ASSERT_EQ(read_once(present, owner, region), "no failure");
  int refused = 0;
  bool was_denied = true;
  for (int nth = 1; was_denied; ++nth) {
    TestNode late;
    std::string text;
    {
      const test::DeniedCall denied(nth);
      text = read_once(late, owner, region);
      was_denied = denied.has_happened();
    }
    if (was_denied) {
      ++refused;
      EXPECT_NE(text.find("Cannot allocate memory (ENOMEM); allocate less"), std::string::npos) << nth << ": " << text;
    }
    EXPECT_EQ(read_once(present, owner, region), "no failure") << nth;
    EXPECT_EQ(read_once(late, owner, region), "no failure") << nth << ": after " << text;
  }
  EXPECT_TRUE(present.events.failures().empty());
  // Of the owner: the initiator's board and the channel; of the initiator: the channel, the owner's board, the segment.
  EXPECT_GE(refused, 5);
}

}  // namespace
}  // namespace ferry::shm
