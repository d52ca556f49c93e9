// A node with two fake transports and a peer, and what the tests of Peer note of operations and messages.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ferry/transport/node_core.hpp>
#include <ferry/transport/peer.hpp>

#include <fake_transport.hpp>
#include <manual_executor.hpp>

namespace ferry::peer_tests {

using test::FakeConnection;
using test::FakeTransport;

inline const Failure kBroken(errc::peer_lost, "the wire was cut");

// An operation that notes how often and how it ended.
struct Tracked {
  Tracked() {
    operation.starter = this;
    operation.on_complete = [](Operation& complete) noexcept { ++static_cast<Tracked*>(complete.starter)->ended; };
  }
  // As the buffer layer does: an end in place counts too.
  void start(Peer& peer) {
    started = true;
    if (peer.start(operation) == Started::complete) {
      ++ended;
    }
  }
  std::string text() const { return operation.failure ? operation.failure.to_text() : "done"; }
  errc code() const { return operation.failure.code(); }

  Operation operation;
  std::atomic<int> ended{0};
  bool started = false;
};

struct Events final : PeerEvents {
  void on_reply(Peer&, wire::Bytes&& message) noexcept override {
    replies.emplace_back(wire::as_text({message.data(), message.size()}));
  }
  void on_unsent(Peer&, wire::ByteView message, const Failure&) noexcept override {
    unsent.emplace_back(wire::as_text(message));
  }
  void on_peer_failed(Peer&, const Failure& why, PeerState state, ChannelNumber channel) noexcept override {
    failures.push_back(why.to_text());
    states.push_back(state);
    channels.push_back(channel);
    if (then) {
      then();
    }
  }
  std::vector<std::string> replies;
  std::vector<std::string> unsent;
  std::vector<std::string> failures;
  std::vector<PeerState> states;
  std::vector<ChannelNumber> channels;
  std::function<void()> then;
};

// A node with two fake transports, and a peer.
struct PeerTest : ::testing::Test {
  PeerTest() : node(executor, log, ProcessId{1, 1}, "root", {}, {}) {
    auto a = std::make_unique<FakeTransport>(TransportId::shm);
    auto b = std::make_unique<FakeTransport>(TransportId::tcp);
    shm = a.get();
    tcp = b.get();
    node.add_transport(std::move(a));
    node.add_transport(std::move(b));
    node.peers().set_events(events);
    peer = &node.peers().find_or_add(ProcessId{0x3f2a, 0x9c01d2e4});
  }
  static wire::Bytes message(std::string_view text) { return wire::Bytes(wire::as_bytes(text)); }
  bool send(std::string_view text) { return !peer->send(message(text)); }

  test::ManualExecutor executor;
  ~PeerTest() override { events.then = nullptr; }

  NullLog log;
  Events events;
  NodeCore node;
  FakeTransport* shm;
  FakeTransport* tcp;
  Peer* peer;
};

}  // namespace ferry::peer_tests
