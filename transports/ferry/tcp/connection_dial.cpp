#include <ferry/tcp/connection.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <ferry/base/check.hpp>

namespace ferry::tcp {

void TcpConnection::open() noexcept {
  std::unique_lock lock(mutex_);
  FERRY_CHECK(state_ == State::idle);
  const Calling calling(*this, lock);
  state_ = State::dialing;
  const TimePoint now = context_.executor.now();
  // A higher number than any earlier one of this process's, also of an earlier connection to the same peer.
  last_channel_ = std::max(last_channel_ + 1, static_cast<std::uint64_t>(now.time_since_epoch().count()));
  lock.unlock();
  std::vector<std::string> targets;
  for (const Address& address : peer_.contact().addresses) {
    if (address.transport == TransportId::tcp) {
      targets.push_back(address.text);
    }
  }
  lock.lock();
  if (state_ != State::dialing) {
    lock.unlock();
    return;
  }
  plan_.begin(std::move(targets), saturating_add(now, node_.limits().handshake));
  lock.unlock();
  dial_next();
}

// Tries the next address; reports when there is none. This thread is listed as calling.
void TcpConnection::dial_next() noexcept {
  for (;;) {
    std::unique_lock lock(mutex_);
    if (state_ != State::dialing) {
      return;
    }
    if (plan_.is_over()) {
      lock.unlock();
      give_up_dialing(nullptr, PeerState::unknown);
      return;
    }
    const DialPlan::Attempt attempt = plan_.next(context_.executor.now());
    ++last_channel_;  // the owner may have begun to take over to an attempt that was cut
    Hello hello;
    hello.wanted = peer_.id();
    hello.self = node_.self();
    hello.channel = last_channel_;
    lock.unlock();
    DialFailure failure;
    auto dialer = Dialer::create(*this, context_, attempt.target, node_.secret(), hello,
                                 Introduction{node_.name(), node_.contact().addresses}, failure);
    lock.lock();
    if (state_ != State::dialing) {
      return;
    }
    if (dialer != nullptr) {
      dialer_ = std::move(dialer);
      dialer_->begin(attempt.limit);
      return;
    }
    static_cast<void>(plan_.failed(failure, context_.executor.now()));  // it was not begun, so not cut
  }
}

// reason: what ends it before all addresses were tried; null: all failed.
void TcpConnection::give_up_dialing(const Failure* reason, PeerState state) noexcept {
  std::unique_lock lock(mutex_);
  if (state_ != State::dialing) {
    return;
  }
  state_ = State::idle;
  const Failure why = reason != nullptr ? *reason : plan_.verdict(was_open_, "no tcp address of it is known");
  const PeerState fate = reason != nullptr ? state : plan_.fate();
  changed_.notify_all();
  lock.unlock();
  events_.on_closed(*this, why, fate);
}

void TcpConnection::on_dial_failed(Dialer& dialer, const DialFailure& failure) noexcept {
  std::unique_lock lock(mutex_);
  if (state_ != State::dialing || dialer_.get() != &dialer) {
    return;  // whoever takes it down waits for this poll
  }
  const Calling calling(*this, lock);
  const auto ended = std::exchange(dialer_, nullptr);
  const bool was_replaced = failure.other_process && was_open_ && ended->where() == where_;
  const auto again = plan_.failed(failure, context_.executor.now());
  lock.unlock();
  ended->end();
  // Where a channel led to the wanted process, another can only be its successor. An address that comes with a
  // reference from elsewhere may mean another host there (loopback).
  if (failure.other_incarnation || was_replaced) {
    give_up_dialing(&failure.why, PeerState::other_incarnation);
    return;
  }
  if (!again) {
    dial_next();
    return;
  }
  lock.lock();
  if (state_ == State::dialing) {
    plan_.repeat();
    context_.executor.start_timer(redial_, *again);
  }
  lock.unlock();
}

void TcpConnection::redial() noexcept {
  std::unique_lock lock(mutex_);
  const Calling calling(*this, lock);
  lock.unlock();
  dial_next();
}

void TcpConnection::on_dialed(Dialer& dialer, Socket socket, const Welcome& welcome) noexcept {
  std::unique_lock lock(mutex_);
  if (state_ != State::dialing || dialer_.get() != &dialer) {
    return;
  }
  const Calling calling(*this, lock);
  const auto ended = std::exchange(dialer_, nullptr);
  lock.unlock();
  ended->end();
  if (Peer* peer = node_.peers().find(peer_.id()); peer != nullptr && !welcome.name.empty()) {
    peer->set_name(welcome.name);
  }
  open_channel(std::move(socket), ended->where(), welcome);
}

void TcpConnection::open_channel(Socket socket, const std::string& where, const Welcome& welcome) noexcept {
  auto buffers = ChannelBuffers::create();
  if (!buffers) {
    const Failure why = buffers.error();
    give_up_dialing(&why, PeerState::unknown);
    return;
  }
  auto channel =
      std::make_shared<Channel>(static_cast<ChannelEnd&>(*this), mutex_, std::move(socket), std::move(*buffers),
                                welcome.name.empty() ? where : welcome.name + " at " + where, context_);
  std::unique_lock lock(mutex_);
  if (state_ != State::dialing) {
    return;
  }
  state_ = State::open;
  was_open_ = true;
  where_ = where;
  channel_ = channel;
  assembly_ = MessageAssembly();
  requests_.on_channel_open(welcome.session);
  channel->pump(lock);  // what was kept goes before anything new
  lock.unlock();
  events_.on_open(*this);
  lock.lock();
  if (state_ == State::open && channel_ == channel) {
    channel->begin();
  }
  lock.unlock();
  settle();
}

}  // namespace ferry::tcp
