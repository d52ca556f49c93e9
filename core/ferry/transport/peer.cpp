#include <ferry/transport/peer.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <ferry/base/check.hpp>
#include <ferry/transport/node_core.hpp>

namespace ferry {

Failure empty_reference(std::string_view what) {
  return Failure(errc::invalid_argument, fmt::format("the {} is empty (default-constructed)", what));
}

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

void Peer::describe_operations(std::vector<std::string>& phrases) const {
  std::vector<std::string> own;
  {
    const std::lock_guard lock(mutex_);
    if (candidate_ < candidates_.size() && candidates_[candidate_].connection != nullptr) {
      candidates_[candidate_].connection->describe_operations(own);
    }
    for (const Operation& operation : operations_) {
      own.push_back(ferry::describe(operation));
    }
  }
  for (const std::string& phrase : own) {
    phrases.push_back(phrase + " at " + describe());
  }
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

// Under the lock, so that the channel which is asked is still the one that on_closed() will be called for.
Started Peer::start_slow(Operation& operation) noexcept {
  std::unique_lock lock(mutex_);
  if (state_ == State::gone) {
    operation.failure = fate_;
    return Started::complete;
  }
  const ChannelNumber bound_to = operation.sequence.channel;
  if (bound_to == 0 || bound_to == channel_.load(std::memory_order_relaxed)) {
    if (Connection* connection = ready_.load(std::memory_order_relaxed)) {
      const Started started = connection->start(operation);
      if (started != Started::not_open) {
        return started;
      }
      // It has just broken: its on_closed() will look at the queue.
    }
  }
  if (bound_to != 0) {
    operation.failure = channel_of_sequence_ended(last_end_);
    return Started::complete;
  }
  operations_.push_back(operation);
  if (state_ == State::idle) {
    open_candidate(std::move(lock));
  }
  return Started::pending;
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

Failure Peer::send(wire::Bytes&& message, std::atomic<ChannelNumber>* sent_under) noexcept {
  std::unique_lock lock(mutex_);
  if (state_ == State::gone) {
    return fate_;
  }
  node_.traffic().count_message(message.size());
  if (sent_under != nullptr) {
    sent_under->store(channel_.load(std::memory_order_relaxed), std::memory_order_release);
  }
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

bool Peer::take_back(bool (*is_it)(wire::ByteView message, std::uint64_t number), std::uint64_t number) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(messages_.rbegin(), messages_.rend(), [&](const wire::Bytes& message) {
    return is_it({message.data(), message.size()}, number);
  });
  if (found == messages_.rend()) {
    return false;
  }
  messages_.erase(std::next(found).base());
  return true;
}

}  // namespace ferry
