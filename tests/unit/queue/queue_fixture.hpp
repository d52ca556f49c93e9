// Two processes whose nodes have a queue transport over a FakeFabric: an initiator with a Peer, an owner with memory.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ferry/queue/queue_connection.hpp>
#include <ferry/queue/queue_server.hpp>
#include <ferry/transport/node_core.hpp>
#include <ferry/transport/peer.hpp>

#include <collecting_log.hpp>
#include <fake_device.hpp>
#include <fake_pipe.hpp>
#include <manual_executor.hpp>

namespace ferry::queue_tests {

using namespace std::chrono_literals;
using queue::OrderClass;
using test::FakeDevice;
using test::FakePipe;

struct Process;

struct Sink final : MessageSink {
  void on_request(const std::shared_ptr<Inbound>& from, wire::Bytes&& message) noexcept override {
    requests.emplace_back(wire::as_text({message.data(), message.size()}));
    last = from;
  }
  void on_inbound_closed(const std::shared_ptr<Inbound>&, const Failure& why) noexcept override {
    closed.push_back(why.to_text());
  }
  std::vector<std::string> requests;
  std::vector<std::string> closed;
  std::shared_ptr<Inbound> last;
};

struct Events final : PeerEvents {
  void on_reply(Peer&, wire::Bytes&& message) noexcept override {
    replies.emplace_back(wire::as_text({message.data(), message.size()}));
  }
  void on_unsent(Peer&, wire::ByteView, const Failure&) noexcept override {}
  void on_peer_failed(Peer&, const Failure& why, PeerState state, ChannelNumber) noexcept override {
    failures.push_back(why.to_text());
    states.push_back(state);
  }
  std::vector<std::string> replies;
  std::vector<std::string> failures;
  std::vector<PeerState> states;
};

class Dialer final : public queue::ControlDialer {
 public:
  Dialer(test::FakeFabric& fabric, Process& self, Process*& owner) : fabric_(fabric), self_(self), owner_(owner) {}
  std::unique_ptr<queue::ControlLink> dial(queue::ControlEvents& events) noexcept override;
  std::string describe() const override { return "fake fabric"; }

 private:
  test::FakeFabric& fabric_;
  Process& self_;
  Process*& owner_;
};

class FabricTransport final : public Transport {
 public:
  FabricTransport(test::FakeFabric& fabric, Process& process, Process*& owner)
      : fabric_(fabric), process_(process), owner_(owner) {}
  TransportId id() const noexcept override { return TransportId::sim; }
  Capabilities capabilities() const override { return {}; }
  Result<void> listen() override { return {}; }
  std::vector<Address> addresses() const override { return {}; }
  MemoryDomain* memory() noexcept override { return nullptr; }
  std::unique_ptr<Connection> connect(const Peer& peer, ConnectionEvents& events, std::string& why) override;
  void shut_down() noexcept override {}

 private:
  test::FakeFabric& fabric_;
  Process& process_;
  Process*& owner_;
};

struct Process {
  Process(test::FakeFabric& fabric, Executor& executor, OrderClass order, ProcessId id, Process*& owner)
      : device(fabric, order), core(executor, log, id, "process" + std::to_string(id.id), JobSecret{}, NodeLimits{}) {
    core.add_transport(std::make_unique<FabricTransport>(fabric, *this, owner));
    core.set_sink(sink);
    core.peers().set_events(events);
    server = std::make_unique<queue::QueueServer>(core, device, TransportId::sim);
  }
  ~Process() {
    core.shut_down();
    server->shut_down();
  }

  test::CollectingLog log;
  Sink sink;
  Events events;
  FakeDevice device;
  NodeCore core;
  std::unique_ptr<queue::QueueServer> server;
  std::shared_ptr<FakePipe> pipe;  // the latest that it dialed
};

inline std::unique_ptr<queue::ControlLink> Dialer::dial(queue::ControlEvents& events) noexcept {
  auto pipe = std::make_shared<FakePipe>(fabric_);
  self_.pipe = pipe;
  auto link = pipe->end(FakePipe::initiator, events, ProcessId{2, 2});
  if (owner_ == nullptr) {
    pipe->cut(Failure(errc::peer_unreachable, "nobody listens"), PeerState::gone);
    return link;
  }
  owner_->server->accept(
      [&](queue::ControlEvents& there) { return pipe->end(FakePipe::owner, there, self_.core.self()); });
  pipe->announce_open();
  return link;
}

inline std::unique_ptr<Connection> FabricTransport::connect(const Peer& peer, ConnectionEvents& events, std::string&) {
  return std::make_unique<queue::QueueConnection>(process_.core, peer, events, process_.device,
                                                  std::make_unique<Dialer>(fabric_, process_, owner_),
                                                  TransportId::sim);
}

// Memory of the owner's with references to it.
struct Memory {
  Memory(Process& process, std::size_t size, Access rights = Access::all, AtomicDomain domain = AtomicDomain::cpu)
      : owner(process), words((size + 7) / 8), bytes_(size) {
    LocalRegion region;
    region.base = data();
    region.size = size;
    region.rights = rights;
    region.domain = domain;
    handle = owner.core.regions().insert(region).value();
    key = owner.device.add_region(data(), size, rights);
    reference.owner = owner.core.self();
    reference.slot = handle.slot;
    reference.generation = handle.generation;
    reference.domain = domain;
    reference.rights = Access::all;
    reference.size = size;
    reference.length = size;
    reference.keys[0] = TransportKey{TransportId::sim, key, reinterpret_cast<std::uintptr_t>(data())};
  }
  ~Memory() { revoke(); }
  void revoke() {
    if (owner.core.regions().revoke(handle)) {
      owner.device.remove_region(key);
      owner.core.regions().release(handle);
    }
  }
  std::byte* data() { return reinterpret_cast<std::byte*>(words.data()); }
  void fill(std::uint8_t value) { std::memset(data(), value, bytes_); }
  bool is(std::uint8_t value) { return is(value, 0, bytes_); }
  bool is(std::uint8_t value, std::size_t from, std::size_t count) {
    return std::all_of(data() + from, data() + from + count, [value](std::byte b) { return b == std::byte{value}; });
  }
  RemoteRegion part(std::uint64_t offset, std::uint64_t length) const {
    RemoteRegion region = reference;
    region.offset = offset;
    region.length = length;
    return region;
  }

