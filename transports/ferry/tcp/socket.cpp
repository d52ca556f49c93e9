#include <ferry/tcp/socket.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace ferry::tcp {
namespace {

// What may lie in the kernel without being on its way; more would only stand in front of urgent frames, as does what a
// SendBuffer holds.
constexpr int kUnsentBytes = 128 * 1024;

bool is_transient(int error) noexcept {
  return error == EAGAIN || error == EINTR || error == ENOBUFS;
}

}  // namespace

std::string error_text(int error) {
  const char* name = ::strerrorname_np(error);
  return fmt::format("{} ({})", ::strerror(error), name == nullptr ? std::to_string(error) : name);
}

Failure system_failure(int error, std::string_view attempted, errc fallback) {
  switch (error) {
    case EMFILE:
      return Failure(errc::resource_exhausted,
                     fmt::format("{}: {}: this process has as many open files as it may; raise the limit (`ulimit -n`)",
                                 attempted, error_text(error)));
    case ENFILE:
      return Failure(errc::resource_exhausted,
                     fmt::format("{}: {}: the host has as many open files as it may; raise fs.file-max", attempted,
                                 error_text(error)));
    case ENOMEM:
    case ENOBUFS:
      return Failure(errc::resource_exhausted, fmt::format("{}: {}", attempted, error_text(error)));
    default:
      return Failure(fallback, fmt::format("{}: {}", attempted, error_text(error)));
  }
}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(stats_, other.stats_);
  return *this;
}

Result<Socket> Socket::create(int family, Stats& stats) {
  const int descriptor = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
  if (descriptor < 0) {
    return system_failure(errno, family == AF_INET6 ? "making an IPv6 socket" : "making an IPv4 socket",
                          errc::unsupported);
  }
  return Socket(descriptor, stats);
}

void Socket::tune() noexcept {
  const int one = 1;
  ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsentBytes, sizeof kUnsentBytes);
}

Socket::Moved Socket::send(wire::ByteView bytes) noexcept {
  const ssize_t count = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count >= 0) {
    Stats::add(stats_->sends);
    Stats::add(stats_->bytes_sent, static_cast<std::uint64_t>(count));
    return {static_cast<std::size_t>(count), 0};
  }
  if (is_transient(errno)) {
    Stats::add(stats_->blocked_sends);
    return {0, EAGAIN};
  }
  return {0, errno};
}

Socket::Moved Socket::receive(std::span<std::byte> into) noexcept {
  const ssize_t count = ::recv(descriptor_, into.data(), into.size(), MSG_DONTWAIT);
  if (count > 0) {
    Stats::add(stats_->receives);
    Stats::add(stats_->bytes_received, static_cast<std::uint64_t>(count));
    return {static_cast<std::size_t>(count), 0};
  }
  if (count == 0) {
    return {0, 0};
  }
  if (is_transient(errno)) {
    Stats::add(stats_->empty_receives);
    return {0, EAGAIN};
  }
  return {0, errno};
}

int Socket::connect(const SocketAddress& address) noexcept {
  return ::connect(descriptor_, address.get(), address.length) == 0 ? 0 : errno;
}

int Socket::connect_outcome() noexcept {
  pollfd ready{descriptor_, POLLOUT, 0};
  if (::poll(&ready, 1, 0) <= 0) {
    return EINPROGRESS;
  }
  int error = 0;
  socklen_t length = sizeof error;
  if (::getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error, &length) != 0) {
    return errno;
  }
  if (error != 0) {
    return error;
  }
  // Where nobody listens on a port that the kernel also hands out to callers, a socket can connect to itself.
  return endpoint_of(local()) == endpoint_of(remote()) ? ECONNREFUSED : 0;
}

bool Socket::has_input() const noexcept {
  std::byte byte{};
  return ::recv(descriptor_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

SocketAddress Socket::local() const noexcept {
  SocketAddress address;
  address.length = sizeof address.storage;
  if (::getsockname(descriptor_, address.get(), &address.length) != 0) {
    address = {};
  }
  return address;
}

SocketAddress Socket::remote() const noexcept {
  SocketAddress address;
  address.length = sizeof address.storage;
  if (::getpeername(descriptor_, address.get(), &address.length) != 0) {
    address = {};
  }
  return address;
}

void Socket::close() noexcept {
  if (descriptor_ >= 0) {
    // Ends it also where others hold the descriptor for a while: a thread that waits on it, a forked child.
    ::shutdown(descriptor_, SHUT_RDWR);
    ::close(std::exchange(descriptor_, -1));
  }
}

void Socket::close_gently() noexcept {
  if (descriptor_ >= 0) {
    ::shutdown(descriptor_, SHUT_WR);
    constexpr int kRounds = 64;
    std::array<std::byte, 16384> dropped;
    for (int round = 0; round<kRounds&& ::recv(descriptor_, dropped.data(), dropped.size(), MSG_DONTWAIT)> 0;) {
      ++round;
    }
  }
  close();
}

}  // namespace ferry::tcp
