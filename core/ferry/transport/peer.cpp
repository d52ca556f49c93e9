#include <ferry/transport/peer.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <ferry/base/check.hpp>
#include <ferry/transport/node_core.hpp>

namespace ferry {

Peer::Peer(NodeCore& node, ProcessId id) : node_(node), id_(id) {}

Peer::~Peer() {
  FERRY_CHECK(operations_.empty());
}

bool Peer::is_self() const noexcept {
  return id_ == node_.self();
}

void Peer::learn(const std::vector<Address>& addresses) {
  const std::lock_guard lock(mutex_);
  for (const Address& address : addresses) {
    if (std::find(addresses_.begin(), addresses_.end(), address) == addresses_.end()) {
      addresses_.push_back(address);
    }
  }
}

Contact Peer::contact() const {
  const std::lock_guard lock(mutex_);
  return Contact{id_, addresses_};
}

std::string Peer::describe() const {
  const std::lock_guard lock(mutex_);
  return name_.empty() ? fmt::format("process {}", to_string(id_))
                       : fmt::format("process {} ({})", to_string(id_), name_);
}

void Peer::set_name(std::string name) {
  const std::lock_guard lock(mutex_);
  name_ = std::move(name);
}

std::string Peer::explain() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (std::size_t index = 0; index < candidates_.size(); ++index) {
    const Candidate& candidate = candidates_[index];
    const bool used = state_ == State::open && index == candidate_;
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", to_string(candidate.transport),
                        used                         ? "used, " + candidate.connection->describe()
                        : !candidate.why_not.empty() ? candidate.why_not
                        : index < candidate_         ? "not tried"
                                                     : "not needed");
  }
  return text.empty() ? "not connected yet" : text;
}

bool Peer::pipelines_sequences() const noexcept {
  const Connection* connection = ready_.load(std::memory_order_acquire);
  return connection != nullptr && connection->pipelines_sequences();
}

std::string_view Peer::transport_name() const noexcept {
  const Connection* connection = ready_.load(std::memory_order_acquire);
  return to_string(connection == nullptr ? TransportId::none : connection->transport());
}

Failure Peer::fate() const {
  const std::lock_guard lock(mutex_);
  return fate_;
}

Started Peer::start_slow(Operation& operation) noexcept {
  Connection* tried = nullptr;
  for (;;) {
    std::unique_lock lock(mutex_);
    if (state_ == State::gone) {
      operation.failure = fate_;
      return Started::complete;
    }
    Connection* connection = ready_.load(std::memory_order_relaxed);
    if (connection == nullptr || connection == tried) {
      // Opening; or the channel has just broken, and its on_closed will look at the queue.
      operations_.push_back(operation);
      if (state_ == State::idle) {
        open_candidate(std::move(lock));
      }
      return Started::pending;
    }
    lock.unlock();
    const Started started = connection->start(operation);
    if (started != Started::not_open) {
      return started;
    }
    tried = connection;
  }
}

// An operation of a channel that breaks at this moment may be on its way back here while its connection is asked for
// it: then it is looked for again.
void Peer::cancel(Operation& operation, const Failure& why) noexcept {
  for (;;) {
    std::unique_lock lock(mutex_);
    Connection* connection = operation.connection.load(std::memory_order_acquire);
    if (connection == nullptr) {
      if (operation.hook.is_linked()) {  // otherwise it is complete
        operations_.erase(operations_.iterator_to(operation));
        lock.unlock();
        operation.complete(why);
      }
      return;
    }
    lock.unlock();
    connection->cancel(operation, why);
    if (operation.connection.load(std::memory_order_acquire) == connection) {
      return;
    }
  }
}

bool Peer::abandon(Operation& operation) noexcept {
  for (;;) {
    std::unique_lock lock(mutex_);
    Connection* connection = operation.connection.load(std::memory_order_acquire);
    if (connection == nullptr) {
      if (!operation.hook.is_linked()) {
        return false;
      }
      operations_.erase(operations_.iterator_to(operation));
      return true;
    }
    lock.unlock();
    if (connection->abandon(operation)) {
      return true;
    }
    if (operation.connection.load(std::memory_order_acquire) == connection) {
      return false;
    }
  }
}

Failure Peer::send(wire::Bytes&& message) noexcept {
  std::unique_lock lock(mutex_);
  if (state_ == State::gone) {
    return fate_;
  }
  node_.traffic().count_message(message.size());
  // Handed over under the lock, so that order is kept.
  Connection* connection = ready_.load(std::memory_order_relaxed);
  if (connection != nullptr && messages_.empty() && connection->send(std::move(message))) {
    return {};
  }
  messages_.push_back(std::move(message));
  if (state_ == State::idle) {
    open_candidate(std::move(lock));
  }
  return {};
}

void Peer::make_candidates() {
  for (const auto& transport : node_.transports()) {
    Candidate candidate{transport->id(), nullptr, {}};
    candidate.connection = transport->connect(*this, *this, candidate.why_not);
    candidates_.push_back(std::move(candidate));
  }
  candidate_ = 0;
}

