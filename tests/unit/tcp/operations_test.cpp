#include <sys/mman.h>

#include <gmock/gmock.h>

#include <thread>

#include "tcp_node.hpp"

namespace ferry::tcp::test {
namespace {

// Two nodes in one process, over IPv4 and over IPv6.
class TcpOperations : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(owner.listening) << owner.listening.error().to_text();
    ASSERT_TRUE(initiator.listening) << initiator.listening.error().to_text();
    peer = &initiator.peer(owner);
    loop.start();
  }
  void TearDown() override {
    initiator.core.shut_down();
    owner.core.shut_down();
    EXPECT_EQ(loop.source_count(), 0u);
    EXPECT_TRUE(initiator.log.lines().empty()) << initiator.log.lines().front();
    EXPECT_TRUE(owner.log.lines().empty()) << owner.log.lines().front();
  }

  RemoteRegion add(std::span<std::byte> memory, Access rights = Access::all) {
    handle = owner.add(memory, rights);
    return owner.reference(handle);
  }
  void remove() {
    owner.core.regions().revoke(handle);
    owner.core.regions().release(handle);
  }

  TestLoop loop;
  TestNode initiator{loop, {.id = 1, .options = {.host = GetParam()}}};
  TestNode owner{loop, {.id = 2, .options = {.host = GetParam()}}};
  Peer* peer = nullptr;
  RegionHandle handle{};
};

// `bytes` stand at `offset`, and everything around them is `filler`.
testing::AssertionResult holds_only(std::span<const std::byte> memory, std::size_t offset,
                                    std::span<const std::byte> bytes, std::byte filler) {
  for (std::size_t index = 0; index < memory.size(); ++index) {
    const bool inside = index >= offset && index < offset + bytes.size();
    if (memory[index] != (inside ? bytes[index - offset] : filler)) {
      return testing::AssertionFailure() << "byte " << index << " of " << memory.size() << ", range at " << offset
                                         << " of " << bytes.size() << " bytes";
    }
  }
  return testing::AssertionSuccess();
}

TEST_P(TcpOperations, ReadAndWriteMoveTheRightBytesAndNothingElseForEverySizeAndAlignment) {
  constexpr std::size_t kGuard = 64;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{8}, std::size_t{9},
                                 std::size_t{63}, kSmallBytes - 1, kSmallBytes, kSmallBytes + 1, kPieceBytes - 1,
                                 kPieceBytes, kPieceBytes + 1, 3 * kPieceBytes + 5, std::size_t{5} << 20}) {
    for (const std::size_t shift : {0, 1, 4}) {
      std::vector<std::byte> remote(size + 2 * kGuard, std::byte{0xee});
      std::vector<std::byte> local(size + 2 * kGuard, std::byte{0xdd});
      const auto bytes = pattern(size, size + shift);
      const RemoteRegion region = add(remote);

      std::copy(bytes.begin(), bytes.end(), local.begin() + kGuard);
      ASSERT_TRUE(write(*peer, region, std::span(local).subspan(kGuard, size), kGuard + shift)->succeeds());
      EXPECT_TRUE(holds_only(remote, kGuard + shift, bytes, std::byte{0xee}));

      std::fill(local.begin(), local.end(), std::byte{0xdd});
      ASSERT_TRUE(read(*peer, region, std::span(local).subspan(kGuard - shift, size), kGuard + shift)->succeeds());
      EXPECT_TRUE(holds_only(local, kGuard - shift, bytes, std::byte{0xdd}));
      remove();
    }
  }
}

