// Stats: what the sockets of one TcpTransport have done: system calls and bytes, for measurements and tests.
//
// Counts only ever grow. Written by whoever uses a socket, relaxed; a reader sees each number soon, not all at one
// moment.
#pragma once

#include <atomic>
#include <cstdint>

namespace ferry::tcp {

struct alignas(64) Stats {
  std::atomic<std::uint64_t> sends{0};           // system calls that took bytes
  std::atomic<std::uint64_t> blocked_sends{0};   // that took none: the socket was full
  std::atomic<std::uint64_t> receives{0};        // system calls that gave bytes
  std::atomic<std::uint64_t> empty_receives{0};  // that gave none: polling
  std::atomic<std::uint64_t> bytes_sent{0};
  std::atomic<std::uint64_t> bytes_received{0};
  std::atomic<std::uint64_t> data_bytes{0};  // moved one-sided: read out of or written into memory of this process
  std::atomic<std::uint64_t> messages{0};    // sent and received
  std::atomic<std::uint64_t> accepted{0};    // sockets
  std::atomic<std::uint64_t> strangers{0};   // of these, closed before they had authenticated

  static void add(std::atomic<std::uint64_t>& counter, std::uint64_t count = 1) noexcept {
    counter.fetch_add(count, std::memory_order_relaxed);
  }
};

}  // namespace ferry::tcp
