#include "plain_socket.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace ferry_bench {
namespace {

struct Request {
  std::uint64_t is_write = 0;
  std::uint64_t bytes = 0;
};

using Ack = std::uint64_t;

int checked(int result, const char* what) {
  if (result < 0) {
    throw std::system_error(errno, std::generic_category(), what);
  }
  return result;
}

sockaddr_in loopback(std::uint16_t port) noexcept {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

const sockaddr* generic(const sockaddr_in& address) noexcept {
  return reinterpret_cast<const sockaddr*>(&address);
}

void set_no_delay(int descriptor) {
  const int yes = 1;
  checked(::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes), "TCP_NODELAY");
}

}  // namespace

PlainSocket::~PlainSocket() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

PlainSocket PlainSocket::listen() {
  PlainSocket socket(checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
  const sockaddr_in address = loopback(0);
  checked(::bind(socket.descriptor_, generic(address), sizeof address), "bind");
  checked(::listen(socket.descriptor_, 1), "listen");
  return socket;
}

PlainSocket PlainSocket::connect(std::uint16_t port) {
  PlainSocket socket(checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
  const sockaddr_in address = loopback(port);
  checked(::connect(socket.descriptor_, generic(address), sizeof address), "connect");
  set_no_delay(socket.descriptor_);
  return socket;
}

std::uint16_t PlainSocket::port() const {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  checked(::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size), "getsockname");
  return ntohs(address.sin_port);
}

PlainSocket PlainSocket::accept() const {
  PlainSocket socket(checked(::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC), "accept"));
  set_no_delay(socket.descriptor_);
  return socket;
}

// False: the other end has closed.
bool PlainSocket::receive(SocketWait wait, std::span<std::byte> bytes) const {
  const int flags = wait == SocketWait::spin ? MSG_DONTWAIT : 0;
  while (!bytes.empty()) {
    const ssize_t got = ::recv(descriptor_, bytes.data(), bytes.size(), flags);
    if (got == 0) {
      return false;
    }
    if (got > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(got));
    } else if (errno != EAGAIN && errno != EINTR) {
      checked(-1, "recv");
    }
  }
  return true;
}

void PlainSocket::send(SocketWait wait, std::span<const std::byte> bytes) const {
  const int flags = MSG_NOSIGNAL | (wait == SocketWait::spin ? MSG_DONTWAIT : 0);
  while (!bytes.empty()) {
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), flags);
    if (sent >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    } else if (errno != EAGAIN && errno != EINTR) {
      checked(-1, "send");
    }
  }
}

void PlainSocket::serve(SocketWait wait, std::span<std::byte> memory) const {
  Request request;
  while (receive(wait, std::as_writable_bytes(std::span(&request, 1)))) {
    const std::span<std::byte> bytes = memory.subspan(0, request.bytes);
    if (request.is_write == 0) {
      send(wait, bytes);
    } else {
      receive(wait, bytes);
      const Ack ack = 0;
      send(wait, std::as_bytes(std::span(&ack, 1)));
    }
  }
}

void PlainSocket::read(SocketWait wait, std::span<std::byte> local) const {
  const Request request{0, local.size()};
  send(wait, std::as_bytes(std::span(&request, 1)));
  receive(wait, local);
}

void PlainSocket::write(SocketWait wait, std::span<const std::byte> local) const {
  const Request request{1, local.size()};
  send(wait, std::as_bytes(std::span(&request, 1)));
  send(wait, local);
  Ack ack = 0;
  receive(wait, std::as_writable_bytes(std::span(&ack, 1)));
}

}  // namespace ferry_bench