TEST_P(TcpOperations, ManyOperationsAtOnceEachMoveTheirOwnBytes) {
  constexpr std::size_t kCount = 600;
  constexpr std::size_t kSize = 3000;
  std::vector<std::byte> remote(kCount * kSize);
  const RemoteRegion region = add(remote);
  const auto bytes = pattern(remote.size());
  std::vector<std::unique_ptr<Call>> calls;
  for (std::size_t index = 0; index < kCount; ++index) {
    calls.push_back(write(*peer, region, std::span(bytes).subspan(index * kSize, kSize), index * kSize));
  }
  for (const auto& call : calls) {
    ASSERT_TRUE(call->succeeds());
  }
  EXPECT_EQ(remote, bytes);
  calls.clear();
  std::vector<std::byte> local(remote.size());
  for (std::size_t index = kCount; index-- > 0;) {
    calls.push_back(read(*peer, region, std::span(local).subspan(index * kSize, kSize), index * kSize));
  }
  for (const auto& call : calls) {
    ASSERT_TRUE(call->succeeds());
    EXPECT_EQ(call->completions(), 1);
  }
  EXPECT_EQ(local, bytes);
}

TEST_P(TcpOperations, ThreadsThatStartOperationsAtOnceDoNotDisturbEachOther) {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kSize = 300'000;
  std::vector<std::byte> remote(kThreads * kSize);
  const RemoteRegion region = add(remote);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 20; ++round) {
        const std::size_t size = round % 2 == 0 ? 100 + thread : kSize;
        const auto bytes = pattern(size, thread * 100 + round);
        std::vector<std::byte> local(size);
        const bool moved = write(*peer, region, bytes, thread * kSize)->succeeds() &&
                           read(*peer, region, local, thread * kSize)->succeeds();
        wrong += moved && local == bytes ? 0 : 1;
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, 0);
}

TEST_P(TcpOperations, ChunkListsScatterAndGather) {
  std::vector<std::byte> remote(1 << 20);
  const RemoteRegion region = add(remote);
  const auto bytes = pattern(1 << 20);
  // More than one request, zero lengths, odd lengths, and a large one in the middle.
  std::vector<Chunk> chunks;
  std::vector<std::byte> local(bytes);
  std::size_t at = 0;
  for (std::size_t index = 0; index < 300; ++index) {
    const std::size_t length = index == 150 ? 400'000 : index % 7 == 3 ? 0 : 1 + index * 3;
    chunks.push_back({remote.size() - at - length, local.data() + at, length});
    at += length;
  }
  Call out;
  out.kind = OperationKind::write;
  out.region = region;
  out.list = chunks;
  ASSERT_TRUE(out.start(*peer).succeeds());
  for (const Chunk& chunk : chunks) {
    ASSERT_TRUE(std::equal(chunk.local, chunk.local + chunk.length, remote.begin() + chunk.remote_offset));
  }
  std::fill(local.begin(), local.begin() + at, std::byte{0});
  Call in;
  in.kind = OperationKind::read;
  in.region = region;
  in.list = chunks;
  ASSERT_TRUE(in.start(*peer).succeeds());
  EXPECT_EQ(local, bytes);
}

TEST_P(TcpOperations, EmptyChunkListSucceedsAndTouchesNothing) {
  std::vector<std::byte> remote(64, std::byte{1});
  const std::vector<Chunk> chunks{{0, nullptr, 0}, {64, nullptr, 0}};
  for (const OperationKind kind : {OperationKind::read, OperationKind::write}) {
    Call call;
    call.kind = kind;
    call.region = add(remote);
    call.list = chunks;
    EXPECT_TRUE(call.start(*peer).succeeds());
  }
  EXPECT_EQ(remote, std::vector<std::byte>(64, std::byte{1}));
}

TEST_P(TcpOperations, OffsetsAboveFourGibibytesAreNotCut) {
  constexpr std::uint64_t kSize = std::uint64_t{5} << 30;
  void* memory = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const std::span<std::byte> remote(static_cast<std::byte*>(memory), kSize);
  const RemoteRegion region = add(remote);
  for (const std::uint64_t offset : {std::uint64_t{0}, (std::uint64_t{1} << 32) - 32, kSize - 64}) {
    const auto bytes = pattern(64, offset + 1);
    std::vector<std::byte> local(64);
    ASSERT_TRUE(write(*peer, region, bytes, offset)->succeeds());
    ASSERT_TRUE(read(*peer, region, local, offset)->succeeds());
    EXPECT_EQ(local, bytes);
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), remote.begin() + static_cast<std::ptrdiff_t>(offset)));
  }
  EXPECT_EQ(remote[(kSize - 64) & 0xffffffffU], std::byte{0});
  remove();
  ::munmap(memory, kSize);
}