  Process& owner;
  std::vector<std::uint64_t> words;
  std::size_t bytes_;
  RegionHandle handle;
  std::uint32_t key = 0;
  RemoteRegion reference;
};

// An operation that notes how often and how it ended.
struct Tracked {
  Tracked() {
    operation.starter = this;
    operation.on_complete = [](Operation& complete) noexcept { ++static_cast<Tracked*>(complete.starter)->ended; };
  }
  Tracked& start(Peer& peer) {
    if (peer.start(operation) == Started::complete) {
      ++ended;
    }
    return *this;
  }
  bool succeeded() const { return ended == 1 && !operation.failure; }
  errc code() const { return operation.failure.code(); }
  std::string text() const { return ended == 0 ? "pending" : operation.failure ? operation.failure.to_text() : "done"; }

  Operation operation;
  int ended = 0;
};

class QueueTest : public testing::Test {
 protected:
  explicit QueueTest(OrderClass order = OrderClass::strict) { make(order); }
  ~QueueTest() override { tear_down(); }

  void make(OrderClass order) {
    tear_down();
    owner_ = std::make_unique<Process>(fabric_, executor_, order, ProcessId{2, 2}, listener_);
    initiator_ = std::make_unique<Process>(fabric_, executor_, order, ProcessId{1, 1}, listener_);
    listener_ = owner_.get();
    peer_ = &initiator_->core.peers().find_or_add(ProcessId{2, 2});
  }
  void tear_down() {
    if (initiator_ != nullptr) {
      initiator_->core.shut_down();
      initiator_->server->shut_down();
      run();
    }
    if (owner_ != nullptr) {
      owner_->core.shut_down();
      owner_->server->shut_down();
      run();
      EXPECT_EQ(owner_->device.queue_pairs, 0U);
      EXPECT_EQ(initiator_->device.queue_pairs, 0U);
      EXPECT_EQ(owner_->device.local_keys, 0U);
      EXPECT_EQ(initiator_->device.local_keys, 0U);
    }
    initiator_ = nullptr;
    owner_ = nullptr;
    operations_.clear();
  }

  // Until nothing can happen without time.
  void run() {
    for (bool any = true; any;) {
      any = fabric_.step();
      any = executor_.run() > 0 || any;
    }
  }
  void pass(Duration duration) {
    run();
    executor_.advance(duration);
    run();
  }

  Tracked& make_operation(OperationKind kind, const RemoteRegion& region, std::byte* local, std::uint64_t length) {
    Tracked& tracked = *operations_.emplace_back(std::make_unique<Tracked>());
    tracked.operation.kind = kind;
    tracked.operation.region = region;
    tracked.operation.single = Chunk{0, local, length};
    return tracked;
  }
  Tracked& read(const RemoteRegion& region, std::vector<std::uint64_t>& local) {
    return make_operation(OperationKind::read, region, reinterpret_cast<std::byte*>(local.data()), region.length)
        .start(*peer_);
  }
  Tracked& write(const RemoteRegion& region, std::vector<std::uint64_t>& local,
                 Completion completion = Completion::delivered) {
    Tracked& tracked =
        make_operation(OperationKind::write, region, reinterpret_cast<std::byte*>(local.data()), region.length);
    tracked.operation.completion = completion;
    return tracked.start(*peer_);
  }
  Tracked& add(const RemoteRegion& region, std::uint64_t addend) {
    Tracked& tracked = make_operation(OperationKind::fetch_add, region, nullptr, 0);
    tracked.operation.operand = addend;
    return tracked.start(*peer_);
  }
  Tracked& flush(const RemoteRegion& region) {
    return make_operation(OperationKind::flush, region, nullptr, 0).start(*peer_);
  }

  FakePipe& pipe() { return *initiator_->pipe; }

  test::FakeFabric fabric_;
  test::ManualExecutor executor_;
  Process* listener_ = nullptr;
  std::unique_ptr<Process> owner_;
  std::unique_ptr<Process> initiator_;
  Peer* peer_ = nullptr;
  std::vector<std::unique_ptr<Tracked>> operations_;
};

inline std::string to_text(OrderClass order) {
  static const char* const names[] = {"Strict", "Unordered", "IWARP", "SRD"};
  return names[static_cast<std::size_t>(order)];
}
inline std::string name_of_class(const testing::TestParamInfo<OrderClass>& tested) {
  return to_text(tested.param);
}

inline std::vector<std::uint64_t> pattern(std::size_t bytes, std::uint8_t value) {
  std::vector<std::uint64_t> words((bytes + 7) / 8);
  std::memset(words.data(), value, words.size() * 8);
  return words;
}
inline bool is_all(const std::vector<std::uint64_t>& words, std::uint8_t value) {
  return words == pattern(words.size() * 8, value);
}

}  // namespace ferry::queue_tests
