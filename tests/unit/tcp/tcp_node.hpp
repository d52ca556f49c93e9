// TestNode: a NodeCore with tcp alone, whose log, messages and peer events are recorded; Call: one operation under way.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <ferry/memory/region_table.hpp>
#include <ferry/tcp/transport.hpp>
#include <ferry/transport/node_core.hpp>
#include <ferry/transport/peer.hpp>

#include <collecting_log.hpp>
#include <test_loop.hpp>

namespace ferry::tcp::test {

using namespace std::chrono_literals;
using ferry::test::TestLoop;

// How long a test waits for what must happen; a watchdog, not a measurement.
inline constexpr auto kPatience = 30s;

// Waits until the condition holds; false if it never does.
inline bool eventually(const std::function<bool()>& condition, std::chrono::nanoseconds limit = kPatience) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) {
      return false;
    }
    std::this_thread::sleep_for(200us);
  }
  return true;
}

// Everything that arrives at a node; answers every request that begins with 'e' by itself.
class RecordingSink final : public MessageSink, public PeerEvents {
 public:
  void on_request(const std::shared_ptr<Inbound>& from, wire::Bytes&& message) noexcept override {
    if (!message.empty() && message[0] == std::byte{'e'}) {
      from->send(wire::Bytes(message));
    }
    const std::lock_guard lock(mutex_);
    requests.emplace_back(wire::as_text(message));
    inbound = from;
  }
  void on_inbound_closed(const std::shared_ptr<Inbound>&, const Failure& why) noexcept override {
    const std::lock_guard lock(mutex_);
    inbounds_closed.push_back(why.to_text());
  }
  void on_reply(Peer&, wire::Bytes&& message) noexcept override {
    const std::lock_guard lock(mutex_);
    replies.emplace_back(wire::as_text(message));
  }
  void on_unsent(Peer&, wire::ByteView message, const Failure&) noexcept override {
    const std::lock_guard lock(mutex_);
    unsent.emplace_back(wire::as_text(message));
  }
  void on_peer_failed(Peer&, const Failure& why, PeerState state, ChannelNumber) noexcept override {
    const std::lock_guard lock(mutex_);
    failures.push_back(why.to_text());
    states.push_back(state);
  }

  template <class T>
  T get(T RecordingSink::*member) const {
    const std::lock_guard lock(mutex_);
    return this->*member;
  }
  template <class T>
  std::size_t count(std::vector<T> RecordingSink::*member) const {
    const std::lock_guard lock(mutex_);
    return (this->*member).size();
  }

  std::vector<std::string> requests;
  std::vector<std::string> replies;
  std::vector<std::string> inbounds_closed;
  std::vector<std::string> unsent;  // their first pieces
  std::vector<std::string> failures;
  std::vector<PeerState> states;
  std::shared_ptr<Inbound> inbound;

 private:
  mutable std::mutex mutex_;
};

inline JobSecret test_secret(std::uint8_t seed = 7) {
  JobSecret secret;
  secret.fill(std::byte{seed});
  return secret;
}

// Short enough for tests, long enough for a loaded machine under a sanitizer.
inline NodeLimits test_limits() {
  NodeLimits limits;
  limits.heartbeat = 100ms;
  limits.failure_detection = 20s;
  limits.handshake = 10s;
  limits.quiet_grace = 10s;
  return limits;
}

struct NodeSettings {
  std::uint64_t id = 1;
  std::uint64_t incarnation = 0x1111222233334444;
  TcpOptions options{};
  NodeLimits limits = test_limits();
  JobSecret secret = test_secret();
};

class TestNode {
 public:
  explicit TestNode(TestLoop& loop, NodeSettings settings = {})
      : core(loop, log, ProcessId{settings.id, settings.incarnation}, "node" + std::to_string(settings.id),
             settings.secret, settings.limits) {
    auto made = std::make_unique<TcpTransport>(core, loop, settings.options);
    tcp = made.get();
    core.add_transport(std::move(made));
    core.set_sink(sink);
    core.peers().set_events(sink);
    listening = tcp->listen();
  }
  ~TestNode() { core.shut_down(); }

  RegionHandle add(std::span<std::byte> memory, Access rights = Access::all, AtomicDomain domain = AtomicDomain::cpu) {
    LocalRegion region;
    region.base = memory.data();
    region.size = memory.size();
    region.rights = rights;
    region.domain = domain;
    return core.regions().insert(region).value();
  }
  // The whole of it, as others see it.
  RemoteRegion reference(RegionHandle handle) const {
    const LocalRegion local = const_cast<NodeCore&>(core).regions().find(handle).value();
    RemoteRegion region;
    region.owner = core.self();
    region.slot = handle.slot;
    region.generation = handle.generation;
    region.rights = Access::all;
    region.domain = local.domain;
    region.misalignment = static_cast<std::uint8_t>(reinterpret_cast<std::uintptr_t>(local.base) % 8);
    region.size = region.length = local.size;
    return region;
  }

