// Socket: one non-blocking TCP socket and the few system calls that are made on it.
//
// Owns the descriptor. send() and receive() may run on two threads at once; everything else by one at a time.
// No call waits; SIGPIPE never comes. What a failed call means for a peer is for the caller to say.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <ferry/base/result.hpp>
#include <ferry/tcp/endpoint.hpp>
#include <ferry/tcp/stats.hpp>
#include <ferry/wire/bytes.hpp>

namespace ferry::tcp {

// "Connection refused (ECONNREFUSED)".
std::string error_text(int error);

// resource_exhausted for what runs out, with the limit to raise; otherwise `fallback`.
Failure system_failure(int error, std::string_view attempted, errc fallback);

class Socket {
 public:
  Socket() noexcept = default;
  Socket(int descriptor, Stats& stats) noexcept : descriptor_(descriptor), stats_(&stats) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)), stats_(other.stats_) {}
  Socket& operator=(Socket&& other) noexcept;
  ~Socket() { close(); }

  // Of a family, not bound; resource_exhausted, unsupported.
  static Result<Socket> create(int family, Stats& stats);

  int get() const noexcept { return descriptor_; }
  explicit operator bool() const noexcept { return descriptor_ >= 0; }

  // Small frames go at once (TCP_NODELAY), and little lies unsent in the kernel, in front of what is urgent.
  void tune() noexcept;

  struct Moved {
    std::size_t count = 0;
    int error = 0;  // EAGAIN: later. 0 with count 0: the stream has ended (receive only)
  };
  Moved send(wire::ByteView bytes) noexcept;
  Moved receive(std::span<std::byte> into) noexcept;

  // 0: connected. EINPROGRESS: not yet. Otherwise why not.
  int connect(const SocketAddress& address) noexcept;
  int connect_outcome() noexcept;

  // True if bytes wait to be received.
  bool has_input() const noexcept;

  SocketAddress local() const noexcept;
  SocketAddress remote() const noexcept;

  void close() noexcept;
  // Lets the peer read what was sent: ends the stream and drops what it still sends, so that no reset overtakes.
  void close_gently() noexcept;

 private:
  int descriptor_ = -1;
  Stats* stats_ = nullptr;
};

}  // namespace ferry::tcp
