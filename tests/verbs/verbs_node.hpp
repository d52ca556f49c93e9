// VerbsNode: a NodeCore with verbs alone, over a table of calls of the test's choice; Call: one operation under way.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include <ferry/tcp/control_network.hpp>
#include <ferry/transport/node_core.hpp>
#include <ferry/transport/peer.hpp>
#include <ferry/verbs/calls.hpp>
#include <ferry/verbs/verbs_transport.hpp>

#include <collecting_log.hpp>
#include <test_loop.hpp>

namespace ferry::verbs::test {

using ferry::test::TestLoop;

// How long a test waits for what must happen; a watchdog, not a measurement.
inline constexpr std::chrono::seconds kPatience{120};

class QuietSink final : public MessageSink, public PeerEvents {
 public:
  void on_request(const std::shared_ptr<Inbound>&, wire::Bytes&&) noexcept override {}
  void on_inbound_closed(const std::shared_ptr<Inbound>&, const Failure&) noexcept override {}
  void on_reply(Peer&, wire::Bytes&&) noexcept override {}
  void on_unsent(Peer&, wire::ByteView, const Failure&) noexcept override {}
  void on_peer_failed(Peer&, const Failure&, PeerState, ChannelNumber) noexcept override {}
};

inline NodeLimits node_limits() {
  NodeLimits limits;
  limits.failure_detection = std::chrono::seconds(60);
  limits.handshake = std::chrono::seconds(30);
  limits.quiet_grace = std::chrono::seconds(30);
  return limits;
}

class VerbsNode {
 public:
  VerbsNode(TestLoop& loop, std::uint64_t id, const Calls& calls, const VerbsOptions& options = {})
      : core(loop, log, ProcessId{id, 7}, "node" + std::to_string(id), JobSecret{}, node_limits()) {
    auto links = std::make_unique<tcp::TcpControlNetwork>(core, loop, TransportId::verbs);
    auto made = VerbsTransport::create(core, loop, std::move(links), options, calls);
    core.set_sink(sink);
    core.peers().set_events(sink);
    if (!made) {
      failure = made.error();
      return;
    }
    verbs = made->get();
    core.add_transport(std::move(*made));
    if (auto listening = verbs->listen(); !listening) {
      failure = listening.error();
    }
  }
  ~VerbsNode() { core.shut_down(); }

  // Registers it, for peers too: the whole of it, as others see it.
  Result<RemoteRegion> share(std::span<std::byte> memory, Access rights = Access::all) {
    LocalRegion local;
    local.base = memory.data();
    local.size = memory.size();
    local.rights = rights;
    const RegionHandle handle = core.regions().insert(local).value();
    auto key = verbs->memory()->attach(handle, local);
    if (!key) {
      return key.error();
    }
    RemoteRegion region;
    region.owner = core.self();
    region.slot = handle.slot;
    region.generation = handle.generation;
    region.rights = rights;
    region.misalignment = static_cast<std::uint8_t>(reinterpret_cast<std::uintptr_t>(memory.data()) % 8);
    region.size = region.length = memory.size();
    region.keys[0] = *key;
    return region;
  }
  Result<void> revoke(const RemoteRegion& region) {
    const RegionHandle handle{region.slot, region.generation};
    core.regions().revoke(handle);
    return verbs->memory()->detach(handle, kNever);
  }
  Peer& peer(const VerbsNode& other) { return core.peers().find_or_add(other.core.contact()); }

  ferry::test::CollectingLog log;
  QuietSink sink;
  NodeCore core;
  VerbsTransport* verbs = nullptr;
  Failure failure{};  // why there is none
};

class Call : public Operation {
 public:
  Call() {
    starter = this;
    on_complete = [](Operation& operation) noexcept { static_cast<Call*>(operation.starter)->completed(); };
  }
  Call& start(Peer& peer) {
    if (peer.start(*this) == Started::complete) {
      completed();
    }
    return *this;
  }
  // How it ended; aborts where it does not.
  Failure outcome() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kPatience, [this] { return is_over_; })) {
      ADD_FAILURE() << ferry::to_string(kind) << " does not end";
      std::abort();
    }
    return failure;
  }

 private:
  void completed() {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
};

inline std::unique_ptr<Call> begin(OperationKind kind, Peer& peer, const RemoteRegion& region,
                                   std::span<std::byte> local) {
  auto call = std::make_unique<Call>();
  call->kind = kind;
  call->region = region;
  call->single = Chunk{0, local.data(), local.size()};
  call->start(peer);
  return call;
}

}  // namespace ferry::verbs::test
