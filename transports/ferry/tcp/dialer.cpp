#include <ferry/tcp/dialer.hpp>

#include <array>
#include <cerrno>

#include <fmt/format.h>

namespace ferry::tcp {
namespace {

Failure cannot_connect(const std::string& where, int error) {
  return system_failure(error, error == ECONNREFUSED ? where + ": no process listens there" : where,
                        errc::peer_unreachable);
}

}  // namespace

std::shared_ptr<Dialer> Dialer::create(DialerEvents& events, const Channel::Context& context, const std::string& target,
                                       const JobSecret& secret, const Hello& hello, Introduction introduction,
                                       DialFailure& failure) {
  const auto endpoint = endpoint_from_string(target);
  if (!endpoint) {
    failure.why = endpoint.error();
    return nullptr;
  }
  const auto address = socket_address(*endpoint);
  if (!address) {
    failure.why = address.error();
    return nullptr;
  }
  auto handshake = InitiatorHandshake::create(secret, hello, std::move(introduction));
  if (!handshake) {
    failure.why = handshake.error();
    return nullptr;
  }
  auto socket = Socket::create(address->family(), context.stats);
  if (!socket) {
    failure.why = socket.error();
    return nullptr;
  }
  socket->tune();
  const int error = socket->connect(*address);
  if (error != 0 && error != EINPROGRESS) {
    failure = {.why = cannot_connect(to_string(endpoint_of(*address)), error), .refused = error == ECONNREFUSED};
    return nullptr;
  }
  return std::make_shared<Dialer>(events, context, *address, std::move(*socket), std::move(*handshake));
}

Dialer::Dialer(DialerEvents& events, const Channel::Context& context, const SocketAddress& address, Socket socket,
               InitiatorHandshake handshake)
    : events_(events),
      context_(context),
      socket_(std::move(socket)),
      where_(to_string(endpoint_of(address))),
      handshake_(std::move(handshake)),
      clock_(*this) {}

void Dialer::begin(Duration limit) {
  limit_ = limit;
  context_.reactor.add(*this);
  context_.executor.start_timer(clock_, saturating_add(context_.executor.now(), limit));
}

void Dialer::end() noexcept {
  context_.reactor.remove(*this);
  context_.executor.cancel_timer(clock_);
}

void Dialer::expire() noexcept {
  expired_.store(true, std::memory_order_release);
  context_.reactor.wake();
}

bool Dialer::prepare_to_sleep(bool& write) noexcept {
  write = connecting_ || !handshake_.out().empty();
  return reported_ || !expired_.load(std::memory_order_acquire);
}

void Dialer::fail(const DialFailure& failure) noexcept {
  reported_ = true;
  events_.on_dial_failed(*this, failure);
}

bool Dialer::poll() noexcept {
  if (reported_) {
    return false;
  }
  const auto self = shared_from_this();  // a report may be the end of it
  if (connecting_) {
    const int error = socket_.connect_outcome();
    if (error != 0 && error != EINPROGRESS) {
      fail({.why = cannot_connect(where_, error), .refused = error == ECONNREFUSED});
      return true;
    }
    connecting_ = error == EINPROGRESS;
  }
  const bool worked = !connecting_ && converse();
  if (reported_) {
    return true;
  }
  if (expired_.load(std::memory_order_acquire)) {
    const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(limit_).count();
    fail({.why = Failure(errc::timed_out,
                         connecting_
                             ? fmt::format("{}: nothing answers within {} ms; the host is down, or a firewall drops "
                                           "what is sent there",
                                           where_, limit)
                             : fmt::format("{}: the connection was taken, but no handshake came within {} ms; the "
                                           "process there is stopped, or not of ferry",
                                           where_, limit))});
    return true;
  }
  return worked;
}

// Sends and receives what can be; reports when that decides the matter.
bool Dialer::converse() {
  bool worked = false;
  for (;;) {
    wire::Bytes& out = handshake_.out();
    if (!out.empty()) {
      const Socket::Moved moved = socket_.send(out);
      if (moved.error != 0 && moved.error != EAGAIN) {
        fail({.why = cannot_connect(where_, moved.error), .interrupted = true});
        return true;
      }
      drop_front(out, moved.count);
      worked |= moved.count > 0;
    }
    std::array<std::byte, 2048> bytes;
    const Socket::Moved moved = socket_.receive(bytes);
    if (moved.count == 0) {
      if (moved.error == EAGAIN) {
        return worked;
      }
      fail({.why = Failure(errc::peer_unreachable,
                           fmt::format("{}: it ended the connection during the handshake{}{}", where_,
                                       moved.error == 0 ? "" : ": ", moved.error == 0 ? "" : error_text(moved.error))),
            .interrupted = true});
      return true;
    }
    worked = true;
    const auto done = handshake_.feed(wire::ByteView(bytes).first(moved.count));
    if (!done) {
      fail({.why = Failure(done.error().code(), fmt::format("{}: {}", where_, done.error().detail())),
            .other_process = handshake_.met_another(),
            .other_incarnation = handshake_.met_successor()});
      return true;
    }
    if (*done) {
      reported_ = true;
      events_.on_dialed(*this, std::move(socket_), handshake_.welcome());
      return true;
    }
  }
}

}  // namespace ferry::tcp
