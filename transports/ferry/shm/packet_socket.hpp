// PacketSocket: a unix socket that keeps the bounds of packets and passes descriptors; and where processes meet.
//
// A process listens at an abstract name made of its ProcessId, so whoever knows the id needs no address, and a name
// nobody listens at is refused at once: that process is not on this host (or not in this network namespace). The kernel
// frees the name when the process ends. Not thread-safe, but for the functions without an object.
#pragma once

#include <deque>
#include <vector>

#include <ferry/base/result.hpp>
#include <ferry/memory/process_id.hpp>
#include <ferry/shm/file_descriptor.hpp>
#include <ferry/wire/bytes.hpp>

namespace ferry::shm {

struct Packet {
  wire::Bytes bytes;
  std::vector<FileDescriptor> descriptors;
};

// A listening socket that does not block. address_in_use.
Result<FileDescriptor> listen_as(ProcessId self);

// A connected socket that does not block. peer_unreachable if nobody listens; overloaded if the listener's queue is
// full: try again a little later.
Result<FileDescriptor> connect_to(ProcessId peer);

// The next connection, or none (-1): nobody waits, or this process has no descriptor left.
FileDescriptor accept_from(int listener) noexcept;

class PacketSocket {
 public:
  static constexpr std::size_t kLargestPacket = 8192;  // bytes
  static constexpr std::size_t kDescriptors = 4;       // passed with one packet at most
  static constexpr std::size_t kQueue = 4096;          // packets that wait for room in the socket

  explicit PacketSocket(FileDescriptor socket) noexcept : socket_(std::move(socket)) {}

  int descriptor() const noexcept { return socket_.get(); }

  // Sends the packet, or queues it until flush(). The descriptors are passed, that is duplicated; False: too many wait,
  // or the socket is broken, as receive() will tell.
  bool send(wire::Bytes bytes, std::vector<FileDescriptor> descriptors = {});
  // Sends what waits, as far as the socket has room.
  void flush() noexcept;

  enum class Received : unsigned char { packet, nothing, closed };
  // `closed`: the other side has closed its end, or ended, or sent what is no packet.
  Received receive(Packet& packet);

 private:
  bool send_now(const Packet& packet) noexcept;

  FileDescriptor socket_;
  std::deque<Packet> queue_;
};

}  // namespace ferry::shm
