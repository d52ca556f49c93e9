#include <ferry/tcp/connection.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <ferry/base/check.hpp>

namespace ferry::tcp {
namespace {

// A connection that is cut during its handshake is tried again, at first soon.
constexpr int kRedials = 6;
constexpr Duration kFirstRedial = std::chrono::milliseconds(2);

}  // namespace

void TcpConnection::open() noexcept {
  std::unique_lock lock(mutex_);
  FERRY_CHECK(state_ == State::idle);
  const Calling calling(*this, lock);
  state_ = State::dialing;
  const TimePoint now = context_.executor.now();
  targets_.clear();
  next_target_ = 0;
  dial_failures_.clear();
  all_refused_ = true;
  answered_ = errc::peer_unreachable;
  redials_ = 0;
  dial_until_ = saturating_add(now, node_.limits().handshake);
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
  targets_ = std::move(targets);
  lock.unlock();
  dial_next();
}

std::shared_ptr<Dialer> TcpConnection::make_dialer(const std::string& text, DialFailure& failure) {
  const auto endpoint = endpoint_from_string(text);
  if (!endpoint) {
    failure.why = endpoint.error();
    return nullptr;
  }
  const auto address = socket_address(*endpoint);
  if (!address) {
    failure.why = address.error();
    return nullptr;
  }
  Hello hello;
  hello.wanted = peer_.id();
  hello.self = node_.self();
  hello.channel = last_channel_;
  auto handshake =
      InitiatorHandshake::create(node_.secret(), hello, Introduction{node_.name(), node_.contact().addresses});
  if (!handshake) {
    failure.why = handshake.error();
    return nullptr;
  }
  return Dialer::create(*this, context_, *address, std::move(*handshake), failure);
}

void TcpConnection::note_failure(const DialFailure& failure) {
  dial_failures_ += fmt::format("{}{}", dial_failures_.empty() ? "" : "; ", failure.why.detail());
  all_refused_ &= failure.refused;
  if (is_an_answer(failure.why.code())) {
    answered_ = failure.why.code();
  }
}

// Tries the next address; reports when there is none. This thread is listed as calling.
void TcpConnection::dial_next() noexcept {
  for (;;) {
    std::unique_lock lock(mutex_);
    if (state_ != State::dialing) {
      return;
    }
    if (next_target_ == targets_.size()) {
      lock.unlock();
      give_up_dialing(nullptr, PeerState::unknown);
      return;
    }
    const std::string target = targets_[next_target_];
    const Duration left = dial_until_ - context_.executor.now();
    const Duration limit = std::max<Duration>(left / static_cast<int>(targets_.size() - next_target_), Duration(1));
    ++next_target_;
    ++last_channel_;  // the owner may have begun to take over to an attempt that was cut
    lock.unlock();
    DialFailure failure;
    auto dialer = make_dialer(target, failure);
    lock.lock();
    if (state_ != State::dialing) {
      return;
    }
    if (dialer != nullptr) {
      dialer_ = std::move(dialer);
      dialer_->begin(limit);
      return;
    }
    note_failure(failure);
  }
}

// reason: what ends it before all addresses were tried; null: all failed.
void TcpConnection::give_up_dialing(const Failure* reason, PeerState state) noexcept {
  std::unique_lock lock(mutex_);
  if (state_ != State::dialing) {
    return;
  }
  state_ = State::idle;
  const bool is_refused = !targets_.empty() && all_refused_;
  const errc code = !was_open_ ? answered_ : is_refused ? errc::peer_lost : errc::peer_unreachable;
  const Failure why = reason != nullptr  ? *reason
                      : targets_.empty() ? Failure(errc::peer_unreachable, "no tcp address of it is known")
                                         : Failure(code, dial_failures_);
  // A process listens as long as it lives.
  const PeerState fate = reason != nullptr ? state : is_refused ? PeerState::gone : PeerState::unknown;
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
  const TimePoint again = saturating_add(context_.executor.now(), kFirstRedial * (1 << redials_));
  const bool was_replaced = failure.other_process && was_open_ && ended->where() == where_;
  const bool redial = failure.interrupted && redials_ < kRedials && again < dial_until_;
  if (!redial) {
    note_failure(failure);
  }
  lock.unlock();
  ended->end();
  // Where a channel led to the wanted process, another can only be its successor. An address that comes with a
  // reference from elsewhere may mean another host there (loopback).
  if (failure.other_incarnation || was_replaced) {
    give_up_dialing(&failure.why, PeerState::other_incarnation);
    return;
  }
  if (!redial) {
    dial_next();
    return;
  }
  lock.lock();
  if (state_ == State::dialing) {
    ++redials_;
    --next_target_;
    context_.executor.start_timer(redial_, again);
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
