// RawClient: a plain socket with a time limit on everything. RogueInitiator: one that has performed ferry's handshake
// and may then send what it likes.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <ferry/tcp/endpoint.hpp>
#include <ferry/tcp/frames.hpp>
#include <ferry/tcp/handshake.hpp>

namespace ferry::tcp::test {

class RawClient {
 public:
  RawClient() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  explicit RawClient(std::string_view address) : RawClient() { connect(address); }
  RawClient(const RawClient&) = delete;
  ~RawClient() { ::close(socket_); }

  int descriptor() const { return socket_; }

  void connect(std::string_view address) {
    const SocketAddress to = socket_address(endpoint_from_string(address).value()).value();
    EXPECT_EQ(::connect(socket_, to.get(), to.length), 0);
  }

  // Sends what the peer takes; a peer that closes is no error.
  void send(std::string_view bytes) {
    while (!bytes.empty() && ready(POLLOUT)) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0) {
        return;
      }
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  // False when the peer has taken nothing for a moment, or has closed.
  bool try_send(std::string_view bytes) {
    pollfd wanted{socket_, POLLOUT, 0};
    return ::poll(&wanted, 1, 200) == 1 && ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
  }

  // Exactly so many bytes; fewer if the peer closes.
  std::string receive(std::size_t count) {
    std::string bytes(count, '\0');
    std::size_t have = 0;
    while (have < count && ready(POLLIN)) {
      const ssize_t got = ::recv(socket_, bytes.data() + have, count - have, 0);
      if (got <= 0) {
        break;
      }
      have += static_cast<std::size_t>(got);
    }
    bytes.resize(have);
    return bytes;
  }
  std::string receive_some() {
    std::array<char, 4096> bytes;
    const ssize_t got = ready(POLLIN) ? ::recv(socket_, bytes.data(), bytes.size(), 0) : 0;
    return std::string(bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  }
  std::string receive_until_closed() {
    std::string all;
    for (std::string some = receive_some(); !some.empty(); some = receive_some()) {
      all += some;
    }
    return all;
  }
  bool is_closed_by_peer() {
    std::array<char, 65536> bytes;
    for (;;) {
      if (!ready(POLLIN)) {
        return false;
      }
      if (::recv(socket_, bytes.data(), bytes.size(), 0) <= 0) {
        return true;
      }
    }
  }

 private:
  bool ready(short events) {
    constexpr int kPatienceMs = 30'000;
    pollfd wanted{socket_, events, 0};
    return ::poll(&wanted, 1, kPatienceMs) == 1;
  }

  int socket_;
};

class RogueInitiator {
 public:
  RogueInitiator(std::string_view address, ProcessId wanted, const JobSecret& secret, std::uint64_t id)
      : client(address) {
    Hello hello;
    hello.wanted = wanted;
    hello.self = ProcessId{id, id};
    hello.channel = 1;
    auto handshake = InitiatorHandshake::create(secret, hello, Introduction{"rogue", {}}).value();
    for (;;) {
      client.send(wire::as_text(std::exchange(handshake.out(), {})));
      const std::string bytes = client.receive_some();
      if (bytes.empty()) {
        return;
      }
      const auto done = handshake.feed(wire::as_bytes(bytes));
      if (!done || *done) {
        welcome_ = done && *done;
        return;
      }
    }
  }
  bool is_welcome() const { return welcome_; }

  RawClient client;

 private:
  bool welcome_ = false;
};

}  // namespace ferry::tcp::test
