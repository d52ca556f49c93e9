// TestNode: a node with the shared memory transport alone; TestRegion: registered memory of it. Test code only.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ferry/base/random.hpp>
#include <ferry/shm/block_arena.hpp>
#include <ferry/shm/shm_transport.hpp>
#include <ferry/transport/node_core.hpp>
#include <ferry/transport/peer.hpp>

#include <collecting_log.hpp>
#include <test_loop.hpp>

#include "test_call.hpp"

namespace ferry::shm::testing {

using test::CollectingLog;

inline JobSecret test_secret() {
  JobSecret secret{};
  secret.fill(std::byte{42});
  return secret;
}

// Unique on this host, also among processes that run the same test.
inline ProcessId unique_id() {
  static std::atomic<std::uint64_t> next{1};
  const std::uint64_t number = next.fetch_add(1);
  const auto now = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  return {static_cast<std::uint64_t>(::getpid()) << 20 | number, mix64(now ^ number << 40) | 1};
}

// What a test waits for ends; a hang ends the test's process by ctest's limit.
template <class Condition>
void eventually(Condition condition) {
  while (!condition()) {
    std::this_thread::yield();
  }
}

// Answers every request with itself, and keeps what it saw.
class EchoSink final : public MessageSink {
 public:
  void on_request(const std::shared_ptr<Inbound>& from, wire::Bytes&& message) noexcept override {
    const std::lock_guard lock(mutex_);
    ++requests_;
    bytes_ += message.size();
    last_ = from;
    if (echo.load()) {
      from->send(std::move(message));
    } else {
      kept_.push_back(std::move(message));
    }
  }
  void on_inbound_closed(const std::shared_ptr<Inbound>&, const Failure& why) noexcept override {
    const std::lock_guard lock(mutex_);
    closed_.push_back(why);
  }

  std::size_t requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  std::deque<wire::Bytes> kept() const {
    const std::lock_guard lock(mutex_);
    return kept_;
  }
  std::size_t closed() const {
    const std::lock_guard lock(mutex_);
    return closed_.size();
  }
  Failure last_close() const {
    const std::lock_guard lock(mutex_);
    return closed_.empty() ? Failure() : closed_.back();
  }
  std::shared_ptr<Inbound> last() const {
    const std::lock_guard lock(mutex_);
    return last_;
  }

  std::atomic<bool> echo{true};

 private:
  mutable std::mutex mutex_;
  std::size_t requests_ = 0;
  std::size_t bytes_ = 0;
  std::deque<wire::Bytes> kept_;
  std::vector<Failure> closed_;
  std::shared_ptr<Inbound> last_;
};

class RecordingEvents final : public PeerEvents {
 public:
  void on_reply(Peer&, wire::Bytes&& message) noexcept override {
    const std::lock_guard lock(mutex_);
    replies_.push_back(std::move(message));
  }
  void on_unsent(Peer&, wire::ByteView message, const Failure&) noexcept override {
    const std::lock_guard lock(mutex_);
    unsent_.emplace_back(wire::as_text(message));
  }
  void on_peer_failed(Peer&, const Failure& why, PeerState state, ChannelNumber) noexcept override {
    const std::lock_guard lock(mutex_);
    failures_.push_back({why, state});
  }

  struct PeerFailure {
    Failure why;
    PeerState state;
  };
  std::size_t replies() const {
    const std::lock_guard lock(mutex_);
    return replies_.size();
  }
  wire::Bytes reply(std::size_t index) const {
    const std::lock_guard lock(mutex_);
    return replies_[index];
  }
  std::vector<std::string> unsent() const {
    const std::lock_guard lock(mutex_);
    return unsent_;
  }
  std::vector<PeerFailure> failures() const {
    const std::lock_guard lock(mutex_);
    return failures_;
  }

