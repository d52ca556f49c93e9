// PlainSocket: a socket and nothing else: the limit that tcp is compared with. One request at a time, answered at once.
//
// A request is 16 bytes: what, and how many bytes; a read is answered by those bytes, a write followed by them and
// answered by 8. Both ends either spin on the socket or block in it. Blocking: use it beside the executor's threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ferry_bench {

enum class SocketWait : std::uint8_t { spin, block };

class PlainSocket {
 public:
  explicit PlainSocket(int descriptor) noexcept : descriptor_(descriptor) {}
  PlainSocket(PlainSocket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  PlainSocket& operator=(PlainSocket&&) = delete;
  ~PlainSocket();

  // On loopback. Throw std::system_error, like all that follow.
  static PlainSocket listen();
  static PlainSocket connect(std::uint16_t port);
  std::uint16_t port() const;
  PlainSocket accept() const;

  // Answers requests until the other end closes.
  void serve(SocketWait wait, std::span<std::byte> memory) const;
  // One request, to its end. read: fills `local`; write: sends it.
  void read(SocketWait wait, std::span<std::byte> local) const;
  void write(SocketWait wait, std::span<const std::byte> local) const;

 private:
  bool receive(SocketWait wait, std::span<std::byte> bytes) const;
  void send(SocketWait wait, std::span<const std::byte> bytes) const;

  int descriptor_;
};

}  // namespace ferry_bench