// Opens the first candidate from candidate_ on that has a way; fails what waits when there is none.
void Peer::open_candidate(std::unique_lock<std::mutex> lock) noexcept {
  if (candidates_.empty()) {
    make_candidates();
  }
  while (candidate_ < candidates_.size() && candidates_[candidate_].connection == nullptr) {
    ++candidate_;
  }
  if (candidate_ == candidates_.size()) {
    candidate_ = 0;
    state_ = State::idle;
    const Failure why = unreachable();
    fail_waiting(std::move(lock), why, PeerState::unknown);
    return;
  }
  state_ = State::opening;
  Connection& connection = *candidates_[candidate_].connection;
  lock.unlock();
  connection.open();
}

Failure Peer::unreachable() const {
  std::string reasons;
  for (const Candidate& candidate : candidates_) {
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", to_string(candidate.transport), candidate.why_not);
  }
  if (candidates_.empty()) {
    reasons = "this node has no transports";
  }
  const std::string name = name_.empty() ? to_string(id_) : name_;
  return was_open_
             ? Failure(errc::peer_lost, "the connection was lost and cannot be made again: " + reasons).with_peer(name)
             : Failure(errc::peer_unreachable, "no transport reaches the process: " + reasons).with_peer(name);
}

// Ends all that waits with `why`. The state is what later uses will see.
void Peer::fail_waiting(std::unique_lock<std::mutex> lock, const Failure& why, PeerState state) noexcept {
  // Off the list under the lock, so that a cancel which comes now takes them for complete.
  std::vector<Operation*> operations;
  while (!operations_.empty()) {
    operations.push_back(&operations_.front());
    operations_.pop_front();
  }
  messages_.clear();
  lock.unlock();
  for (Operation* operation : operations) {
    operation->complete(why);
  }
  if (PeerEvents* events = node_.peers().events()) {
    events->on_peer_failed(*this, why, state);
  }
}

void Peer::on_open(Connection& connection) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (state_ == State::gone) {
      return;  // declared while the channel opened; its close() follows
    }
    FERRY_CHECK(state_ == State::opening);
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
    fate_ = why;
    fail_waiting(std::move(lock), why, state);
    return;
  }
  if (was_opening) {
    candidates_[candidate_++].why_not = why.detail();
    open_candidate(std::move(lock));
    return;
  }
  // An open channel broke. What was sent is lost; what can be started again is in the queue.
  state_ = State::idle;
  candidate_ = 0;
  messages_.clear();
  const bool again = !operations_.empty();
  lock.unlock();
  if (PeerEvents* events = node_.peers().events()) {
    events->on_peer_failed(*this, why, state);
  }
  lock.lock();
  if (again && state_ == State::idle && !operations_.empty()) {
    open_candidate(std::move(lock));
  }
}

void Peer::redrive(Operation& operation) noexcept {
  std::unique_lock lock(mutex_);
  operation.connection.store(nullptr, std::memory_order_release);
  if (state_ == State::gone) {
    const Failure why = fate_;
    lock.unlock();
    operation.complete(why);
    return;
  }
  operations_.push_back(operation);
  if (state_ == State::idle) {
    open_candidate(std::move(lock));
  }
}

void Peer::on_message(Connection&, wire::Bytes&& message) noexcept {
  if (PeerEvents* events = node_.peers().events()) {
    events->on_reply(*this, std::move(message));
  }
}

void Peer::declare_gone(const Failure& why) noexcept {
  std::unique_lock lock(mutex_);
  if (state_ == State::gone) {
    return;
  }
  state_ = State::gone;
  fate_ = why;
  ready_.store(nullptr, std::memory_order_release);
  std::vector<Connection*> connections;
  for (const Candidate& candidate : candidates_) {
    if (candidate.connection != nullptr) {
      connections.push_back(candidate.connection.get());
    }
  }
  lock.unlock();
  for (Connection* connection : connections) {
    connection->close(why);
  }
  lock.lock();
  fail_waiting(std::move(lock), why, PeerState::gone);
}

void Peer::close(const Failure& why) noexcept {
  declare_gone(why);
}

PeerTable::~PeerTable() {
  shut_down();
}

Peer& PeerTable::find_or_add(ProcessId id) {
  const std::lock_guard lock(mutex_);
  auto& peer = peers_[id];
  if (peer == nullptr) {
    peer = std::make_unique<Peer>(node_, id);
  }
  return *peer;
}

Peer& PeerTable::find_or_add(const Contact& contact) {
  Peer& peer = find_or_add(contact.id);
  peer.learn(contact.addresses);
  return peer;
}

Peer* PeerTable::find(ProcessId id) const noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = peers_.find(id);
  return found == peers_.end() ? nullptr : found->second.get();
}

void PeerTable::shut_down() noexcept {
  std::vector<Peer*> peers;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(shut_down_, true)) {
      return;
    }
    peers.reserve(peers_.size());
    for (const auto& [id, peer] : peers_) {  // lint: allow(unordered) sorted below
      peers.push_back(peer.get());
    }
  }
  std::sort(peers.begin(), peers.end(), [](const Peer* a, const Peer* b) { return a->id() < b->id(); });
  for (Peer* peer : peers) {
    peer->close(Failure(errc::shut_down, "this node is shutting down"));
  }
}

}  // namespace ferry
