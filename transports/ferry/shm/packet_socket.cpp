#include <ferry/shm/packet_socket.hpp>

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include <fmt/format.h>

#include <ferry/base/check.hpp>
#include <ferry/shm/os_failure.hpp>

namespace ferry::shm {
namespace {

constexpr int kSocketType = SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC;

struct MeetingPlace {
  sockaddr_un address{};
  socklen_t size = 0;
};

MeetingPlace meeting_place(ProcessId id) {
  MeetingPlace place;
  place.address.sun_family = AF_UNIX;
  const std::string name = fmt::format("ferry/shm/{:016x}-{:016x}", id.id, id.incarnation);
  static_assert(sizeof(place.address.sun_path) > 64);
  std::memcpy(place.address.sun_path + 1, name.data(), name.size());  // the first byte 0: an abstract name
  place.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return place;
}

const sockaddr* generic(const MeetingPlace& place) {
  return reinterpret_cast<const sockaddr*>(&place.address);
}

struct alignas(cmsghdr) ControlSpace {
  std::array<char, CMSG_SPACE(PacketSocket::kDescriptors * sizeof(int))> bytes{};
};

}  // namespace

Result<FileDescriptor> listen_as(ProcessId self) {
  FileDescriptor listener(::socket(AF_UNIX, kSocketType, 0));
  const MeetingPlace place = meeting_place(self);
  if (!listener || ::bind(listener.get(), generic(place), place.size) != 0 ||
      ::listen(listener.get(), SOMAXCONN) != 0) {
    const int error = errno;
    return os_failure(error, fmt::format("listening as process {}", to_string(self)),
                      error == EADDRINUSE ? errc::address_in_use : errc::resource_exhausted);
  }
  return listener;
}

Result<FileDescriptor> connect_to(ProcessId peer) {
  FileDescriptor socket(::socket(AF_UNIX, kSocketType, 0));
  if (!socket) {
    return os_failure(errno, "opening a unix socket", errc::resource_exhausted);
  }
  const MeetingPlace place = meeting_place(peer);
  if (::connect(socket.get(), generic(place), place.size) == 0) {
    return socket;
  }
  const int error = errno;
  if (error == EAGAIN) {
    return Failure(errc::overloaded, "too many processes connect to it at this moment");
  }
  if (error == ECONNREFUSED || error == ENOENT) {
    return Failure(errc::peer_unreachable, "no such process listens on this host");
  }
  return os_failure(error, "connecting to the process", errc::peer_unreachable);
}

FileDescriptor accept_from(int listener) noexcept {
  return FileDescriptor(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

bool PacketSocket::send(wire::Bytes bytes, std::vector<FileDescriptor> descriptors) {
  FERRY_CHECK(!bytes.empty() && bytes.size() <= kLargestPacket && descriptors.size() <= kDescriptors);
  if (queue_.size() >= kQueue) {
    return false;
  }
  queue_.push_back({std::move(bytes), std::move(descriptors)});
  flush();
  return true;
}

void PacketSocket::flush() noexcept {
  while (!queue_.empty() && send_now(queue_.front())) {
    queue_.pop_front();
  }
}

// False: there is no room. What a broken socket does not take is dropped.
bool PacketSocket::send_now(const Packet& packet) noexcept {
  iovec part{const_cast<std::byte*>(packet.bytes.data()), packet.bytes.size()};
  ControlSpace control;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!packet.descriptors.empty()) {
    std::array<int, kDescriptors> numbers{};
    for (std::size_t index = 0; index < packet.descriptors.size(); ++index) {
      numbers[index] = packet.descriptors[index].get();
    }
    const std::size_t size = packet.descriptors.size() * sizeof(int);
    message.msg_control = control.bytes.data();
    message.msg_controllen = CMSG_SPACE(size);
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(header), numbers.data(), size);
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0 || (errno != EAGAIN && errno != ETOOMANYREFS && errno != ENOBUFS);
}

PacketSocket::Received PacketSocket::receive(Packet& packet) {
  std::array<std::byte, kLargestPacket> bytes;  // not filled: the kernel does
  packet.descriptors.clear();
  iovec part{bytes.data(), bytes.size()};
  ControlSpace control;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) {
    return Received::nothing;
  }
  for (cmsghdr* header = got < 0 ? nullptr : CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
      const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t index = 0; index < count; ++index) {
        int number = -1;
        std::memcpy(&number, CMSG_DATA(header) + index * sizeof(int), sizeof number);
        packet.descriptors.emplace_back(number);
      }
    }
  }
  if (got <= 0 || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    return Received::closed;
  }
  packet.bytes = wire::Bytes(bytes.begin(), bytes.begin() + got);
  return Received::packet;
}

}  // namespace ferry::shm
