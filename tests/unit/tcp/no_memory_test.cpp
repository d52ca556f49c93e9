// A connection for which there is no memory: each buffer that one needs, at either end, is refused once.
#include <cstddef>
#include <new>

#include <gmock/gmock.h>

#include <denied_call.hpp>

#include "tcp_node.hpp"

// operator new(std::size_t, std::align_val_t), which gives the buffers of a socket their pages.
extern "C" {
void* __real__ZnwmSt11align_val_t(std::size_t size, std::align_val_t alignment);
void* __wrap__ZnwmSt11align_val_t(std::size_t size, std::align_val_t alignment);
}

void* __wrap__ZnwmSt11align_val_t(std::size_t size, std::align_val_t alignment) {
  constexpr std::size_t kBuffer = std::size_t{64} << 10;  // at least
  if (size >= kBuffer && ferry::test::DeniedCall::is_now()) {
    throw std::bad_alloc();
  }
  return __real__ZnwmSt11align_val_t(size, alignment);
}

namespace ferry::tcp::test {
namespace {

using testing::HasSubstr;

TEST(TcpNoMemory, OfAConnectionIsToldByItAloneAndTheNextOneIsMade) {
  TestLoop loop;
  TestNode owner(loop, {.id = 1});
  TestNode present(loop, {.id = 2});
  loop.start();
  std::vector<std::byte> remote(4096);
  const RemoteRegion region = owner.reference(owner.add(remote));
  std::vector<std::byte> word(8);
  EXPECT_TRUE(read(present.peer(owner), region, word)->succeeds());
  std::size_t refused = 0;
  std::uint64_t next_id = 3;
  for (bool was_denied = true; was_denied;) {
    TestNode late(loop, {.id = next_id++});
    Failure failure;
    {
      const ferry::test::DeniedCall denied(static_cast<int>(refused) + 1);
      failure = read(late.peer(owner), region, word)->outcome();
      was_denied = denied.has_happened();
    }
    if (was_denied) {
      ++refused;
      ASSERT_TRUE(failure) << refused;
      EXPECT_THAT(failure.to_text(), HasSubstr("bytes of a connection's buffers; allocate less")) << refused;
    }
    EXPECT_TRUE(read(present.peer(owner), region, word)->succeeds()) << refused;
    EXPECT_TRUE(read(late.peer(owner), region, word)->succeeds()) << "after " << failure.to_text();
    late.core.shut_down();
  }
  EXPECT_EQ(refused, 4U) << "two buffers at each end";
  EXPECT_TRUE(present.sink.failures.empty());
  // What the owner refused it has in its log; what an initiator gave up it has heard of or not, by chance.
  EXPECT_THAT(owner.log.lines(), testing::IsSupersetOf({HasSubstr("no memory for"), HasSubstr("no memory for")}));
  present.core.shut_down();
  owner.core.shut_down();
}

}  // namespace
}  // namespace ferry::tcp::test
