#include <ferry/tcp/listener.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include <fmt/format.h>

namespace ferry::tcp {
namespace {

constexpr int kAcceptsPerPoll = 16;

// Looks at every so many polls, and after a sleep: the kernel makes a socket before it finds that nobody connects.
constexpr std::uint32_t kPollsPerLook = 32;

}  // namespace

Result<std::unique_ptr<Listener>> Listener::create(ListenerEvents& events, Log& log, Stats& stats,
                                                   const SocketAddress& address) {
  const std::string where = to_string(endpoint_of(address));
  auto socket = Socket::create(address.family(), stats);
  if (!socket) {
    return socket.error();
  }
  // A program that is started again at once finds its port free; two that listen at one time never share it.
  const int one = 1;
  ::setsockopt(socket->get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (address.family() == AF_INET6) {
    const int only_ipv6 = address.is_wildcard() ? 0 : 1;
    ::setsockopt(socket->get(), IPPROTO_IPV6, IPV6_V6ONLY, &only_ipv6, sizeof only_ipv6);
  }
  if (::bind(socket->get(), address.get(), address.length) != 0 || ::listen(socket->get(), SOMAXCONN) != 0) {
    const int error = errno;
    if (error == EADDRINUSE) {
      return Failure(errc::address_in_use,
                     fmt::format("listening on {}: the port is in use by another process (`ss -ltnp` names it); choose "
                                 "another one, or port 0 for any that is free",
                                 where));
    }
    return system_failure(error, "listening on " + where,
                          error == EACCES ? errc::access_denied : errc::invalid_argument);
  }
  return std::make_unique<Listener>(events, log, stats, std::move(*socket));
}

Listener::Listener(ListenerEvents& events, Log& log, Stats& stats, Socket socket) noexcept
    : events_(events), log_(log), stats_(stats), socket_(std::move(socket)) {
  if (auto reserve = Socket::create(AF_INET, stats)) {
    reserve_ = std::move(*reserve);
  }
}

bool Listener::poll() noexcept {
  if (polls_++ % kPollsPerLook != 0) {
    return false;
  }
  int accepted = 0;
  while (accepted < kAcceptsPerPoll && accept_one()) {
    ++accepted;
  }
  return accepted > 0;
}

bool Listener::accept_one() noexcept {
  SocketAddress from;
  from.length = sizeof from.storage;
  const int descriptor = ::accept4(socket_.get(), from.get(), &from.length, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (descriptor >= 0) {
    complained_ = false;
    Socket socket(descriptor, stats_);
    socket.tune();
    Stats::add(stats_.accepted);
    events_.on_accepted(std::move(socket), from);
    return true;
  }
  if (errno == EMFILE || errno == ENFILE) {
    return events_.on_out_of_descriptors() || turn_one_away();
  }
  return errno == ECONNABORTED || errno == EINTR;  // that one went away; there may be another
}

bool Listener::turn_one_away() noexcept {
  if (!complained_) {
    complained_ = true;
    log_.write(LogLevel::error,
               fmt::format("tcp: {} takes no new connections: this process has as many open files as it may; raise the "
                           "limit (`ulimit -n`)",
                           to_string(endpoint_of(address()))));
  }
  reserve_.close();
  const int descriptor = ::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  Socket(descriptor, stats_).close();
  if (auto reserve = Socket::create(AF_INET, stats_)) {
    reserve_ = std::move(*reserve);
  }
  return descriptor >= 0;
}

}  // namespace ferry::tcp
