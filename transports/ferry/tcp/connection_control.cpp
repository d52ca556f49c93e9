#include <ferry/tcp/connection.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <ferry/base/check.hpp>

namespace ferry::tcp {

TcpConnection::Calling::Calling(TcpConnection& connection, std::unique_lock<std::mutex>& lock)
    : connection_(connection) {
  FERRY_CHECK(lock.owns_lock());
  connection.callers_.push_back(std::this_thread::get_id());
}

TcpConnection::Calling::~Calling() {
  const std::lock_guard lock(connection_.mutex_);
  auto& callers = connection_.callers_;
  callers.erase(std::find(callers.begin(), callers.end(), std::this_thread::get_id()));
  connection_.changed_.notify_all();
}

TcpConnection::TcpConnection(NodeCore& node, const Peer& peer, ConnectionEvents& events,
                             const Channel::Context& context)
    : node_(node),
      peer_(peer),
      events_(events),
      context_(context),
      requests_(context.stats),
      silence_(*this),
      redial_(*this) {
  reopen_.kind = OperationKind::flush;
  reopen_.starter = this;
  reopen_.on_complete = &TcpConnection::reopened;
}

TcpConnection::~TcpConnection() {
  close(Failure(errc::shut_down, "the connection's owner is gone"));
}

std::string TcpConnection::describe() const {
  const std::lock_guard lock(mutex_);
  return where_.empty() ? "tcp" : fmt::format("tcp to {}", where_);
}

bool TcpConnection::is_calling_here() const noexcept {
  return std::find(callers_.begin(), callers_.end(), std::this_thread::get_id()) != callers_.end();
}

void TcpConnection::wait_for_callers(std::unique_lock<std::mutex>& lock) noexcept {
  const auto here = std::this_thread::get_id();
  changed_.wait(lock, [&] {
    return std::all_of(callers_.begin(), callers_.end(), [here](std::thread::id caller) { return caller == here; });
  });
}

// An operation of a broken channel is on its way back to the Peer: only when it has arrived there can it be found.
void TcpConnection::wait_while_ending(std::unique_lock<std::mutex>& lock) noexcept {
  if (state_ == State::ending && !is_calling_here()) {
    changed_.wait(lock, [this] { return state_ != State::ending; });
  }
}

void TcpConnection::on_broken(const Failure& why, PeerState state) noexcept {
  std::unique_lock lock(mutex_);
  if (state_ != State::open) {
    return;  // whoever closes it waits for this poll
  }
  const Calling calling(*this, lock);
  state_ = State::ending;
  const auto channel = std::exchange(channel_, nullptr);
  lock.unlock();
  channel->end(false);
  if (why.code() == errc::malformed || why.code() == errc::too_large) {
    node_.log().write(LogLevel::warning,
                      fmt::format("tcp: closed the connection to {}: {}", channel->who(), why.detail()));
  }
  lock.lock();
  give_back_unsent(lock, *channel, why);
  std::vector<Operation*> again;
  requests_.on_channel_lost(why, channel->out().sent(), again);
  const bool reopen = requests_.has_kept() && !reopen_is_out_;
  reopen_is_out_ |= reopen;
  lock.unlock();
  settle();
  for (Operation* operation : again) {
    events_.redrive(*operation, why);
  }
  if (reopen) {
    events_.redrive(reopen_, why);
  }
  lock.lock();
  state_ = State::idle;
  changed_.notify_all();
  lock.unlock();
  events_.on_closed(*this, why, state);
}

// Of a channel whose end has come: nobody adds to it any more.
void TcpConnection::give_back_unsent(std::unique_lock<std::mutex>& lock, Channel& channel,
                                     const Failure& why) noexcept {
  const MessageQueue messages = std::exchange(messages_, {});
  lock.unlock();
  messages.for_each_unsent(channel.out(), [&](wire::ByteView message) { events_.on_unsent(*this, message, why); });
  lock.lock();
}

// The operation that made the Peer open a channel has ended: there is one, or there will be none.
void TcpConnection::reopened(Operation& trigger) noexcept {
  TcpConnection& connection = *static_cast<TcpConnection*>(trigger.starter);
  std::unique_lock lock(connection.mutex_);
  connection.reopen_is_out_ = false;
  const Failure failure = std::exchange(trigger.failure, {});
  if (connection.requests_.has_kept()) {
    connection.requests_.end_kept(failure ? failure
                                          : Failure(errc::outcome_unknown, "the peer is now reached another way"));
  }
  lock.unlock();
  connection.settle();
}

void TcpConnection::close(const Failure& why) noexcept {
  std::unique_lock lock(mutex_);
  wait_while_ending(lock);
  if (state_ == State::open && channel_->out().room() >= wire::kFrameHeaderSize) {
    const auto channel = channel_;
    put_header(channel->out().append(wire::kFrameHeaderSize), Kind::goodbye, 0, 0, 0);
    channel->pump(lock);
    wait_while_ending(lock);
  }
  if (state_ == State::dialing || state_ == State::open) {
    take_down(lock, why);
  }
  requests_.end_all(why);
  wait_for_callers(lock);
  lock.unlock();
  context_.executor.cancel_timer(silence_);
  lock.lock();
  silence_.armed = false;
  lock.unlock();
  settle();
}

void TcpConnection::take_down(std::unique_lock<std::mutex>& lock, const Failure& why) noexcept {
  {
    const Calling calling(*this, lock);
    state_ = State::ending;
    const auto dialer = std::exchange(dialer_, nullptr);
    const auto channel = std::exchange(channel_, nullptr);
    lock.unlock();
    if (dialer != nullptr) {
      dialer->end();
    }
    if (channel != nullptr) {
      channel->end(true);
    }
    context_.executor.cancel_timer(redial_);
    lock.lock();
    if (channel != nullptr) {
      give_back_unsent(lock, *channel, why);
    }
    requests_.end_all(why);
    state_ = State::idle;
    changed_.notify_all();
    lock.unlock();
    settle();
    events_.on_closed(*this, why, PeerState::unknown);
  }
  lock.lock();
}

// Under the lock.
void TcpConnection::watch_silence() noexcept {
  const TimePoint first = requests_.first_silent_by();
  if (first != kNever && !silence_.armed) {
    silence_.armed = true;
    context_.executor.start_timer(silence_, first);
  }
}

void TcpConnection::check_silence() noexcept {
  const std::lock_guard lock(mutex_);
  silence_.armed = false;
  if (state_ != State::open) {
    return;
  }
  if (requests_.first_silent_by() <= context_.executor.now()) {
    channel_->fail(
        Failure(errc::peer_lost,
                fmt::format("{} did not say within {} ms whether a cancelled operation was executed; only "
                            "without the connection is its memory quiet",
                            channel_->who(),
                            std::chrono::duration_cast<std::chrono::milliseconds>(node_.limits().quiet_grace).count())),
        PeerState::unknown);
    return;
  }
  watch_silence();
}

}  // namespace ferry::tcp