TEST_P(TcpOperations, AtomicsGiveTheOldValueAndChangeTheWord) {
  alignas(8) std::array<std::uint64_t, 2> words{5, 0};
  const RemoteRegion region = add(std::as_writable_bytes(std::span(words)));
  auto add_seven = atomic(*peer, region, OperationKind::fetch_add, 7);
  ASSERT_TRUE(add_seven->succeeds());
  EXPECT_EQ(add_seven->result, 5u);
  EXPECT_EQ(words[0], 12u);
  auto fails_to_swap = atomic(*peer, region, OperationKind::compare_swap, 99, 11);
  ASSERT_TRUE(fails_to_swap->succeeds());
  EXPECT_EQ(fails_to_swap->result, 12u);
  EXPECT_EQ(words[0], 12u);
  auto swaps = atomic(*peer, region, OperationKind::compare_swap, 99, 12);
  ASSERT_TRUE(swaps->succeeds());
  EXPECT_EQ(words[0], 99u);
  auto swap = atomic(*peer, region, OperationKind::swap, ~std::uint64_t{0}, 0, 8);
  ASSERT_TRUE(swap->succeeds());
  EXPECT_EQ(swap->result, 0u);
  EXPECT_EQ(words[1], ~std::uint64_t{0});
}

TEST_P(TcpOperations, ConcurrentAdditionsAreEachCountedOnce) {
  alignas(8) std::uint64_t word = 0;
  const RemoteRegion region = add(std::as_writable_bytes(std::span(&word, 1)));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&] {
      std::vector<std::unique_ptr<Call>> calls;
      for (int index = 0; index < 2000; ++index) {  // more than may be under way
        calls.push_back(atomic(*peer, region, OperationKind::fetch_add, 1));
      }
      for (const auto& call : calls) {
        call->succeeds();
      }
    });
  }
  for (int index = 0; index < 1000; ++index) {
    std::atomic_ref(word).fetch_add(1);
  }
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(std::atomic_ref(word).load(), 7000u);
}

TEST_P(TcpOperations, AtomicInTheDomainOfANICIsUnsupported) {
  alignas(8) std::uint64_t word = 0;
  const RegionHandle nic = owner.add(std::as_writable_bytes(std::span(&word, 1)), Access::all, AtomicDomain::nic);
  std::vector<std::byte> local(8);
  ASSERT_TRUE(read(*peer, owner.reference(nic), local)->succeeds());
  EXPECT_TRUE(atomic(*peer, owner.reference(nic), OperationKind::fetch_add, 1)->fails_with(errc::unsupported));
}

TEST_P(TcpOperations, MisalignedAtomicIsRefusedByTheOwner) {
  alignas(8) std::array<std::byte, 24> memory{};
  const RemoteRegion region = add(memory);
  EXPECT_TRUE(atomic(*peer, region, OperationKind::fetch_add, 1, 0, 4)->fails_with(errc::misaligned));
  EXPECT_EQ(memory, (std::array<std::byte, 24>{}));
}