  // Another node, by the address that it tells, or by another one (a proxy's).
  Peer& peer(const TestNode& other) { return core.peers().find_or_add(other.core.contact()); }
  Peer& peer(const TestNode& other, std::string_view address) {
    return core.peers().find_or_add(Contact{other.core.self(), {Address{TransportId::tcp, std::string(address)}}});
  }

  ferry::test::CollectingLog log;
  RecordingSink sink;
  NodeCore core;
  TcpTransport* tcp = nullptr;
  Result<void> listening{};
};

// An operation that a test has started.
class Call : public Operation {
 public:
  Call() {
    starter = this;
    on_complete = [](Operation& operation) noexcept { static_cast<Call*>(operation.starter)->completed(); };
  }

  static std::unique_ptr<Call> make(OperationKind kind, const RemoteRegion& region,
                                    std::span<const std::byte> local = {}, std::uint64_t offset = 0) {
    auto call = std::make_unique<Call>();
    call->kind = kind;
    call->region = region;
    call->single = Chunk{offset, const_cast<std::byte*>(local.data()), local.size()};
    return call;
  }

  Call& start(Peer& peer) {
    peer_ = &peer;
    if (peer.start(*this) == Started::complete) {
      inline_ = true;
      completed();
    }
    return *this;
  }

  bool wait(std::chrono::nanoseconds limit = kPatience) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [this] { return completions_ > 0; });
  }
  // Waits; the outcome.
  Failure outcome() {
    if (!wait()) {
      ADD_FAILURE() << ferry::to_string(kind) << " does not end; " << (peer_ != nullptr ? peer_->explain() : "");
      std::abort();
    }
    return failure;
  }
  bool succeeds() {
    const Failure why = outcome();
    if (why) {
      ADD_FAILURE() << ferry::to_string(kind) << ": " << why.to_text();
    }
    return !why;
  }
  bool fails_with(errc code) {
    const Failure why = outcome();
    if (!why || why.code() != code) {
      ADD_FAILURE() << ferry::to_string(kind) << ": " << (why ? why.to_text() : "success");
      return false;
    }
    return true;
  }

  int completions() const {
    const std::lock_guard lock(mutex_);
    return completions_;
  }
  bool was_inline() const { return inline_; }

  std::vector<std::byte> kept;

 private:
  void completed() {
    const std::lock_guard lock(mutex_);
    ++completions_;
    changed_.notify_all();
  }

  Peer* peer_ = nullptr;
  bool inline_ = false;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int completions_ = 0;
};

inline std::unique_ptr<Call> read(Peer& peer, const RemoteRegion& region, std::span<std::byte> local,
                                  std::uint64_t offset = 0) {
  auto call = Call::make(OperationKind::read, region, local, offset);
  call->start(peer);
  return call;
}
inline std::unique_ptr<Call> write(Peer& peer, const RemoteRegion& region, std::span<const std::byte> local,
                                   std::uint64_t offset = 0, Completion completion = Completion::delivered) {
  auto call = Call::make(OperationKind::write, region, local, offset);
  call->completion = completion;
  call->start(peer);
  return call;
}
// Of bytes that the call keeps.
inline std::unique_ptr<Call> write(Peer& peer, const RemoteRegion& region, std::vector<std::byte>&& local,
                                   std::uint64_t offset = 0, Completion completion = Completion::delivered) {
  auto call = Call::make(OperationKind::write, region, local, offset);
  call->kept = std::move(local);
  call->completion = completion;
  call->start(peer);
  return call;
}
inline std::unique_ptr<Call> atomic(Peer& peer, const RemoteRegion& region, OperationKind kind, std::uint64_t operand,
                                    std::uint64_t expected = 0, std::uint64_t offset = 0) {
  auto call = Call::make(kind, region, {}, offset);
  call->single.length = 8;
  call->operand = operand;
  call->expected = expected;
  call->start(peer);
  return call;
}
inline std::unique_ptr<Call> flush(Peer& peer, const RemoteRegion& region) {
  auto call = Call::make(OperationKind::flush, region);
  call->start(peer);
  return call;
}

// Bytes that tell their place and the seed.
inline std::vector<std::byte> pattern(std::size_t size, std::uint64_t seed = 1) {
  std::vector<std::byte> bytes(size);
  for (std::size_t index = 0; index < size; ++index) {
    bytes[index] = static_cast<std::byte>((index * 0x9e3779b97f4a7c15ULL + seed * 0xbf58476d1ce4e5b9ULL) >> 56);
  }
  return bytes;
}

inline wire::Bytes message(std::string_view text) {
  return wire::Bytes(wire::as_bytes(text));
}

}  // namespace ferry::tcp::test
