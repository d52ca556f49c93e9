#include <ferry/tcp/greeter.hpp>

#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include <ferry/tcp/inbound.hpp>

namespace ferry::tcp {

Greeter::Greeter(GreeterEvents& events, const Channel::Context& context, Socket socket, std::string where,
                 OwnerHandshake handshake, std::string name)
    : events_(events),
      context_(context),
      socket_(std::move(socket)),
      where_(std::move(where)),
      handshake_(std::move(handshake)),
      name_(std::move(name)),
      clock_(*this) {}

void Greeter::begin() {
  context_.reactor.add(*this);
  context_.executor.start_timer(clock_, saturating_add(context_.executor.now(), context_.limits.handshake));
}

void Greeter::end() noexcept {
  context_.reactor.remove(*this);
  context_.executor.cancel_timer(clock_);
}

void Greeter::give_up(const Failure& why) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!given_up_for_) {
      given_up_for_ = why;
    }
  }
  given_up_.store(true, std::memory_order_release);
  context_.reactor.wake();
}

void Greeter::expire() noexcept {
  give_up(
      Failure(errc::timed_out,
              fmt::format("it did not complete the handshake within {} ms",
                          std::chrono::duration_cast<std::chrono::milliseconds>(context_.limits.handshake).count())));
}

bool Greeter::prepare_to_sleep(bool& write) noexcept {
  write = !handshake_.out().empty();
  return reported_ || !(authenticated_ || given_up_.load(std::memory_order_acquire));
}

bool Greeter::poll() noexcept {
  if (reported_) {
    return false;
  }
  const auto self = shared_from_this();  // a report is the end of it
  const bool worked = authenticated_ ? take_over() : converse();
  if (!reported_ && given_up_.load(std::memory_order_acquire)) {
    std::unique_lock lock(mutex_);
    const Failure why = given_up_for_;
    lock.unlock();
    fail(&why);
    return true;
  }
  return worked;
}

void Greeter::fail(const Failure* why) noexcept {
  reported_ = true;
  events_.on_greeting_failed(*this, why);
}

// False: the connection is of no use any more.
bool Greeter::flush() noexcept {
  wire::Bytes& out = handshake_.out();
  if (out.empty()) {
    return true;
  }
  const Socket::Moved moved = socket_.send(out);
  drop_front(out, moved.count);
  return moved.error == 0 || moved.error == EAGAIN;
}

bool Greeter::converse() noexcept {
  bool worked = false;
  for (;;) {
    std::array<std::byte, 2048> bytes;
    const Socket::Moved moved = socket_.receive(bytes);
    if (moved.count == 0 && moved.error == EAGAIN) {
      if (!flush()) {
        fail(nullptr);
      }
      return worked;
    }
    worked = true;
    if (moved.count == 0) {
      const Failure why(errc::malformed, moved.error == 0 ? "it went away before it had said who it is"
                                                          : "before it had said who it is: " + error_text(moved.error));
      fail(handshake_.is_misdirected() ? nullptr : &why);
      return true;
    }
    const auto done = handshake_.feed(wire::ByteView(bytes).first(moved.count));
    const bool flushed = flush();
    if (!done) {
      const Failure why = done.error();
      fail(&why);
      return true;
    }
    if (!flushed) {
      fail(nullptr);
      return true;
    }
    if (*done) {
      if (!make_buffers()) {
        return true;
      }
      authenticated_ = true;
      session_ = events_.on_authenticated(*this);
      return take_over();
    }
  }
}

// False: there is no memory for them, which was reported and told to the initiator.
bool Greeter::make_buffers() noexcept {
  auto buffers = ChannelBuffers::create();
  if (!buffers) {
    const Failure why = buffers.error();
    handshake_.refuse(why);
    flush();
    fail(&why);
    return false;
  }
  buffers_ = std::move(*buffers);
  return true;
}

// The initiator is told that it may begin only when nothing of its earlier channel can have an effect any more
// (contract: Quiet completion).
bool Greeter::take_over() noexcept {
  std::shared_ptr<TcpInbound> before;
  switch (session_->begin_takeover(handshake_.hello().channel, before)) {
    case Session::Takeover::busy:
      return false;
    case Session::Takeover::stale: {
      fail(nullptr);  // the initiator has given this attempt up for a later one
      return true;
    }
    case Session::Takeover::begun:
      break;
  }
  if (before != nullptr) {
    before->end(Failure(errc::peer_lost, fmt::format("{} has made a new connection", where_)), false);
  }
  handshake_.accept(Welcome{session_->token(), name_});
  if (!flush() || !handshake_.out().empty()) {
    session_->finish_takeover(nullptr);
    fail(nullptr);
    return true;
  }
  reported_ = true;
  events_.on_greeted(*this, std::move(socket_), std::move(*buffers_), std::move(session_));
  return true;
}

}  // namespace ferry::tcp