TEST_P(TcpOperations, RefusalFailsOneOperationWithTheOwnersReasonAndNoOther) {
  std::vector<std::byte> remote(4096);
  std::vector<std::byte> gone(4096, std::byte{0x55});
  const RemoteRegion stale = add(gone);
  remove();
  const RemoteRegion read_only = owner.reference(owner.add(remote, Access::read));
  const RemoteRegion good = add(remote);
  std::vector<std::byte> local(4096);
  std::vector<std::unique_ptr<Call>> calls;
  for (int index = 0; index < 8; ++index) {
    calls.push_back(read(*peer, index == 2 ? stale : good, local));
  }
  for (int index = 0; index < 8; ++index) {
    EXPECT_TRUE(index == 2 ? calls[2]->fails_with(errc::revoked) : calls[index]->succeeds());
  }
  EXPECT_EQ(calls[2]->failure.effect(), Effect::none);
  EXPECT_THAT(calls[2]->failure.to_text(), testing::HasSubstr("ask it for a new reference"));
  EXPECT_TRUE(write(*peer, stale, local)->fails_with(errc::revoked));
  EXPECT_TRUE(write(*peer, stale, pattern(1 << 20))->fails_with(errc::revoked));
  EXPECT_TRUE(atomic(*peer, stale, OperationKind::fetch_add, 1)->fails_with(errc::revoked));
  EXPECT_TRUE(write(*peer, read_only, local)->fails_with(errc::access_denied));
  const auto outside = read(*peer, good, local, 1);
  EXPECT_TRUE(outside->fails_with(errc::invalid_range));
  EXPECT_EQ(outside->failure.offset(), 1u);
  EXPECT_EQ(outside->failure.length(), 4096u);
  EXPECT_EQ(outside->failure.size(), 4096u);
  EXPECT_TRUE(write(*peer, good, local, ~std::uint64_t{0} - 7)->fails_with(errc::invalid_range));
  EXPECT_TRUE(read(*peer, good, local)->succeeds());
  EXPECT_EQ(gone, std::vector<std::byte>(4096, std::byte{0x55}));
  EXPECT_EQ(owner.tcp->inbounds(), 1u);
}

TEST_P(TcpOperations, WriteWithATagTellsTheOwnerAfterTheBytes) {
  struct Sink final : NotificationSink {
    bool on_notify(std::uint64_t tag) noexcept override {
      seen.emplace_back(tag, remote->front());
      return tag != 99;
    }
    std::vector<std::byte>* remote = nullptr;
    std::vector<std::pair<std::uint64_t, std::byte>> seen;
  } sink;
  std::vector<std::byte> remote(1 << 20);
  sink.remote = &remote;
  const RemoteRegion region = add(remote);
  const auto notify = [&](std::uint64_t tag, std::size_t size) {
    auto call = Call::make(OperationKind::write, region, pattern(size, tag));
    const auto bytes = pattern(size, tag);
    call->single.local = const_cast<std::byte*>(bytes.data());
    call->notify = true;
    call->tag = tag;
    call->start(*peer);
    call->wait();
    return call;
  };
  EXPECT_TRUE(notify(1, 8)->fails_with(errc::unsupported));
  owner.core.regions().set_notifications(handle, &sink);
  EXPECT_TRUE(notify(7, 8)->succeeds());
  EXPECT_TRUE(notify(8, 0)->succeeds());
  EXPECT_TRUE(notify(9, 1 << 20)->succeeds());
  auto full = notify(99, 8);
  EXPECT_TRUE(full->fails_with(errc::overloaded));
  EXPECT_EQ(full->failure.effect(), Effect::unknown);
  ASSERT_EQ(sink.seen.size(), 4u);
  EXPECT_EQ(sink.seen[0], std::pair(std::uint64_t{7}, pattern(8, 7).front()));
  EXPECT_EQ(sink.seen[1].first, 8u);
  EXPECT_EQ(sink.seen[2], std::pair(std::uint64_t{9}, pattern(8, 9).front()));
  EXPECT_TRUE(std::equal(remote.begin() + 8, remote.end(), pattern(1 << 20, 9).begin() + 8));
  owner.core.regions().set_notifications(handle, nullptr);
}

TEST_P(TcpOperations, TransmittedWritesCompleteAtOnceAndAreThereAfterAFlush) {
  std::vector<std::byte> remote(1 << 20);
  const RemoteRegion region = add(remote);
  std::vector<std::byte> local(8);
  ASSERT_TRUE(read(*peer, region, local)->succeeds());  // connected
  EXPECT_TRUE(flush(*peer, region)->was_inline()) << "nothing is unconfirmed";
  for (std::size_t index = 0; index < 100; ++index) {
    const auto bytes = pattern(1000, index);
    const auto call = write(*peer, region, bytes, index * 1000, Completion::transmitted);
    ASSERT_TRUE(call->succeeds());
  }
  const auto flushed = flush(*peer, region);
  EXPECT_FALSE(flushed->was_inline());
  ASSERT_TRUE(flushed->succeeds());
  for (std::size_t index = 0; index < 100; ++index) {
    const auto bytes = pattern(1000, index);
    ASSERT_TRUE(std::equal(bytes.begin(), bytes.end(), remote.begin() + static_cast<std::ptrdiff_t>(index * 1000)));
  }
  const auto bytes = pattern(1 << 20, 5);
  ASSERT_TRUE(write(*peer, region, bytes, 0, Completion::transmitted)->succeeds());
  ASSERT_TRUE(flush(*peer, region)->succeeds());
  EXPECT_EQ(remote, bytes);
}

