// Proxy: stands between two nodes and does to their bytes what networks do: cuts, holds, slows, damages.
//
// Passes bytes on its own thread. Faults are set from outside, at any time; those of a direction apply to the present
// connections and to new ones.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <ferry/tcp/endpoint.hpp>

namespace ferry::tcp::test {

class Proxy {
 public:
  enum Direction { to_owner = 0, to_initiator = 1 };
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  explicit Proxy(std::string_view target) : target_(socket_address(endpoint_from_string(target).value()).value()) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), length);
    ::listen(listener_, 100);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this] { run(); });
  }
  ~Proxy() {
    stopping_ = true;
    thread_.join();
    for (const Pair& pair : pairs_) {
      close_pair(pair, false);
    }
    ::close(listener_);
  }

  const std::string& address() const { return address_; }
  int connections() const { return connections_; }  // ever taken
  int ended() const { return ended_; }              // of these, not by a cut() from outside

  // Ends the present connections; reset: with a reset instead of an end.
  void cut(bool reset = false) {
    const std::lock_guard lock(mutex_);
    for (const Pair& pair : pairs_) {
      close_pair(pair, reset);
    }
    pairs_.clear();
  }
  // Takes no bytes from anybody.
  void hold(bool held) {
    const std::lock_guard lock(mutex_);
    held_ = {held, held};
  }
  void hold(Direction direction, bool held) {
    const std::lock_guard lock(mutex_);
    held_[direction] = held;
  }
  // Of each connection: cuts it when so many bytes have gone that way.
  void cut_after(Direction direction, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    cut_after_[direction] = bytes;
  }
  // Of each connection: damages the byte with this number.
  void damage(Direction direction, std::uint64_t at) {
    const std::lock_guard lock(mutex_);
    damage_[direction] = at;
  }
  // Bytes per millisecond and direction.
  void throttle(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    rate_ = bytes;
  }
  // New connections are ended at once.
  void refuse(bool refusing) {
    const std::lock_guard lock(mutex_);
    refusing_ = refusing;
  }
  std::uint64_t passed(Direction direction) const {
    const std::lock_guard lock(mutex_);
    return passed_[direction];
  }

 private:
  struct Pair {
    std::array<int, 2> sockets;  // where bytes to_owner come from, where bytes to_initiator come from
    std::array<std::uint64_t, 2> passed{};
    std::array<std::vector<char>, 2> waiting{};
  };

  static void close_pair(const Pair& pair, bool reset) {
    for (const int socket : pair.sockets) {
      if (reset) {
        const linger now{1, 0};
        ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof now);
      }
      ::close(socket);
    }
  }

  void accept_one() {
    const int from = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (from < 0) {
      return;
    }
    ++connections_;
    const int to = ::socket(target_.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (refusing_ || ::connect(to, target_.get(), target_.length) != 0) {
      ::close(from);
      ::close(to);
      return;
    }
    pairs_.push_back(Pair{{from, to}});
  }

  // False: the pair is to be ended.
  bool pass(Pair& pair, Direction direction, std::uint64_t allowance) {
    std::vector<char>& waiting = pair.waiting[direction];
    const int from = pair.sockets[direction];
    const int to = pair.sockets[1 - direction];
    if (held_[direction]) {
      return true;
    }
    if (waiting.empty()) {
      std::array<char, 65536> bytes;
      const std::size_t most =
          std::min<std::uint64_t>({bytes.size(), allowance, cut_after_[direction] - pair.passed[direction]});
      if (most == 0) {
        return cut_after_[direction] != pair.passed[direction];
      }
      const ssize_t count = ::recv(from, bytes.data(), most, MSG_DONTWAIT);
      if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
        return false;
      }
      if (count < 0) {
        return true;
      }
      waiting.assign(bytes.begin(), bytes.begin() + count);
      const std::uint64_t first = pair.passed[direction];
      if (damage_[direction] >= first && damage_[direction] < first + static_cast<std::uint64_t>(count)) {
        waiting[damage_[direction] - first] ^= 0x20;
      }
      pair.passed[direction] += static_cast<std::uint64_t>(count);
      passed_[direction] += static_cast<std::uint64_t>(count);
    }
    const ssize_t sent = ::send(to, waiting.data(), waiting.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
      return false;
    }
    if (sent > 0) {
      waiting.erase(waiting.begin(), waiting.begin() + sent);
    }
    return !(waiting.empty() && pair.passed[direction] == cut_after_[direction]);
  }

  void run() {
    while (!stopping_) {
      {
        const std::lock_guard lock(mutex_);
        accept_one();
        for (auto pair = pairs_.begin(); pair != pairs_.end();) {
          const std::uint64_t allowance = rate_ == 0 ? kNever : rate_.load();
          if (pass(*pair, to_owner, allowance) && pass(*pair, to_initiator, allowance)) {
            ++pair;
          } else {
            close_pair(*pair, false);
            pair = pairs_.erase(pair);
            ++ended_;
          }
        }
      }
      if (rate_ != 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        continue;
      }
      std::vector<pollfd> ready{{listener_, POLLIN, 0}};
      {
        const std::lock_guard lock(mutex_);
        for (const Pair& pair : pairs_) {
          for (const int direction : {0, 1}) {
            const bool waits = !pair.waiting[direction].empty();
            if (!held_[direction]) {
              ready.push_back(
                  {pair.sockets[waits ? 1 - direction : direction], static_cast<short>(waits ? POLLOUT : POLLIN), 0});
            }
          }
        }
      }
      ::poll(ready.data(), ready.size(), 1);
    }
  }

  const SocketAddress target_;
  int listener_ = -1;
  std::string address_;
  std::thread thread_;
  std::atomic<bool> stopping_{false};
  std::atomic<int> connections_{0};
  std::atomic<int> ended_{0};
  std::atomic<std::uint64_t> rate_{0};

  mutable std::mutex mutex_;
  std::list<Pair> pairs_;
  bool refusing_ = false;
  std::array<bool, 2> held_{};
  std::array<std::uint64_t, 2> cut_after_{kNever, kNever};
  std::array<std::uint64_t, 2> damage_{kNever, kNever};
  std::array<std::uint64_t, 2> passed_{};
};

}  // namespace ferry::tcp::test
