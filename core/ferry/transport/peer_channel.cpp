// How a Peer gets a channel, loses it, and what happens to what waits.
#include <ferry/transport/peer.hpp>

#include <utility>

#include <fmt/format.h>

#include <ferry/transport/node_core.hpp>

namespace ferry {

// Without the lock: transports may ask the peer for what they need.
std::vector<Peer::Candidate> Peer::make_candidates() {
  std::vector<Candidate> candidates;
  for (const auto& transport : node_.transports()) {
    Candidate candidate{transport->id(), nullptr, {}, errc::peer_unreachable};
    candidate.connection = transport->connect(*this, *this, candidate.why_not);
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

// Opens the first candidate from candidate_ on that has a way; fails what waits when there is none.
void Peer::open_candidate(std::unique_lock<std::mutex> lock) noexcept {
  state_ = State::opening;  // by this thread alone
  if (candidates_.empty()) {
    lock.unlock();
    std::vector<Candidate> made = make_candidates();
    lock.lock();
    candidates_ = std::move(made);
    if (state_ == State::gone) {
      return;  // whoever declared it had nothing to close
    }
  }
  while (candidate_ < candidates_.size() && candidates_[candidate_].connection == nullptr) {
    ++candidate_;
  }
  if (candidate_ == candidates_.size()) {
    candidate_ = 0;
    state_ = State::idle;
    const Failure why = unreachable();
    last_end_ = why;
    fail_waiting(std::move(lock), why, PeerState::unknown);
    return;
  }
  Connection& connection = *candidates_[candidate_].connection;
  lock.unlock();
  call_open(connection);
}

void Peer::call_open(Connection& connection) noexcept {
  const std::lock_guard opening(opening_);
  {
    const std::lock_guard lock(mutex_);
    if (state_ == State::gone) {
      return;
    }
  }
  connection.open();
}

// why: none while the channel is ending.
Failure Peer::channel_of_sequence_ended(const Failure& why) {
  return Failure(errc::not_executed,
                 fmt::format("the channel of its sequence has ended ({}); its members are not started on another",
                             why ? fmt::format("{}: {}", to_string(why.code()), why.detail()) : "it is being closed"));
}

// A peer that was reached and refuses tells more than one that was not: its code counts.
Failure Peer::unreachable() const {
  std::string reasons;
  errc code = was_open_ ? errc::peer_lost : errc::peer_unreachable;
  for (const Candidate& candidate : candidates_) {
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", to_string(candidate.transport), candidate.why_not);
    if (is_an_answer(candidate.code)) {
      code = candidate.code;
    }
  }
  if (candidates_.empty()) {
    reasons = "this node has no transports";
  }
  const char* what =
      was_open_ ? "the connection was lost and cannot be made again: " : "no transport reaches the process: ";
  const std::string who = to_string(id_);  // as describe(), which takes the lock
  return Failure(code, what + reasons)
      .with_peer(name_.empty() ? "process " + who : fmt::format("process {} ({})", who, name_));
}

// Ends all that waits with `why`. The state is what later uses will see.
void Peer::fail_waiting(std::unique_lock<std::mutex> lock, const Failure& why, PeerState state) noexcept {
  // Off the list under the lock, so that a cancel which comes now takes them for complete.
  std::vector<Operation*> operations;
  while (!operations_.empty()) {
    operations.push_back(&operations_.front());
    operations_.pop_front();
  }
  const EndedChannel ended = end_channel();
  lock.unlock();
  const Failure nothing_done = why.with_effect(Effect::none);
  for (Operation* operation : operations) {
    operation->complete(nothing_done);
  }
  tell(ended, why, state);
}

Peer::EndedChannel Peer::end_channel() noexcept {
  return {channel_.fetch_add(1, std::memory_order_acq_rel), std::exchange(messages_, {})};
}

void Peer::tell(const EndedChannel& ended, const Failure& why, PeerState state) noexcept {
  if (PeerEvents* events = node_.peers().events()) {
    for (const wire::Bytes& message : ended.unsent) {
      events->on_unsent(*this, {message.data(), message.size()}, why);
    }
    events->on_peer_failed(*this, why, state, ended.number);
  }
}

void Peer::on_open(Connection& connection) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (state_ != State::opening) {
      return;  // declared gone meanwhile: it is about to be closed
    }
    state_ = State::open;
    was_open_ = true;
  }
  hand_over(connection);
}

// Hands over what waited, oldest first; only then may later ones go straight to the connection.
void Peer::hand_over(Connection& connection) noexcept {
  for (;;) {
    std::unique_lock lock(mutex_);
    if (state_ != State::open || candidates_[candidate_].connection.get() != &connection) {
      return;  // closed meanwhile
    }
    while (!messages_.empty()) {
      if (!connection.send(std::move(messages_.front()))) {
        return;  // broken: its on_closed follows
      }
      messages_.pop_front();
    }
    if (operations_.empty()) {
      ready_.store(&connection, std::memory_order_release);
      return;
    }
    // Started under the lock, so that a cancel finds it either here or there.
    Operation& operation = operations_.front();
    operations_.pop_front();
    const Started started = connection.start(operation);
    if (started == Started::not_open) {
      operations_.push_front(operation);  // broken: its on_closed follows
      return;
    }
    lock.unlock();
    if (started == Started::complete) {
      operation.complete();
    }
  }
}

void Peer::on_closed(Connection& connection, const Failure& why, PeerState state) noexcept {
  std::unique_lock lock(mutex_);
  if (state_ == State::gone || candidate_ >= candidates_.size() ||
      candidates_[candidate_].connection.get() != &connection) {
    return;
  }
  const bool was_opening = state_ == State::opening;
  ready_.store(nullptr, std::memory_order_release);
  if (state == PeerState::other_incarnation || (state == PeerState::gone && was_open_)) {
    state_ = State::gone;
    fate_ = why.with_effect(Effect::none);  // of what is asked from now on
    fate_is_guessed_ = state == PeerState::gone;
    fail_waiting(std::move(lock), why, state);
    return;
  }
  if (was_opening) {
    Candidate& failed = candidates_[candidate_++];
    failed.why_not = why.detail();
    failed.code = why.code();
    open_candidate(std::move(lock));
    return;
  }
  // An open channel broke. What was sent is lost; what can be started again is in the queue.
  last_end_ = why;
  state_ = State::idle;
  candidate_ = 0;
  const EndedChannel ended = end_channel();
  lock.unlock();
  tell(ended, why, state);
  lock.lock();
  if (state_ == State::idle && !operations_.empty()) {
    open_candidate(std::move(lock));
  }
}

void Peer::redrive(Operation& operation, const Failure& why) noexcept {
  std::unique_lock lock(mutex_);
  operation.connection.store(nullptr, std::memory_order_release);
  if (state_ == State::gone || operation.sequence.id != 0) {
    const Failure end = state_ == State::gone ? fate_ : channel_of_sequence_ended(why);
    lock.unlock();
    operation.complete(end);
    return;
  }
  operations_.push_back(operation);
  if (state_ == State::idle) {
    open_candidate(std::move(lock));
  }
}

void Peer::on_unsent(Connection&, wire::ByteView message, const Failure& why) noexcept {
  if (PeerEvents* events = node_.peers().events()) {
    events->on_unsent(*this, message, why);
  }
}

void Peer::on_message(Connection&, wire::Bytes&& message) noexcept {
  if (PeerEvents* events = node_.peers().events()) {
    events->on_reply(*this, std::move(message));
  }
}

void Peer::declare_gone(const Failure& why) noexcept {
  end(why, true);
}

void Peer::close(const Failure& why) noexcept {
  end(why, false);
}

void Peer::end(const Failure& why, bool is_known) noexcept {
  std::unique_lock lock(mutex_);
  if (state_ == State::gone) {
    if (is_known && std::exchange(fate_is_guessed_, false)) {
      fate_ = why.with_effect(Effect::none);
    }
    return;
  }
  state_ = State::gone;
  fate_ = why.with_effect(Effect::none);
  ready_.store(nullptr, std::memory_order_release);
  std::vector<Connection*> connections;
  for (const Candidate& candidate : candidates_) {
    if (candidate.connection != nullptr) {
      connections.push_back(candidate.connection.get());
    }
  }
  lock.unlock();
  { const std::lock_guard opening(opening_); }  // whoever opens one has done so, or will see that it is gone
  for (Connection* connection : connections) {
    connection->close(why);
  }
  lock.lock();
  fail_waiting(std::move(lock), why, PeerState::gone);
}

}  // namespace ferry