TEST_P(TcpOperations, RefusalOfATransmittedWriteIsToldByTheNextFlushOnce) {
  std::vector<std::byte> remote(64);
  const RemoteRegion region = add(remote);
  remove();
  std::vector<std::byte> other(64);
  const RemoteRegion good = add(other);
  ASSERT_TRUE(write(*peer, region, pattern(64), 0, Completion::transmitted)->succeeds());
  ASSERT_TRUE(write(*peer, good, pattern(64), 0, Completion::transmitted)->succeeds());
  EXPECT_TRUE(flush(*peer, good)->fails_with(errc::revoked));
  EXPECT_EQ(other, pattern(64));
  EXPECT_TRUE(flush(*peer, good)->succeeds());
}

TEST_P(TcpOperations, MessagesOfEverySizeArriveInOrderAndAreAnswered) {
  std::vector<std::string> sent;
  const std::size_t limit = initiator.core.limits().frame_bytes;
  for (const std::size_t size : {std::size_t{1}, std::size_t{112}, std::size_t{113}, std::size_t{5000}, kPieceBytes,
                                 kPieceBytes + 1, 3 * kPieceBytes, limit, std::size_t{2}}) {
    std::string text(size, static_cast<char>('a' + sent.size()));
    text[0] = 'e';
    sent.push_back(text);
    ASSERT_FALSE(peer->send(message(text)));
  }
  ASSERT_TRUE(eventually([&] { return initiator.sink.count(&RecordingSink::replies) == sent.size(); }));
  EXPECT_EQ(owner.sink.get(&RecordingSink::requests), sent);
  EXPECT_EQ(initiator.sink.get(&RecordingSink::replies), sent);
  EXPECT_EQ(owner.sink.get(&RecordingSink::inbound)->peer(), initiator.core.self());
}

TEST_P(TcpOperations, EmptyMessageArrives) {
  ASSERT_FALSE(peer->send(message("")));
  ASSERT_FALSE(peer->send(message("x")));
  ASSERT_TRUE(eventually([&] { return owner.sink.count(&RecordingSink::requests) == 2; }));
  EXPECT_EQ(owner.sink.get(&RecordingSink::requests), (std::vector<std::string>{"", "x"}));
}

TEST_P(TcpOperations, MessagesAndSmallOperationsAreNotHeldUpByBulk) {
  std::vector<std::byte> remote(std::size_t{256} << 20);
  std::vector<std::byte> local(remote.size());
  const RemoteRegion region = add(remote);
  // Whether a small read and a message begun after `bulk` both ended before it.
  const auto overtakes = [&](const bool reads) {
    auto bulk = reads ? read(*peer, region, local) : write(*peer, region, local);
    std::vector<std::byte> word(8);
    EXPECT_TRUE(read(*peer, region, word)->succeeds());
    const std::size_t before = initiator.sink.count(&RecordingSink::replies);
    EXPECT_FALSE(peer->send(message("e")));
    EXPECT_TRUE(eventually([&] { return initiator.sink.count(&RecordingSink::replies) > before; }));
    const bool first = bulk->completions() == 0;
    EXPECT_TRUE(bulk->succeeds());
    return first;
  };
  // Nothing that is held up by bulk overtakes it in any attempt; on a busy machine, where this thread may be set aside
  // for as long as the bulk takes, what is not held up does in one of a few.
  constexpr int kAttempts = 20;
  for (const bool reads : {true, false}) {
    bool overtook = false;
    for (int attempt = 0; attempt < kAttempts && !overtook && !HasFailure(); ++attempt) {
      overtook = overtakes(reads);
    }
    EXPECT_TRUE(overtook) << (reads ? "bulky reads" : "bulky writes") << " were in front each time";
  }
}

