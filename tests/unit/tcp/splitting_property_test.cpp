// Splitting as a property: any list of chunks, shorter and longer than a piece, of any alignment, moves exactly its
// bytes.
#include <gmock/gmock.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cstring>

#include "tcp_node.hpp"

namespace ferry::tcp::test {
namespace {

constexpr std::size_t kMemory = std::size_t{3} << 20;  // several pieces of 1 MiB

struct TcpSplitting : testing::Test {
  TcpSplitting() { loop.start(); }

  TestLoop loop;
  TestNode owner{loop, {.id = 1}};
  TestNode initiator{loop, {.id = 2}};
};

// Lengths around the powers of two up to the memory's size, and any others.
rc::Gen<std::size_t> any_length() {
  return rc::gen::map(
      rc::gen::tuple(rc::gen::inRange(0, 22), rc::gen::inRange(-2, 3)), [](const std::tuple<int, int>& drawn) {
        const auto length = static_cast<std::ptrdiff_t>(std::size_t{1} << std::get<0>(drawn)) + std::get<1>(drawn);
        return std::min(static_cast<std::size_t>(std::max<std::ptrdiff_t>(length, 0)), kMemory);
      });
}

// Chunks whose places in both memories do not overlap each other (so that their order does not show).
std::vector<Chunk> any_chunks(std::vector<std::byte>& local) {
  std::vector<Chunk> chunks;
  std::size_t at_remote = 0;
  std::size_t at_local = 0;
  for (const auto& [gap, length, local_gap] : *rc::gen::container<std::vector<std::tuple<int, std::size_t, int>>>(
           rc::gen::tuple(rc::gen::inRange(0, 20), any_length(), rc::gen::inRange(0, 20)))) {
    at_remote += static_cast<std::size_t>(gap);
    at_local += static_cast<std::size_t>(local_gap);
    if (at_remote + length > kMemory || at_local + length > kMemory) {
      break;
    }
    chunks.push_back({at_remote, local.data() + at_local, length});
    at_remote += length;
    at_local += length;
  }
  return chunks;
}

RC_GTEST_FIXTURE_PROP(TcpSplitting, MovesExactlyTheBytesOfAnyListOfChunks, ()) {
  static const std::array<std::vector<std::byte>, 2> patterns{pattern(kMemory, 1), pattern(kMemory, 2)};
  std::vector<std::byte> remote = patterns[0];
  std::vector<std::byte> local = patterns[1];
  const RegionHandle handle = owner.add(remote);
  const RemoteRegion region = owner.reference(handle);
  Peer& peer = initiator.peer(owner);
  const std::vector<Chunk> chunks = any_chunks(local);
  const bool is_write = *rc::gen::arbitrary<bool>();
  std::vector<std::byte> expected = is_write ? remote : local;
  for (const Chunk& chunk : chunks) {
    if (chunk.length > 0) {
      const std::size_t at_local = static_cast<std::size_t>(chunk.local - local.data());
      std::memcpy(is_write ? expected.data() + chunk.remote_offset : expected.data() + at_local,
                  is_write ? local.data() + at_local : remote.data() + chunk.remote_offset, chunk.length);
    }
  }
  const std::vector<std::byte> unchanged = is_write ? local : remote;
  Call call;
  call.kind = is_write ? OperationKind::write : OperationKind::read;
  call.region = region;
  call.list = chunks;
  RC_ASSERT(call.start(peer).succeeds());
  RC_ASSERT((is_write ? remote : local) == expected);
  RC_ASSERT((is_write ? local : remote) == unchanged);
  owner.core.regions().revoke(handle);
  owner.core.regions().release(handle);
}

}  // namespace
}  // namespace ferry::tcp::test