 private:
  mutable std::mutex mutex_;
  std::deque<wire::Bytes> replies_;
  std::vector<PeerFailure> failures_;
  std::vector<std::string> unsent_;
};

struct TestNodeOptions {
  ProcessId id = unique_id();
  JobSecret secret = test_secret();
  NodeLimits limits{};
  ShmOptions shm{};
  int spins = 300;
};

class TestNode {
 public:
  explicit TestNode(const TestNodeOptions& options = {})
      : loop(options.spins), core(loop, log, options.id, "test", options.secret, options.limits) {
    loop.start();
    auto made = ShmTransport::create(core, loop, options.shm);
    EXPECT_TRUE(made) << made.error().to_text();
    transport = made->get();
    core.add_transport(std::move(*made));
    core.set_sink(sink);
    core.peers().set_events(events);
    const auto listening = transport->listen();
    EXPECT_TRUE(listening) << listening.error().to_text();
  }
  ~TestNode() { core.shut_down(); }

  Peer& peer(const TestNode& other) { return core.peers().find_or_add(other.core.self()); }
  Peer& peer(ProcessId id) { return core.peers().find_or_add(id); }

  test::TestLoop loop;
  CollectingLog log;
  EchoSink sink;
  RecordingEvents events;
  NodeCore core;
  ShmTransport* transport = nullptr;
};

// Registered memory of a node: in a segment, unless it is told to use given memory.
class TestRegion {
 public:
  TestRegion(TestNode& node, std::size_t size, Access rights = Access::all) : node_(node), size_(size) {
    memory_ = node.transport->shared_memory();
    auto block = memory_->allocate(size, 64);
    EXPECT_TRUE(block) << block.error().to_text();
    base_ = block->memory;
    if (size <= BlockArena::kLargestBlock) {
      std::memset(base_, 0, size);  // larger ones have a fresh segment, which may be sparse
    }
    attach(rights, memory_->place_of(base_, size));
  }
  TestRegion(TestNode& node, std::span<std::byte> other, Access rights = Access::all)
      : node_(node), base_(other.data()), size_(other.size()) {
    attach(rights, {});
  }
  ~TestRegion() {
    if (attached_) {
      EXPECT_TRUE(revoke());
    }
    if (memory_ != nullptr) {
      memory_->deallocate(base_, size_, 64);
    }
  }
  TestRegion(const TestRegion&) = delete;
  TestRegion& operator=(const TestRegion&) = delete;

  Result<void> revoke(Duration within = std::chrono::seconds(60)) {
    if (attached_) {
      node_.core.regions().revoke(handle_);
      attached_ = false;
    }
    auto detached = node_.transport->memory()->detach(handle_, node_.loop.now() + within);
    if (detached) {
      node_.core.regions().release(handle_);
    }
    return detached;
  }

  std::byte* data() const { return base_; }
  std::size_t size() const { return size_; }
  std::uint64_t* word(std::size_t index) const { return reinterpret_cast<std::uint64_t*>(base_) + index; }
  RegionHandle handle() const { return handle_; }
  const RemoteRegion& ref() const { return ref_; }
  RemoteRegion ref(Access rights) const {
    RemoteRegion narrowed = ref_;
    narrowed.rights = rights;
    return narrowed;
  }
  // A reference to a part of it.
  RemoteRegion part(std::uint64_t offset, std::uint64_t length) const {
    RemoteRegion narrowed = ref_;
    narrowed.offset = offset;
    narrowed.length = length;
    return narrowed;
  }

 private:
  void attach(Access rights, SegmentPlace place) {
    LocalRegion region;
    region.base = base_;
    region.size = size_;
    region.rights = rights;
    region.place = place;
    auto handle = node_.core.regions().insert(region);
    EXPECT_TRUE(handle);
    handle_ = *handle;
    auto key = node_.transport->memory()->attach(handle_, region);
    EXPECT_TRUE(key) << key.error().to_text();
    attached_ = true;
    ref_.owner = node_.core.self();
    ref_.slot = handle_.slot;
    ref_.generation = handle_.generation;
    ref_.rights = rights;
    ref_.size = size_;
    ref_.length = size_;
    ref_.keys[0] = *key;
  }

  TestNode& node_;
  std::shared_ptr<SharedMemory> memory_;
  std::byte* base_ = nullptr;
  std::size_t size_;
  RegionHandle handle_{};
  RemoteRegion ref_{};
  bool attached_ = false;
};

}  // namespace ferry::shm::testing