TEST_P(TcpOperations, BothSidesUseEachOthersMemoryAtOnce) {
  std::vector<std::byte> mine(2 << 20);
  std::vector<std::byte> theirs(2 << 20);
  const RemoteRegion to_owner = add(theirs);
  const RemoteRegion to_initiator = initiator.reference(initiator.add(mine));
  Peer& back = owner.peer(initiator);
  const auto bytes = pattern(2 << 20, 3);
  const auto other = pattern(2 << 20, 4);
  auto there = write(*peer, to_owner, bytes);
  auto here = write(back, to_initiator, other);
  ASSERT_TRUE(there->succeeds());
  ASSERT_TRUE(here->succeeds());
  EXPECT_EQ(theirs, bytes);
  EXPECT_EQ(mine, other);
}

TEST_P(TcpOperations, OwnerLearnsWhereTheInitiatorIsReached) {
  std::vector<std::byte> remote(8);
  std::vector<std::byte> local(8);
  ASSERT_TRUE(read(*peer, add(remote), local)->succeeds());
  Peer* back = owner.core.peers().find(initiator.core.self());
  ASSERT_NE(back, nullptr);
  EXPECT_EQ(back->contact().addresses, initiator.core.contact().addresses);
  EXPECT_THAT(back->describe(), testing::HasSubstr("node1"));
  EXPECT_THAT(peer->describe(), testing::HasSubstr("node2"));
  EXPECT_THAT(peer->explain(), testing::HasSubstr("tcp to " + owner.core.contact().addresses.front().text));
}

TEST_P(TcpOperations, AlignedWordsDoNotTear) {
  constexpr std::size_t kWords = 40'000;  // more than a piece
  std::vector<std::uint64_t> remote(kWords);
  std::vector<std::uint64_t> local(kWords);
  const RemoteRegion region = add(std::as_writable_bytes(std::span(remote)));
  const auto whole = [](std::uint64_t word) { return word % 0x0101010101010101ULL == 0; };
  std::atomic<bool> stop{false};
  // The owner changes its words while the peer reads them.
  std::thread changer([&] {
    for (std::uint64_t round = 0; !stop; ++round) {
      for (std::uint64_t& word : remote) {
        std::atomic_ref(word).store((round % 255) * 0x0101010101010101ULL, std::memory_order_relaxed);
      }
    }
  });
  for (int round = 0; round < 30; ++round) {
    ASSERT_TRUE(read(*peer, region, std::as_writable_bytes(std::span(local)))->succeeds());
    ASSERT_TRUE(std::all_of(local.begin(), local.end(), whole));
  }
  stop = true;
  changer.join();
  // The peer changes them while the owner looks.
  std::atomic<int> torn{0};
  stop = false;
  std::thread watcher([&] {
    while (!stop) {
      for (std::uint64_t& word : remote) {
        torn += whole(std::atomic_ref(word).load(std::memory_order_relaxed)) ? 0 : 1;
      }
    }
  });
  for (std::uint64_t round = 0; round < 30; ++round) {
    std::fill(local.begin(), local.end(), (round % 2 == 0 ? 0xffU : round) * 0x0101010101010101ULL);
    ASSERT_TRUE(write(*peer, region, std::as_bytes(std::span(local)))->succeeds());
  }
  stop = true;
  watcher.join();
  EXPECT_EQ(torn, 0);
}

INSTANTIATE_TEST_SUITE_P(Tcp, TcpOperations, testing::Values("127.0.0.1", "::1"),
                         [](const testing::TestParamInfo<const char*>& host) {
                           return std::string(host.param) == "::1" ? "IPv6" : "IPv4";
                         });

}  // namespace
}  // namespace ferry::tcp::test
